// SPDX-License-Identifier: MIT
// The first difference between two simulations or two recordings.
#include "twinstep/replay/difference.hpp"

#include "twinstep/replay/playback.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace twinstep::replay {

namespace {

constexpr const char* missing = "(missing)";

/// A tree as a flat list of what a visitor was shown; small, because names are kept once.
class Leaves final : public FieldVisitor {
public:
    enum class Kind : std::uint8_t { open, open_list, close, field };

    struct Item {
        Kind kind = Kind::field;
        FieldValue::Type type = FieldValue::Type::unsigned_integer;
        std::uint8_t fraction_bits = 0;
        std::uint32_t name = 0;
        std::uint64_t bits = 0; ///< Of a text: its number in `texts`.
    };

    /// Of a state only `section` is kept; the name is empty for an input, which has none.
    explicit Leaves(std::string section)
        : section_(std::move(section)) {}

    bool begin_section(std::string_view name) override { return name == section_; }

    void end_section() override {}

    void begin_object(std::string_view name, bool list) override {
        items_.push_back({list ? Kind::open_list : Kind::open, {}, 0, number(name), 0});
    }

    void end_object() override { items_.push_back({Kind::close, {}, 0, number({}), 0}); }

    void field(std::string_view name, const FieldValue& value) override {
        const bool text = value.type == FieldValue::Type::text;
        items_.push_back({Kind::field,
                          value.type,
                          value.fraction_bits,
                          number(name),
                          text ? number(value.text) : value.bits});
    }

    const std::vector<Item>& items() const { return items_; }

    const std::string& text(std::uint64_t number) const {
        return texts_[static_cast<std::size_t>(number)];
    }

    std::string value(const Item& item) const {
        if (item.kind != Kind::field) {
            return item.kind == Kind::close ? missing : "(present)";
        }
        const bool is_text = item.type == FieldValue::Type::text;
        FieldValue value;
        value.type = item.type;
        value.fraction_bits = item.fraction_bits;
        value.bits = item.bits;
        if (is_text) {
            value.text = text(item.bits);
        }
        return twinstep::to_string(value);
    }

    /// Path of the item `index`, such as "players[2].x".
    std::string path(std::size_t index) const;

private:
    std::uint32_t number(std::string_view text) {
        const auto found = numbers_.find(text);
        if (found != numbers_.end()) {
            return found->second;
        }
        const auto fresh = static_cast<std::uint32_t>(texts_.size());
        texts_.emplace_back(text);
        numbers_.emplace(text, fresh);
        return fresh;
    }

