// SPDX-License-Identifier: MIT
// Error texts.
#include "twinstep/sim/result.hpp"

namespace twinstep {

namespace {

class SimCategory final : public std::error_category {
public:
    const char* name() const noexcept override { return "twinstep.sim"; }

    std::string message(int code) const override {
        switch (static_cast<SimErrc>(code)) {
        case SimErrc::truncated:
            return "the bytes end too early";
        case SimErrc::malformed:
            return "the value is not valid";
        case SimErrc::limit_exceeded:
            return "a limit is exceeded";
        case SimErrc::trailing_bytes:
            return "bytes are left over";
        case SimErrc::wrong_tick:
            return "wrong tick";
        case SimErrc::wrong_slots:
            return "wrong number of slots";
        case SimErrc::bad_setup:
            return "the set-up is refused";
        case SimErrc::schema_mismatch:
            return "another layout is expected";
        case SimErrc::bad_float_environment:
            return "floating point is not exact here";
        case SimErrc::state_changed:
            return "changed outside of a step";
        }
        return "unknown error";
    }
};

void append_part(std::string& line, const std::string& part) {
    if (!part.empty()) {
        if (!line.empty()) {
            line += ": ";
        }
        line += part;
    }
}

} // namespace

const std::error_category& sim_category() noexcept {
    static const SimCategory category;
    return category;
}

std::error_code make_error_code(SimErrc code) noexcept {
    return {static_cast<int>(code), sim_category()};
}

std::string to_string(const Error& error) {
    std::string line;
    append_part(line, error.where);
    if (error.offset) {
        append_part(line, "byte " + std::to_string(*error.offset));
    }
    append_part(line, error.field);
    append_part(line, error.code.message());
    append_part(line, error.detail);
    return line;
}

} // namespace twinstep
