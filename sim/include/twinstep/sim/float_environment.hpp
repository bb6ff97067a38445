// SPDX-License-Identifier: MIT
// Floating point is exact or the run is refused: compile-time refusals, a probe, and a guard.
#pragma once

#include "twinstep/sim/result.hpp"

#include <cfloat>
#include <cstdint>
#include <string>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) ||           \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) ||                               \
    defined(__NO_SIGNED_ZEROS__) || defined(_M_FP_FAST)
#error "twinstep: -ffast-math or a part of it makes builds differ; link twinstep::sim last"
#endif

static_assert(FLT_EVAL_METHOD == 0,
              "twinstep: x87 excess precision; build 32-bit x86 with -msse2 -mfpmath=sse");

namespace twinstep {

/// The control bits that decide how floating point rounds on this thread.
struct FloatControl {
    std::uint64_t bits = 0;
    bool known = false; ///< False where the CPU offers no such register to this program.

    bool operator==(const FloatControl&) const = default;
};

/// Reads this thread's control bits (MXCSR without its sticky flags, FPCR, or what there is). A few
/// nanoseconds.
FloatControl read_float_control() noexcept;

/// The control bits every step runs under: round to nearest, no flush to zero, no traps.
FloatControl exact_float_control() noexcept;

/// Sets exact control bits for a scope and puts back what was there. The driver holds one around
/// its steps, so that a graphics driver or plugin that changed the mode cannot reach the
/// simulation.
class FloatEnvironmentGuard {
public:
    FloatEnvironmentGuard() noexcept;
    ~FloatEnvironmentGuard();
    FloatEnvironmentGuard(const FloatEnvironmentGuard&) = delete;
    FloatEnvironmentGuard& operator=(const FloatEnvironmentGuard&) = delete;

    /// True while nobody changed the control bits since construction, or since enforce().
    bool intact() const noexcept { return read_float_control() == exact_; }

    /// Sets exact control bits again if somebody changed them.
    void enforce() const noexcept;

private:
    FloatControl saved_;
    FloatControl exact_;
};

/// Runs a fixed battery of operations whose exact results are known, in the mode this thread is in,
/// and names the first property that does not hold: rounding mode, flush to zero, contraction,
/// reassociation, excess precision, division.
/// Errors: bad_float_environment, with the property as field.
Result<void> check_float_environment();

/// What the battery computes under exact control bits, as steps do, in 16 hexadecimal digits: equal
/// for every build whose floating point is exact, whatever mode the calling thread is in.
std::string float_fingerprint();

} // namespace twinstep