    std::string section_;
    std::vector<Item> items_;
    std::vector<std::string> texts_;
    std::map<std::string, std::uint32_t, std::less<>> numbers_;
};

std::string Leaves::path(std::size_t index) const {
    struct Level {
        std::size_t length; // of the path up to here
        bool list;
        std::size_t count;
    };

    std::vector<Level> levels{{0, false, 0}};
    std::string path;
    const auto append = [&](std::uint32_t name) {
        Level& parent = levels.back();
        path.resize(parent.length);
        // The outermost node of an input is the slot itself.
        const bool root = section_.empty() && levels.size() == 1;
        if (root) {
            path.clear();
        } else if (text(name).empty()) {
            path += '[' + std::to_string(parent.count) + ']';
        } else {
            path += path.empty() ? "" : ".";
            path += text(name);
        }
        ++parent.count;
    };
    for (std::size_t i = 0; i <= index && i < items_.size(); ++i) {
        const Item& item = items_[i];
        if (item.kind == Kind::close) {
            if (i == index) {
                // Something belongs here that this side does not have.
                path.resize(levels.back().length);
                path += '[' + std::to_string(levels.back().count) + ']';
            } else if (levels.size() > 1) {
                levels.pop_back();
            }
            continue;
        }
        append(item.name);
        if (item.kind != Kind::field) {
            levels.push_back({path.size(), item.kind == Kind::open_list, 0});
        }
    }
    return path;
}

bool same_item(const Leaves& left,
               const Leaves::Item& left_item,
               const Leaves& right,
               const Leaves::Item& right_item) {
    if (left_item.kind != right_item.kind || left_item.type != right_item.type ||
        left.text(left_item.name) != right.text(right_item.name)) {
        return false;
    }
    if (left_item.kind == Leaves::Kind::field && left_item.type == FieldValue::Type::text) {
        return left.text(left_item.bits) == right.text(right_item.bits);
    }
    return left_item.bits == right_item.bits;
}

/// Fills in field and values where two trees part first; false if they are equal.
bool compare_leaves(const Leaves& left, const Leaves& right, Divergence& divergence) {
    const std::size_t count = std::min(left.items().size(), right.items().size());
    for (std::size_t i = 0; i < count; ++i) {
        const Leaves::Item& left_item = left.items()[i];
        const Leaves::Item& right_item = right.items()[i];
        if (!same_item(left, left_item, right, right_item)) {
            // Where one side closes a list, the other side knows what is missing.
            const bool left_closes = left_item.kind == Leaves::Kind::close;
            divergence.field = left_closes ? right.path(i) : left.path(i);
            divergence.expected = left.value(left_item);
            divergence.actual = right.value(right_item);
            return true;
        }
    }
    if (left.items().size() == right.items().size()) {
        return false;
    }
    const bool left_longer = left.items().size() > count;
    divergence.field = left_longer ? left.path(count) : right.path(count);
    divergence.expected = left_longer ? left.value(left.items()[count]) : missing;
    divergence.actual = left_longer ? missing : right.value(right.items()[count]);
    return true;
}

/// Keeps the last frame of a driver.
class FrameKeeper final : public Observer {
public:
    void before(const TickBegin& begin) override {
        frame_ = begin.frame;
        encoded_.assign(begin.encoded.begin(), begin.encoded.end());
    }

    const TickFrame& frame() const { return frame_; }

