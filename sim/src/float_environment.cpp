// SPDX-License-Identifier: MIT
// Control registers and the battery of known answers.
#include "twinstep/sim/float_environment.hpp"

#include <array>
#include <bit>
#include <cfenv>
#include <string_view>

#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>
#define TWINSTEP_HAS_MXCSR 1
#endif

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/types.hpp"

namespace twinstep {

namespace {

#if defined(TWINSTEP_HAS_MXCSR)
// The low six bits of MXCSR are sticky exception flags: results, not settings.
constexpr std::uint64_t control_mask = 0xFFC0;
constexpr std::uint64_t exact_bits = 0x1F80; // all exceptions masked, nearest, no FTZ, no DAZ

void write_float_control(const FloatControl& control) noexcept {
    _mm_setcsr(static_cast<unsigned>(control.bits));
}
#elif defined(__aarch64__)
constexpr std::uint64_t exact_bits = 0;

void write_float_control(const FloatControl& control) noexcept {
    asm volatile("msr fpcr, %0" : : "r"(control.bits));
}
#else
void write_float_control(const FloatControl& control) noexcept {
    if (control.known) {
        std::fesetround(static_cast<int>(control.bits));
    }
}
#endif

/// One operation of the battery: its name says what breaks it.
struct Probe {
    std::string_view property;
    std::string_view remedy;
    std::uint64_t expected;
    std::uint64_t (*compute)();
};

constexpr std::string_view fix_mode = "something changed this thread's floating-point mode; a "
                                      "library linked with -ffast-math does that";
constexpr std::string_view fix_flags =
    "build with -ffp-contract=off and without -ffast-math, and link twinstep::sim last";

// Operands are volatile so that the answer is computed here and now, not by the compiler.
float load(float value) {
    volatile float kept = value;
    return kept;
}

double load(double value) {
    volatile double kept = value;
    return kept;
}

constexpr std::uint64_t bits_of(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

// The thread's mode comes first: it also changes what the probes of the build compute.
constexpr std::array<Probe, 9> battery{{
    {"round to nearest, not up",
     fix_mode,
     0x3F800000,
     [] {
         const float sum = load(1.0F) + load(0x1p-24F);
         return bits_of(sum);
     }},
    {"round to nearest, not down",
     fix_mode,
     0xBF800000,
     [] {
         const float sum = load(-1.0F) - load(0x1p-24F);
         return bits_of(sum);
     }},
    {"round to nearest, not toward zero",
     fix_mode,
     0x3F800001,
     [] {
         const float sum = load(1.0F) + load(0x1.8p-24F);
         return bits_of(sum);
     }},
    {"subnormal results are kept",
     fix_mode,
     0x00400000,
     [] {
         const float half = load(0x1p-126F) * load(0.5F);
         return bits_of(half);
     }},
    {"subnormal operands are kept",
     fix_mode,
     0x00800000,
     [] {
         const float twice = load(0x1p-127F) * load(2.0F);
         return bits_of(twice);
     }},
    {"no contraction of a*b+c",
     fix_flags,
     0,
     [] {
         const float a = load(1.0F + 0x1p-12F);
         const float c = load(-(1.0F + 0x1p-11F));
         const float product_sum = a * a + c;
         return bits_of(product_sum);
     }},
    {"no reassociation of (x+y)-x",
     fix_flags,
     bits_of(0.0F),
     [] {
         const float x = load(0x1p24F);
         const float y = load(0.5F);
         const float rest = (x + y) - x;
         return bits_of(rest);
     }},
    {"double arithmetic has no excess precision",
     fix_flags,
     std::bit_cast<std::uint64_t>(0x1p53),
     [] {
         const double sum = load(0x1p53) + load(1.0);
         return std::bit_cast<std::uint64_t>(sum);
     }},
    {"division is correctly rounded",
     fix_flags,
     0x3EAAAAAB,
     [] {
         const float third = load(1.0F) / load(3.0F);
         return bits_of(third);
     }},
}};

} // namespace

FloatControl read_float_control() noexcept {
#if defined(TWINSTEP_HAS_MXCSR)
    return {_mm_getcsr() & control_mask, true};
#elif defined(__aarch64__)
    std::uint64_t bits = 0;
    asm volatile("mrs %0, fpcr" : "=r"(bits));
    return {bits, true};
#else
    const int mode = std::fegetround();
    return {static_cast<std::uint64_t>(mode), mode >= 0};
#endif
}

FloatControl exact_float_control() noexcept {
#if defined(TWINSTEP_HAS_MXCSR) || defined(__aarch64__)
    return {exact_bits, true};
#else
    return {static_cast<std::uint64_t>(FE_TONEAREST), std::fegetround() >= 0};
#endif
}

FloatEnvironmentGuard::FloatEnvironmentGuard() noexcept
    : saved_(read_float_control())
    , exact_(exact_float_control()) {
    if (saved_ != exact_) {
        write_float_control(exact_);
    }
}

FloatEnvironmentGuard::~FloatEnvironmentGuard() {
    if (read_float_control() != saved_) {
        write_float_control(saved_);
    }
}

void FloatEnvironmentGuard::enforce() const noexcept {
    if (!intact()) {
        write_float_control(exact_);
    }
}

Result<void> check_float_environment() {
    for (const Probe& probe : battery) {
        const std::uint64_t actual = probe.compute();
        if (actual != probe.expected) {
            return fail(Error(SimErrc::bad_float_environment,
                              std::string(probe.property),
                              "expected " + to_hex(probe.expected) + ", computed " +
                                  to_hex(actual) + "; " + std::string(probe.remedy)));
        }
    }
    return {};
}

std::string float_fingerprint() {
    const FloatEnvironmentGuard guard;
    Bytes results;
    ByteWriter writer(results);
    for (const Probe& probe : battery) {
        writer.u64(probe.compute());
    }
    return to_hex(hash_bytes("twinstep.float", Tick{0}, {}, results).low);
}

} // namespace twinstep
