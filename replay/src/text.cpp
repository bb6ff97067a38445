// SPDX-License-Identifier: MIT
// Export to text.
#include "twinstep/replay/text.hpp"

// tidy: allow third-party: the text form is JSON, and only its own files see the library
#include <nlohmann/json.hpp>

#include <bit>
#include <utility>
#include <vector>

namespace twinstep::replay {

namespace {

using OrderedJson = nlohmann::ordered_json;

std::string short_hex(std::uint32_t value) {
    constexpr std::size_t upper_digits = 8;
    return twinstep::to_hex(std::uint64_t{value}).substr(upper_digits);
}

/// Builds the tree that a visitor is shown.
class JsonVisitor final : public FieldVisitor {
public:
    bool begin_section(std::string_view) override { return true; }

    void end_section() override {}

    void begin_object(std::string_view name, bool list) override {
        open_.push_back({std::string(name), list ? OrderedJson::array() : OrderedJson::object()});
    }

    void end_object() override {
        Node node = std::move(open_.back());
        open_.pop_back();
        put(node.name, std::move(node.value));
    }

    void field(std::string_view name, const FieldValue& value) override {
        constexpr std::uint64_t exact_max = std::uint64_t{1} << 53;
        switch (value.type) {
        case FieldValue::Type::boolean:
            return put(name, value.bits != 0);
        case FieldValue::Type::unsigned_integer:
            if (value.bits < exact_max) {
                return put(name, value.bits);
            }
            break;
        case FieldValue::Type::signed_integer:
            if (value.fraction_bits == 0 && value.bits + exact_max < 2 * exact_max) {
                return put(name, static_cast<std::int64_t>(value.bits));
            }
            break;
        case FieldValue::Type::float32:
        case FieldValue::Type::float64:
        case FieldValue::Type::text:
            break;
        }
        put(name, twinstep::to_string(value));
    }

    OrderedJson take() { return std::move(root_); }

private:
    struct Node {
        std::string name;
        OrderedJson value;
    };

    void put(std::string_view name, OrderedJson value) {
        if (open_.empty()) {
            root_ = std::move(value);
        } else if (open_.back().value.is_array()) {
            open_.back().value.push_back(std::move(value));
        } else {
            std::string key(name);
            if (key.empty()) {
                key = std::to_string(open_.back().value.size());
            }
            open_.back().value[key] = std::move(value);
        }
    }

    std::vector<Node> open_;
    OrderedJson root_;
};

OrderedJson slots_of(const TickFrame& frame) {
    OrderedJson slots = OrderedJson::array();
    for (std::uint16_t i = 0; i < frame.slot_count(); ++i) {
        const SlotInput& input = frame.at(Slot{i});
        if (!input.present) {
            slots.push_back(nullptr);
        } else if (input.substituted) {
            slots.push_back({{"input", to_hex(frame.input(Slot{i}))}, {"substituted", true}});
        } else {
            slots.push_back(to_hex(frame.input(Slot{i})));
        }
    }
    return slots;
}

OrderedJson events_of(const TickFrame& frame) {
    OrderedJson events = OrderedJson::array();
    for (const Event& event : frame.events()) {
        OrderedJson line{{"kind", static_cast<unsigned>(event.kind)}};
        if (event.has_slot) {
            line["slot"] = event.slot.value;
        }
        line["payload"] = to_hex(frame.payload(event));
        events.push_back(std::move(line));
    }
    return events;
}

OrderedJson fields_of(const TickFrame& frame, const Simulation& simulation) {
    OrderedJson fields = OrderedJson::array();
    for (std::uint16_t i = 0; i < frame.slot_count(); ++i) {
        JsonVisitor visitor;
        const bool decoded = frame.at(Slot{i}).present &&
                             simulation.visit_input(frame.input(Slot{i}), visitor).has_value();
        fields.push_back(decoded ? visitor.take() : OrderedJson(nullptr));
    }
    return fields;
}

OrderedJson head_line(const Head& head) {
    OrderedJson manifest = OrderedJson::object();
    for (const auto& [key, value] : head.manifest) {
        manifest[key] = value;
    }
    return OrderedJson{{"type", "head"},
                       {"major", format_major},
                       {"minor", head.minor},
                       {"compatible", head.compatible},
                       {"read_only", head.read_only},
                       {"incompatible", head.incompatible},
                       {"session", to_hex(head.session)},
                       {"manifest", std::move(manifest)}};
}

OrderedJson tick_line(const TickRecord& tick, const ExportOptions& options) {
    OrderedJson line{{"type", "tick"},
                     {"tick", std::to_string(tick.tick.value)},
                     {"hash", short_hex(tick.hash)},
                     {"sections", to_hex(tick.section_bytes)},
                     {"slots", slots_of(*tick.frame)}};
    if (!tick.frame->events().empty()) {
        line["events"] = events_of(*tick.frame);
    }
    if (options.simulation != nullptr) {
        line["fields"] = fields_of(*tick.frame, *options.simulation);
    }
    return line;
}

OrderedJson chunk_end_line(const ChunkEnd& end,
                           const std::vector<std::string>& names,
                           const ExportOptions& options) {
    OrderedJson sections = OrderedJson::object();
    for (std::size_t i = 0; i < names.size(); ++i) {
        sections[names[i]] = twinstep::to_hex(end.sections[i]);
    }
    OrderedJson line{{"type", "chunk_end"},
                     {"chunk", end.number},
                     {"first", std::to_string(end.first.value)},
                     {"last", std::to_string(end.last.value)},
                     {"state", twinstep::to_hex(end.state)},
                     {"sections", std::move(sections)}};
    if (options.proofs) {
        line["previous"] = twinstep::to_hex(end.previous);
        line["digest"] = twinstep::to_hex(end.digest);
    }
    return line;
}

OrderedJson record_line(const Record& record, const Reader& reader, const ExportOptions& options) {
    switch (record.kind) {
    case RecordKind::tick:
        return tick_line(record.tick, options);
    case RecordKind::chunk_end:
        return chunk_end_line(record.chunk_end, reader.sections(), options);
    case RecordKind::trailer: {
        OrderedJson line{{"type", "trailer"}, {"ticks", std::to_string(reader.ticks())}};
        if (options.proofs) {
            line["chain"] = twinstep::to_hex(reader.chain());
        }
        return line;
    }
    case RecordKind::frame:
    case RecordKind::unknown:
    case RecordKind::end:
        break;
    }
    return OrderedJson{
        {"type", "record"}, {"tag", record.tag}, {"payload", to_hex(record.payload)}};
}

} // namespace

std::string export_head(const Head& head) {
    return head_line(head).dump();
}

std::string
export_record(const Reader& reader, const Record& record, const ExportOptions& options) {
    OrderedJson line = record_line(record, reader, options);
    if (options.proofs) {
        line["check"] = short_hex(record.check);
    }
    // Values that a simulation shows may be any bytes; everything else is UTF-8 already.
    return line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

Result<void> export_text(Reader& reader, const LineSink& sink, const ExportOptions& options) {
    if (auto written = sink(export_head(reader.head())); !written) {
        return written;
    }
    while (true) {
        const Result<Record> record = reader.next();
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::end) {
            return {};
        }
        if (auto written = sink(export_record(reader, *record, options)); !written) {
            return written;
        }
    }
}

} // namespace twinstep::replay
