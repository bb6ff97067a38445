// SPDX-License-Identifier: MIT
// Errors as values: what went wrong, where, in which field, and what to do about it.
#pragma once

#include <tl/expected.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace twinstep {

/// What can be wrong with bytes, set-ups and environments that the simulation core is given.
enum class SimErrc {
    truncated = 1,         ///< The bytes end before the value does.
    malformed,             ///< The bytes do not mean anything: bad flag, bad number, bad order.
    limit_exceeded,        ///< A documented limit is exceeded; nothing was allocated for it.
    trailing_bytes,        ///< Bytes are left over after the value.
    wrong_tick,            ///< A frame or state of another tick than the one expected.
    wrong_slots,           ///< A frame or set-up with a number of slots that does not fit.
    bad_setup,             ///< Seed, slots or config that the simulation refuses.
    schema_mismatch,       ///< Bytes of another state or input layout.
    bad_float_environment, ///< Floating point would not be exact here.
    state_changed,         ///< Something that is not a step has changed the state.
};

/// The category of SimErrc.
const std::error_category& sim_category() noexcept;
std::error_code make_error_code(SimErrc code) noexcept;

/// An error that can be shown to a person in one line.
struct Error {
    std::error_code code;                ///< What happened; compare with an enumerator.
    std::string where;                   ///< File, stream or option; may be empty.
    std::optional<std::uint64_t> offset; ///< Byte offset in `where`, if bytes are at fault.
    std::string field;                   ///< Name of the field or key at fault; may be empty.
    std::string detail;                  ///< Values, and what to do; may be empty.

    Error() = default;

    explicit Error(std::error_code error, std::string field_name = {}, std::string text = {})
        : code(error)
        , field(std::move(field_name))
        , detail(std::move(text)) {}

    /// The same error, located at a byte.
    Error&& at(std::uint64_t byte_offset) && {
        offset = byte_offset;
        return std::move(*this);
    }

    /// The same error, located in a file or stream.
    Error&& in(std::string_view place) && {
        where = place;
        return std::move(*this);
    }
};

/// One line: where, byte offset, field, what, detail; parts that are empty are left out.
std::string to_string(const Error& error);

/// A value or an Error.
template <class T>
using Result = tl::expected<T, Error>;

/// Shorthand for the failing return of a Result.
inline tl::unexpected<Error> fail(Error error) {
    return tl::unexpected<Error>(std::move(error));
}

} // namespace twinstep

template <>
struct std::is_error_code_enum<twinstep::SimErrc> : std::true_type {};
