// SPDX-License-Identifier: MIT
// The inputs of a recording as a table for spreadsheets.
#include "edit_inputs.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace twinstep::replay {

namespace {

/// Quoted where RFC 4180 asks for it.
std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char character : text) {
        quoted += character;
        if (character == '"') {
            quoted += '"';
        }
    }
    return quoted + '"';
}

/// Text that came from somebody else: what begins like a formula would be one to a spreadsheet.
std::string text_cell(const std::string& text) {
    const bool formula = !text.empty() && std::string_view("=+-@\t\r\n").find(text.front()) !=
                                              std::string_view::npos;
    return quoted(formula ? "'" + text : text);
}

/// The columns of one input: all paths that any input has, in the order of the schema.
class FieldColumns {
public:
    explicit FieldColumns(const Simulation* simulation)
        : simulation_(simulation) {}

    /// Takes the paths of an input; one that cannot be decoded gets the column of bytes.
    void learn(ByteView input) {
        const auto fields = decode(input);
        if (!fields) {
            has_bytes_ = true;
            return;
        }
        // A new path stands behind the one that is before it in this input.
        auto place = order_.begin();
        for (const InputField& field : *fields) {
            if (known_.contains(field.path)) {
                // Where two inputs have another order, anywhere will do.
                const auto found = std::find(place, order_.end(), field.path);
                place = found == order_.end() ? place : std::next(found);
                continue;
            }
            place = std::next(order_.insert(place, field.path));
            known_.insert(field.path);
        }
    }

    std::size_t size() const { return order_.size() + (has_bytes_ ? 1 : 0); }

    void append_names(std::string& line, const std::string& slot) const {
        for (const std::string& path : order_) {
            line += ',' + text_cell(joined_path(slot, path));
        }
        if (has_bytes_) {
            line += ',' + text_cell(slot + ".bytes");
        }
    }

    void append_values(std::string& line, bool present, ByteView input) const {
        const auto fields = present ? decode(input) : Result<std::vector<InputField>>();
        std::map<std::string, std::string> cells;
        if (present && fields) {
            for (const InputField& field : *fields) {
                cells[field.path] = field.is_text ? text_cell(field.value) : quoted(field.value);
            }
        }
        for (const std::string& path : order_) {
            const auto cell = cells.find(path);
            line += ',' + (cell == cells.end() ? std::string() : cell->second);
        }
        if (has_bytes_) {
            line += ',';
            // 1e5 would be a number.
            line += present && !fields ? "0x" + to_hex(input) : "";
        }
    }

private:
    Result<std::vector<InputField>> decode(ByteView input) const {
        if (simulation_ == nullptr) {
            return fail(Error(Errc::incompatible_simulation));
        }
        return input_fields(*simulation_, input);
    }

    const Simulation* simulation_;
    std::vector<std::string> order_;
    std::set<std::string> known_;
    bool has_bytes_ = false;
};

/// Hands every tick to `take`.
template <class Take>
Result<void> for_each_tick(const std::function<Result<Reader>()>& open, const Take& take) {
    Result<Reader> reader = open();
    if (!reader) {
        return fail(reader.error());
    }
    while (true) {
        const Result<Record> record = reader->next();
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::end) {
            return {};
        }
        if (record->kind == RecordKind::tick) {
            if (auto taken = take(*record->tick.frame); !taken) {
                return taken;
            }
        }
    }
}

const char* state_of(const TickFrame& frame, Slot slot) {
    if (slot.value >= frame.slot_count() || !frame.at(slot).present) {
        return "absent";
    }
    return frame.at(slot).substituted ? "substituted" : "present";
}

std::string events_cell(const TickFrame& frame) {
    std::string text;
    for (const Event& event : frame.events()) {
        text += text.empty() ? "" : "; ";
        text += shown_event(frame, event);
    }
    return text_cell(text);
}

} // namespace

Result<CsvReport> export_csv(const Simulation* simulation,
                             const std::function<Result<Reader>()>& open,
                             const LineSink& sink) {
    std::size_t slots = 0;
    FieldColumns columns(simulation);
    CsvReport report;
    const auto learn = [&](const TickFrame& frame) -> Result<void> {
        slots = std::max(slots, frame.slot_count());
        for (std::uint16_t i = 0; i < frame.slot_count(); ++i) {
            if (frame.at(Slot{i}).present) {
                columns.learn(frame.input(Slot{i}));
            }
        }
        report.columns = 2 + slots * (1 + columns.size());
        if (report.columns > csv_columns_max) {
            return fail(
                Error(Errc::limit_exceeded,
                      "columns",
                      "more than " + std::to_string(csv_columns_max) + ": use --format ndjson"));
        }
        return {};
    };
    if (auto learnt = for_each_tick(open, learn); !learnt) {
        return fail(learnt.error());
    }
    std::string line = "tick";
    for (std::size_t i = 0; i < slots; ++i) {
        const std::string slot = "slots[" + std::to_string(i) + "]";
        line += ',' + slot;
        columns.append_names(line, slot);
    }
    if (auto written = sink(line += ",events"); !written) {
        return fail(written.error());
    }
    const auto write = [&](const TickFrame& frame) -> Result<void> {
        line = std::to_string(frame.tick().value);
        for (std::size_t i = 0; i < slots; ++i) {
            const Slot slot{static_cast<std::uint16_t>(i)};
            const std::string state = state_of(frame, slot);
            const bool present = state != "absent";
            line += ',' + state;
            columns.append_values(line, present, present ? frame.input(slot) : ByteView{});
        }
        line += ',' + events_cell(frame);
        ++report.ticks;
        return sink(line);
    };
    if (auto written = for_each_tick(open, write); !written) {
        return fail(written.error());
    }
    return report;
}

} // namespace twinstep::replay