    const Bytes& encoded() const { return encoded_; }

private:
    TickFrame frame_;
    Bytes encoded_;
};

bool same_bytes(ByteView left, ByteView right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

Divergence event_difference(const TickFrame& left, const TickFrame& right) {
    Divergence divergence{left.tick(), "events", {}, {}, {}};
    const std::size_t count = std::min(left.events().size(), right.events().size());
    std::size_t i = 0;
    const auto same = [&](const Event& a, const Event& b) {
        return a.kind == b.kind && a.has_slot == b.has_slot && a.slot == b.slot &&
               same_bytes(left.payload(a), right.payload(b));
    };
    while (i < count && same(left.events()[i], right.events()[i])) {
        ++i;
    }
    const auto show = [i](const TickFrame& frame) -> std::string {
        if (i >= frame.events().size()) {
            return missing;
        }
        const Event& event = frame.events()[i];
        return "kind " + std::to_string(static_cast<unsigned>(event.kind)) +
               (event.has_slot ? " slot " + std::to_string(event.slot.value) : "") + " payload " +
               to_hex(frame.payload(event));
    };
    divergence.field = "events[" + std::to_string(i) + "]";
    divergence.expected = show(left);
    divergence.actual = show(right);
    return divergence;
}

std::string show_input(const TickFrame& frame, Slot slot) {
    if (slot.value >= frame.slot_count() || !frame.at(slot).present) {
        return missing;
    }
    return to_hex(frame.input(slot)) + (frame.at(slot).substituted ? " (substituted)" : "");
}

/// Requires frames that differ.
Divergence
input_difference(const Simulation& simulation, const TickFrame& left, const TickFrame& right) {
    const std::size_t slots = std::max(left.slot_count(), right.slot_count());
    for (std::uint16_t i = 0; i < slots; ++i) {
        const Slot slot{i};
        Divergence divergence{left.tick(), "inputs", {}, {}, {}};
        divergence.expected = show_input(left, slot);
        divergence.actual = show_input(right, slot);
        if (divergence.expected == divergence.actual) {
            continue;
        }
        const std::string prefix = "slots[" + std::to_string(i) + "]";
        divergence.field = prefix;
        if (divergence.expected == missing || divergence.actual == missing) {
            return divergence;
        }
        Leaves left_leaves{{}};
        Leaves right_leaves{{}};
        const bool decoded = simulation.visit_input(left.input(slot), left_leaves).has_value() &&
                             simulation.visit_input(right.input(slot), right_leaves).has_value();
        if (decoded && compare_leaves(left_leaves, right_leaves, divergence)) {
            const bool joined = divergence.field.empty() || divergence.field.front() == '[';
            divergence.field = prefix + (joined ? "" : ".") + divergence.field;
        }
        return divergence;
    }
    return event_difference(left, right);
}

} // namespace

std::optional<Divergence> compare_states(Simulation& left, Simulation& right) {
    auto divergence = difference(left.hash(), right.hash());
    if (divergence && !divergence->section.empty()) {
        Leaves left_leaves(divergence->section);
        Leaves right_leaves(divergence->section);
        left.visit(left_leaves);
        right.visit(right_leaves);
        compare_leaves(left_leaves, right_leaves, *divergence);
    }
    return divergence;
}

Result<Difference>
first_difference(Simulation& left, Simulation& right, Reader left_reader, Reader right_reader) {
    if (left.info().id != right.info().id) {
        return fail(Error(Errc::incompatible_simulation,
                          "sim.id",
                          "left is '" + left.info().id + "', right is '" + right.info().id + "'"));
    }
    for (const auto& [simulation, reader] :
         {std::pair(&left, &left_reader), std::pair(&right, &right_reader)}) {
        if (auto prepared = prepare_simulation(*simulation, *reader); !prepared) {
            return fail(prepared.error());
        }
    }
    Playback left_playback(std::move(left_reader));
    Playback right_playback(std::move(right_reader));
    Driver left_driver(left, left_playback.source());
    Driver right_driver(right, right_playback.source());
    FrameKeeper left_frame;
    FrameKeeper right_frame;
    left_driver.add(left_frame);
    right_driver.add(right_frame);
    Difference difference;
    // One that starts later is compared from there on.
    while (left.tick() != right.tick()) {
        const bool left_is_behind = left.tick() < right.tick();
        const Result<Advance> advance = (left_is_behind ? left_driver : right_driver).advance(1);
        if (!advance) {
            return fail(advance.error());
        }
        (left_is_behind ? difference.ticks_left : difference.ticks_right) += advance->ticks;
        if (advance->ticks == 0) {
            return difference;
        }
    }
    while (true) {
        difference.state = compare_states(left, right);
        if (difference.state) {
            return difference;
        }
        const Result<Advance> left_advance = left_driver.advance(1);
        if (!left_advance) {
            return fail(left_advance.error());
        }
        const Result<Advance> right_advance = right_driver.advance(1);
        if (!right_advance) {
            return fail(right_advance.error());
        }
        difference.ticks_left += left_advance->ticks;
        difference.ticks_right += right_advance->ticks;
        if (left_advance->ticks == 0 || right_advance->ticks == 0) {
            return difference;
        }
        if (!difference.input && left_frame.encoded() != right_frame.encoded()) {
            difference.input = input_difference(left, left_frame.frame(), right_frame.frame());
        }
    }
}

Result<Difference> first_difference(Simulation& left,
                                    Simulation& right,
                                    const std::string& left_path,
                                    const std::string& right_path) {
    Result<Reader> left_reader = Reader::open(left_path);
    if (!left_reader) {
        return fail(left_reader.error());
    }
    Result<Reader> right_reader = Reader::open(right_path);
    if (!right_reader) {
        return fail(right_reader.error());
    }
    return first_difference(left, right, std::move(*left_reader), std::move(*right_reader));
}

} // namespace twinstep::replay
