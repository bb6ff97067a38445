// SPDX-License-Identifier: MIT
// The exact ledger between counts and steps.
#include "checked_math.hpp"
#include "refusal.hpp"

#include <twinstep/timer/contract.hpp>
#include <twinstep/timer/fixed_step.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace twinstep::timer {
namespace {

bool is_scale_usable(std::int32_t scale_q16) {
    return scale_q16 >= time_scale_min_q16 && scale_q16 <= time_scale_max_q16;
}

constexpr std::uint64_t wide(std::int64_t value) {
    return static_cast<std::uint64_t>(value);
}

/// The ledger's constants, or overflow. Requires a positive frequency and rate.
tl::expected<LedgerTerms, ConfigError> make_terms(std::int64_t frequency_hz, Rational rate) {
    const std::int64_t divisor = std::gcd(frequency_hz, rate.num);
    LedgerTerms terms;
    terms.weight = rate.num / divisor;
    const auto cost = checked_mul(frequency_hz / divisor, rate.den);
    const auto fine_cost = cost ? checked_mul(*cost, time_scale_one_q16) : std::nullopt;
    if (!fine_cost) {
        return refuse(ConfigFault::overflow, "rate_hz");
    }
    terms.cost = *fine_cost;
    return terms;
}

/// Whether the longest frame at the fastest scale, on top of a full residue, fits 63 bits.
bool fits(const LedgerTerms& terms, std::int64_t max_frame_counts) {
    const auto weighted = checked_mul(max_frame_counts, terms.weight);
    const auto intake = weighted ? checked_mul(*weighted, time_scale_max_q16) : std::nullopt;
    return intake && checked_add(*intake, terms.cost);
}

} // namespace

tl::expected<std::int32_t, ConfigError> time_scale_to_q16(double factor) noexcept {
    if (!std::isfinite(factor) || factor < 0.0) {
        return refuse(ConfigFault::scale_not_usable, "time_scale");
    }
    // Multiplying by a power of two is exact, and after the clamp the number is small.
    const double fine = std::min(factor, 4.0) * time_scale_one_q16;
    const auto rounded = static_cast<std::int32_t>(std::lround(fine));
    return std::clamp(rounded, time_scale_min_q16, time_scale_max_q16);
}

bool is_balanced(const Ledger& ledger, const LedgerTerms& terms) noexcept {
    if (ledger.residue < 0 || ledger.residue >= terms.cost || ledger.owed_steps < 0) {
        return false;
    }
    const std::uint64_t taken =
        ledger.scaled_raw * wide(terms.weight) + wide(terms.initial_residue);
    const std::uint64_t all_steps = ledger.steps + ledger.dropped_steps + wide(ledger.owed_steps);
    const std::uint64_t given = all_steps * wide(terms.cost) + wide(ledger.residue) +
                                ledger.scaled_dropped * wide(terms.weight);
    return taken == given;
}

tl::expected<FixedStep, ConfigError> FixedStep::create(const FixedStepConfig& config) noexcept {
    if (config.frequency_hz <= 0) {
        return refuse(ConfigFault::frequency_not_positive, "frequency_hz");
    }
    if (config.rate_hz.num <= 0 || config.rate_hz.den <= 0) {
        return refuse(ConfigFault::rate_not_positive, "rate_hz");
    }
    if (config.max_steps < 1) {
        return refuse(ConfigFault::cap_below_one, "max_steps");
    }
    if (!is_scale_usable(config.time_scale_q16)) {
        return refuse(ConfigFault::scale_not_usable, "time_scale_q16");
    }
    const auto clamp = counts_in(config.max_frame_seconds, config.frequency_hz);
    if (!clamp) {
        return refuse(clamp.error().fault, "max_frame_seconds");
    }
    if (*clamp < 1) {
        return refuse(ConfigFault::clamp_not_positive, "max_frame_seconds");
    }
    FixedStep step;
    const std::int64_t divisor = std::gcd(config.rate_hz.num, config.rate_hz.den);
    step.rate_hz_ = {config.rate_hz.num / divisor, config.rate_hz.den / divisor};
    const auto terms = make_terms(config.frequency_hz, step.rate_hz_);
    if (!terms) {
        return tl::make_unexpected(terms.error());
    }
    step.terms_ = *terms;
    if (!fits(step.terms_, *clamp)) {
        return refuse(ConfigFault::overflow, "max_frame_seconds");
    }
    if (*clamp * step.terms_.weight < step.terms_.cost / time_scale_one_q16) {
        return refuse(ConfigFault::clamp_below_step, "max_frame_seconds");
    }
    // The cost is a multiple of 65536, so half of it is exact.
    step.terms_.initial_residue = config.phase == Phase::half ? step.terms_.cost / 2 : 0;
    step.frequency_hz_ = config.frequency_hz;
    step.max_frame_counts_ = *clamp;
    step.max_steps_ = config.max_steps;
    step.overload_ = config.overload;
    step.time_scale_q16_ = config.time_scale_q16;
    step.reset();
    return step;
}

