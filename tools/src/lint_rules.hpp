// SPDX-License-Identifier: MIT
// What a step must not call, and what it calls instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace twinstep::tools::lint {

/// Why something is reported. The names, as name_of() gives them, are a contract: `--allow` takes
/// them.
enum class Hazard : std::uint8_t {
    math,        ///< Rounds differently with each library and CPU.
    fused,       ///< Rounds once where the source rounds twice.
    estimate,    ///< Each make of CPU has its own bits.
    x87,         ///< Computes with more bits than the type has.
    long_double, ///< Has 64, 80 or 128 bits.
    float_mode,  ///< Changes rounding or flushes subnormals for whoever runs next.
    fast_math,   ///< Start-up code that does so for the whole program.
    random,      ///< Cannot be repeated from the seed of the session.
    time,        ///< A clock or a calendar.
    locale,      ///< Depends on a setting of the user.
    sort,        ///< Leaves equal elements in any order.
    text,        ///< Numbers as text, by the locale and the library.
    environment, ///< A variable of the process.
    thread,      ///< Threads and their identities.
    hash,        ///< Hash tables whose order is an accident.
};
std::string_view name_of(Hazard hazard);

/// A rule that applies to a name.
struct Verdict {
    Hazard hazard = Hazard::math;
    std::string base;    ///< The name that the rule knows: "sin" for sinf and __sin_finite.
    std::string instead; ///< What to use, for people.
};

/// The rule for a function of C or of a system, by its plain name.
std::optional<Verdict> judge_function(std::string_view plain, bool coff);
/// The rule for a function of C++, by its readable name.
std::optional<Verdict> judge_path(std::string_view path);
/// The rule for a template of C++ that is compiled into the file itself, by its readable name.
std::optional<Verdict> judge_definition(std::string_view path);

/// What to use instead of instructions of a kind.
std::string_view instead_of(Hazard hazard);

} // namespace twinstep::tools::lint
