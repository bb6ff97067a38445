// SPDX-License-Identifier: MIT
// The floating-point probe finds planted faults, and the guard keeps its promise.
#include "hex.hpp"

#include "twinstep/sim/float_environment.hpp"

#include <catch2/catch.hpp>

#include <cfenv>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

using namespace twinstep;

namespace {

struct Finding {
    std::string property;
    std::string detail;
    std::string fingerprint;
};

/// What the probe says in a rounding mode.
Finding find_in_mode(int mode) {
    std::fesetround(mode);
    const auto result = check_float_environment();
    const std::string fingerprint = float_fingerprint();
    std::fesetround(FE_TONEAREST);
    if (result) {
        return {"", "", fingerprint};
    }
    REQUIRE(result.error().code == SimErrc::bad_float_environment);
    return {result.error().field, result.error().detail, fingerprint};
}

} // namespace

TEST_CASE("floating point is exact in this build", "[sim][unit]") {
    REQUIRE(text_of(check_float_environment()) == "ok");
    REQUIRE(read_float_control() == exact_float_control());
    REQUIRE(read_float_control().known);
}

TEST_CASE("the fingerprint is the same wherever floating point is exact", "[sim][golden]") {
    REQUIRE(float_fingerprint() == "7049ae45fae42892");
}

TEST_CASE("each other rounding mode is found and named", "[sim][fault]") {
    REQUIRE(find_in_mode(FE_TONEAREST).property.empty());
    REQUIRE(find_in_mode(FE_UPWARD).property == "round to nearest, not up");
    REQUIRE(find_in_mode(FE_DOWNWARD).property == "round to nearest, not down");
    REQUIRE(find_in_mode(FE_TOWARDZERO).property == "round to nearest, not toward zero");
    REQUIRE(find_in_mode(FE_UPWARD).detail.starts_with(
        "expected 000000003f800000, computed 000000003f800001; something changed this thread's"));
}

TEST_CASE("the fingerprint tells the build, not the mode of the calling thread", "[sim][unit]") {
    REQUIRE(find_in_mode(FE_UPWARD).fingerprint == float_fingerprint());
    REQUIRE(find_in_mode(FE_TOWARDZERO).fingerprint == float_fingerprint());
}

TEST_CASE("a guard sets exact bits and puts back what was there", "[sim][unit]") {
    std::fesetround(FE_UPWARD);
    const FloatControl before = read_float_control();
    bool exact_inside = false;
    bool intact = false;
    bool changed = false;
    bool enforced = false;
    {
        const FloatEnvironmentGuard guard;
        exact_inside = read_float_control() == exact_float_control();
        intact = guard.intact();
        std::fesetround(FE_DOWNWARD);
        changed = !guard.intact();
        guard.enforce();
        enforced = guard.intact();
        std::fesetround(FE_DOWNWARD);
    }
    const FloatControl after = read_float_control();
    std::fesetround(FE_TONEAREST);
    REQUIRE(before != exact_float_control());
    REQUIRE(exact_inside);
    REQUIRE(intact);
    REQUIRE(changed);
    REQUIRE(enforced);
    REQUIRE(after == before);
}

TEST_CASE("a guard undoes a change even where nothing had to be set at first", "[sim][unit]") {
    {
        const FloatEnvironmentGuard guard;
        std::fesetround(FE_UPWARD);
    }
    const FloatControl after = read_float_control();
    std::fesetround(FE_TONEAREST);
    REQUIRE(after == exact_float_control());
}

#if defined(__SSE2__)
TEST_CASE("flushing subnormals is found and named, results and operands apart", "[sim][fault]") {
    constexpr unsigned flush_to_zero = 0x8000;
    constexpr unsigned denormals_are_zero = 0x0040;
    const auto find_with = [](unsigned bits) {
        const unsigned saved = _mm_getcsr();
        _mm_setcsr(saved | bits);
        const auto result = check_float_environment();
        const std::string fingerprint = float_fingerprint();
        _mm_setcsr(saved);
        REQUIRE_FALSE(result);
        REQUIRE(fingerprint == float_fingerprint());
        return result.error().field;
    };
    REQUIRE(find_with(flush_to_zero) == "subnormal results are kept");
    REQUIRE(find_with(denormals_are_zero) == "subnormal operands are kept");
    REQUIRE(find_with(flush_to_zero | denormals_are_zero) == "subnormal results are kept");
}

TEST_CASE("the flags that operations leave behind are not a changed mode", "[sim][unit]") {
    const FloatEnvironmentGuard guard;
    volatile float tiny = 0x1p-126F;
    tiny = tiny / 3.0F;
    REQUIRE((_mm_getcsr() & 0x3FU) != 0);
    REQUIRE(guard.intact());
}
#endif
