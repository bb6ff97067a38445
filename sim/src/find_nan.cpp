// SPDX-License-Identifier: MIT
// Where a state has a float that is no number.
#include "twinstep/sim/field_paths.hpp"
#include "twinstep/sim/simulation.hpp"

#include <bit>

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

class NanSearch final : public PathVisitor {
public:
    std::optional<FieldPlace> found;

private:
    bool wants(const std::string&) override { return !found; }

    void
    leaf(const std::string& section, const std::string& path, const FieldValue& value) override {
        if (!found && is_nan(value)) {
            found = FieldPlace{section, path};
        }
    }
};

} // namespace

std::optional<FieldPlace> find_nan(const Simulation& simulation) {
    NanSearch search;
    simulation.visit(search);
    return search.found;
}

} // namespace twinstep
