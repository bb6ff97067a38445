// SPDX-License-Identifier: MIT
// Where a state has a float that is no number.
#include "twinstep/sim/simulation.hpp"

#include <bit>
#include <vector>

namespace twinstep {

namespace {

bool is_nan(const FieldValue& value) {
    if (value.type == FieldValue::Type::float32) {
        const auto number = std::bit_cast<float>(static_cast<std::uint32_t>(value.bits));
        return number != number;
    }
    const auto number = std::bit_cast<double>(value.bits);
    return value.type == FieldValue::Type::float64 && number != number;
}

/// Keeps the path to where it is until it has found one.
class NanSearch final : public FieldVisitor {
public:
    bool begin_section(std::string_view name) override {
        if (!found) {
            section_ = name;
            path_.clear();
            levels_.assign(1, {});
        }
        return !found;
    }

    void end_section() override {}

    void begin_object(std::string_view name, bool) override {
        append(name);
        levels_.push_back({path_.size(), 0});
    }

    void end_object() override { levels_.pop_back(); }

    void field(std::string_view name, const FieldValue& value) override {
        append(name);
        if (!found && is_nan(value)) {
            found = FieldPlace{section_, path_};
        }
    }

    std::optional<FieldPlace> found;

private:
    /// One that the walk is in, and its path.
    struct Level {
        std::size_t length = 0;
        std::size_t children = 0;
    };

    void append(std::string_view name) {
        Level& parent = levels_.back();
        path_.resize(parent.length);
        if (name.empty()) {
            path_ += '[' + std::to_string(parent.children) + ']';
        } else {
            path_ += path_.empty() ? "" : ".";
            path_ += name;
        }
        ++parent.children;
    }

    std::string section_;
    std::string path_;
    std::vector<Level> levels_{1};
};

} // namespace

std::optional<FieldPlace> find_nan(const Simulation& simulation) {
    NanSearch search;
    simulation.visit(search);
    return search.found;
}

} // namespace twinstep
