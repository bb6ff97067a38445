// SPDX-License-Identifier: MIT
// Inputs as fields, and where two recordings' inputs differ.
#include "edit_inputs.hpp"

#include "twinstep/sim/field_paths.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace twinstep::replay {

namespace {

constexpr const char* none = "(missing)";

/// Flattens the tree of an input.
class FieldList final : public PathVisitor {
public:
    FieldList()
        : PathVisitor(Root::input) {}

    std::vector<InputField> take() { return std::move(fields_); }

private:
    void leaf(const std::string&, const std::string& path, const FieldValue& value) override {
        fields_.push_back({path, twinstep::to_string(value), value.type == FieldValue::Type::text});
    }

    std::vector<InputField> fields_;
};

bool same_input_bytes(ByteView left, ByteView right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

std::string shown_input(const TickFrame& frame, Slot slot) {
    if (slot.value >= frame.slot_count() || !frame.at(slot).present) {
        return none;
    }
    return to_hex(frame.input(slot)) + (frame.at(slot).substituted ? " (substituted)" : "");
}

/// Reads on to the next tick record; nothing at the end.
Result<std::optional<TickRecord>> read_tick(Reader& reader) {
    while (true) {
        const Result<Record> record = reader.next();
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::tick) {
            return std::optional(record->tick);
        }
        if (record->kind == RecordKind::end) {
            return std::optional<TickRecord>{};
        }
    }
}

class Comparing {
public:
    Comparing(const Simulation* simulation,
              InputComparison& comparison,
              const InputDifferenceSink& sink)
        : simulation_(simulation)
        , comparison_(comparison)
        , sink_(sink) {}

    void compare(const TickRecord& left, const TickRecord& right) {
        ++comparison_.ticks_compared;
        if (same_input_bytes(left.encoded, right.encoded)) {
            return;
        }
        ++comparison_.ticks_different;
        tick_ = left.tick;
        const std::size_t slots = std::max(left.frame->slot_count(), right.frame->slot_count());
        for (std::size_t i = 0; i < slots; ++i) {
            compare_slot(*left.frame, *right.frame, Slot{static_cast<std::uint16_t>(i)});
        }
        compare_events(*left.frame, *right.frame);
    }

private:
    void report(std::string field, std::string left, std::string right) {
        ++comparison_.fields_different;
        sink_({tick_, std::move(field), std::move(left), std::move(right)});
    }

    void compare_slot(const TickFrame& left, const TickFrame& right, Slot slot) {
        const std::string left_text = shown_input(left, slot);
        const std::string right_text = shown_input(right, slot);
        if (left_text == right_text) {
            return;
        }
        ++comparison_.slots_different;
        const std::string name = "slots[" + std::to_string(slot.value) + "]";
        if (left_text == none || right_text == none || simulation_ == nullptr ||
            same_input_bytes(left.input(slot), right.input(slot))) {
            return report(name, left_text, right_text);
        }
        const auto left_fields = input_fields(*simulation_, left.input(slot));
        const auto right_fields = input_fields(*simulation_, right.input(slot));
        if (!left_fields || !right_fields || !compare_fields(name, *left_fields, *right_fields)) {
            report(name, left_text, right_text);
        }
    }

    /// Fields are matched by path: a longer list moves those behind it. False if none differs.
    bool compare_fields(const std::string& name,
                        const std::vector<InputField>& left,
                        const std::vector<InputField>& right) {
        const auto find = [](const std::vector<InputField>& fields, const std::string& path) {
            return std::find_if(fields.begin(), fields.end(), [&](const InputField& field) {
                return field.path == path;
            });
        };
        const std::uint64_t before = comparison_.fields_different;
        for (const InputField& field : left) {
            const auto other = find(right, field.path);
            const std::string value = other == right.end() ? none : other->value;
            if (other == right.end() || value != field.value) {
                report(joined_path(name, field.path), field.value, value);
            }
        }
        for (const InputField& field : right) {
            if (find(left, field.path) == left.end()) {
                report(joined_path(name, field.path), none, field.value);
            }
        }
        return comparison_.fields_different != before;
    }

    void compare_events(const TickFrame& left, const TickFrame& right) {
        const std::size_t count = std::max(left.events().size(), right.events().size());
        for (std::size_t i = 0; i < count; ++i) {
            const auto text = [i](const TickFrame& frame) {
                return i < frame.events().size() ? shown_event(frame, frame.events()[i])
                                                 : std::string(none);
            };
            if (text(left) != text(right)) {
                report("events[" + std::to_string(i) + "]", text(left), text(right));
            }
        }
    }

    const Simulation* simulation_;
    InputComparison& comparison_;
    const InputDifferenceSink& sink_;
    Tick tick_;
};

} // namespace

std::string joined_path(const std::string& slot, const std::string& path) {
    return path.empty() || path.front() == '[' ? slot + path : slot + "." + path;
}

std::string shown_event(const TickFrame& frame, const Event& event) {
    return "kind " + std::to_string(static_cast<unsigned>(event.kind)) +
           (event.has_slot ? " slot " + std::to_string(event.slot.value) : "") + " payload " +
           to_hex(frame.payload(event));
}

Result<std::vector<InputField>> input_fields(const Simulation& simulation, ByteView input) {
    FieldList list;
    if (auto visited = simulation.visit_input(input, list); !visited) {
        return fail(visited.error());
    }
    return list.take();
}

Result<InputComparison> compare_inputs(const Simulation* simulation,
                                       Reader left,
                                       Reader right,
                                       const InputDifferenceSink& sink) {
    InputComparison comparison;
    comparison.left_first = left.next_tick();
    comparison.right_first = right.next_tick();
    comparison.first = std::max(comparison.left_first, comparison.right_first);
    Comparing comparing(simulation, comparison, sink);
    Result<std::optional<TickRecord>> left_tick = read_tick(left);
    Result<std::optional<TickRecord>> right_tick = read_tick(right);
    while (left_tick && right_tick && (*left_tick || *right_tick)) {
        // Who is behind reads on; who has ended lets the other one go to its end.
        const bool left_reads =
            *left_tick && (!*right_tick || (*left_tick)->tick <= (*right_tick)->tick);
        const bool right_reads =
            *right_tick && (!*left_tick || (*right_tick)->tick <= (*left_tick)->tick);
        if (left_reads && right_reads) {
            comparing.compare(**left_tick, **right_tick);
        }
        if (left_reads) {
            left_tick = read_tick(left);
        }
        if (right_reads) {
            right_tick = read_tick(right);
        }
    }
    if (!left_tick || !right_tick) {
        return fail(left_tick ? right_tick.error() : left_tick.error());
    }
    comparison.left_end = left.next_tick();
    comparison.right_end = right.next_tick();
    comparison.end = std::min(comparison.left_end, comparison.right_end);
    return comparison;
}

} // namespace twinstep::replay