FrameSteps FixedStep::advance(std::int64_t raw_counts) {
    TWINSTEP_TIMER_ASSERT(raw_counts >= 0);
    FrameSteps frame;
    const std::int64_t credited = std::min(raw_counts, max_frame_counts_);
    frame.dropped_counts = raw_counts - credited;

    // create() proved that this sum fits.
    const std::int64_t balance =
        ledger_.residue + credited * terms_.weight * std::int64_t{time_scale_q16_};
    const std::int64_t bought = balance / terms_.cost;
    ledger_.residue = balance - bought * terms_.cost;
    const std::int64_t due = bought + ledger_.owed_steps;
    frame.steps = std::min(due, max_steps_);
    const std::int64_t excess = due - frame.steps;
    if (overload_ == Overload::lockstep_owes_steps) {
        frame.owed_steps = excess;
    } else {
        frame.dropped_steps = excess;
    }

    ledger_.raw_counts += wide(raw_counts);
    ledger_.dropped_counts += wide(frame.dropped_counts);
    ledger_.scaled_raw += wide(raw_counts) * wide(time_scale_q16_);
    ledger_.scaled_dropped += wide(frame.dropped_counts) * wide(time_scale_q16_);
    ledger_.steps += wide(frame.steps);
    ledger_.dropped_steps += wide(frame.dropped_steps);
    ledger_.owed_steps = frame.owed_steps;
    ledger_.frames += 1;
    ledger_.clamped_frames += frame.dropped_counts > 0 ? 1 : 0;
    ledger_.overload_frames += excess > 0 ? 1 : 0;
    ledger_.overload_run_frames = excess > 0 ? ledger_.overload_run_frames + 1 : 0;
    TWINSTEP_TIMER_ASSERT(is_balanced(ledger_, terms_));
    return frame;
}

double FixedStep::alpha() const noexcept {
    const double ratio = static_cast<double>(ledger_.residue) / static_cast<double>(terms_.cost);
    return std::min(ratio, 1.0 - std::numeric_limits<double>::epsilon() / 2.0);
}

float FixedStep::alpha_float() const noexcept {
    return std::min(static_cast<float>(alpha()), 1.0F - std::numeric_limits<float>::epsilon() / 2);
}

tl::expected<void, ConfigError>
FixedStep::set_time_scale_q16(std::int32_t time_scale_q16) noexcept {
    if (!is_scale_usable(time_scale_q16)) {
        return refuse(ConfigFault::scale_not_usable, "time_scale_q16");
    }
    time_scale_q16_ = time_scale_q16;
    return {};
}

tl::expected<void, ConfigError> FixedStep::set_time_scale(double factor) noexcept {
    const auto fine = time_scale_to_q16(factor);
    if (!fine) {
        return tl::make_unexpected(fine.error());
    }
    time_scale_q16_ = *fine;
    return {};
}

void FixedStep::reset() noexcept {
    ledger_ = Ledger{};
    ledger_.residue = terms_.initial_residue;
}

} // namespace twinstep::timer
