// SPDX-License-Identifier: MIT
// The client's input side.
#include "input_feed.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>

namespace twinstep::net {

namespace {

/// More samples than these are not asked for at once: the machine stood still, and the ticks it
/// missed are filled with the last input.
constexpr std::uint64_t owed_max = 8;
constexpr std::uint64_t owed_kept = 2;
/// Inputs are given so far ahead of the closed ticks, at most, while no tick comes and nobody says
/// why: half a window.
constexpr std::uint64_t lead_max = InputWindow::capacity / 2;

/// Nothing acknowledged for longer than this is an outage, less is a way that became longer.
constexpr Micros outage = milliseconds(300);
/// After a new beginning, ticks that had piled up arrive within this time.
constexpr Micros settling = milliseconds(100);

/// The lead is compared with the delay over so many words of the server, and followed if it is off
/// by so many ticks: jitter and the spacing of samples are less.
constexpr std::uint32_t lead_words = 32;
constexpr std::int64_t lead_error_least = 2;

} // namespace

void InputFeed::configure(Micros now, const FeedSettings& settings, ByteView neutral) {
    settings_ = settings;
    settings_.limits.period = tick_period(settings.rate);
    delay_.start(now, settings_.limits, settings.round_trip);
    clock_.start(now, settings.rate);
    neutral_.assign(neutral.begin(), neutral.end());
    merged_.reserve(input_bytes_max);
    kept_.reserve(input_bytes_max);
    received_ = 0;
    input_ack_ = 0;
    started_ = false;
    standing_ = false;
    was_held_ = false;
    to_merge_ = 0;
    has_kept_ = false;
}

void InputFeed::restart(Micros now, std::uint64_t received) {
    received_ = received;
    input_ack_ = 0;
    started_ = false;
    delay_.restart(now, 0);
}

std::uint64_t InputFeed::allowance() const {
    const bool standing = standing_ || received_ == 0;
    const std::uint64_t end = due() + 1 + (standing ? 0 : lead_max);
    const std::uint64_t ahead = end > window_.next() ? end - window_.next() : 0;
    return std::min<std::uint64_t>(ahead, window_.room());
}

void InputFeed::begin(Micros now) {
    if (input_ack_ > due()) {
        started_ = false; // Its time has not come, or the ticks before are still on their way.
        return;
    }
    started_ = true;
    to_merge_ = 0;
    window_.start(input_ack_, neutral_);
    const std::uint64_t until = received_ == 0 ? due() + 1 : due();
    window_.repeat(static_cast<std::size_t>(
        std::min<std::uint64_t>(until - input_ack_, InputWindow::capacity)));
    clock_.restart(now);
    was_held_ = held();
    if (received_ > 0) {
        settling_until_ = now + settling;
        // The ticks that are filled in here come late, as does all at once what an outage held
        // back. That is known, and passes.
        delay_.disregard_before(window_.next());
    }
}

void InputFeed::on_ticks(Micros now, const ServerWord& word) {
    const bool first_tick = received_ == 0 && word.received > 0;
    received_ = std::max(received_, word.received);
    const bool heard_again = watch_acknowledgement(now, word.input_ack);
    if (!started_) {
        begin(now);
        return;
    }
    if (window_.acknowledge(input_ack_) > 0) {
        begin_again(now);
        return;
    }
    if (heard_again) {
        delay_.disregard_before(window_.next());
    }
    if (now < settling_until_) {
        // Ticks that had piled up come all at once: only the last of them tells what time it is.
        if (due() > window_.next()) {
            window_.repeat(static_cast<std::size_t>(
                std::min<std::uint64_t>(due() - window_.next(), InputWindow::capacity)));
            delay_.disregard_before(window_.next());
        }
    }
    if (first_tick) {
        clock_.restart(now);
        was_held_ = false;
    }
    follow_lead(now);
    change_delay(delay_.on_margin(now, word.margin_ms, input_ack_, window_.next()));
    advance(now);
}

/// The delay is what the lead over the received ticks is meant to be. Clocks that run apart and
/// inputs that found no room make it another one; then the number follows, or a fixed one leads.
/// Otherwise a delay that is at its limit by name would stay too short, or too long, for ever.
void InputFeed::follow_lead(Micros now) {
    if (now < settling_until_ || standing_) {
        lead_error_sum_ = 0;
        lead_errors_ = 0;
        return;
    }
    lead_error_sum_ += static_cast<std::int64_t>(window_.next() - due()) - to_merge_;
    if (++lead_errors_ < lead_words) {
        return;
    }
    const std::int64_t error = lead_error_sum_ / lead_words;
    lead_error_sum_ = 0;
    lead_errors_ = 0;
    if (error > -lead_error_least && error < lead_error_least) {
        return;
    }
    const auto ticks = static_cast<int>(std::clamp<std::int64_t>(
        error, -std::int64_t{InputWindow::capacity}, std::int64_t{InputWindow::capacity}));
    if (delay_.is_fixed()) {
        change_delay(-ticks);
        delay_.disregard_before(window_.next());
    } else {
        delay_.follow(ticks);
    }
}

/// True if the server hears us again after it did not for long. All that was sent meanwhile comes
/// late; that was an outage, which is over, and not a longer way.
bool InputFeed::watch_acknowledgement(Micros now, std::uint64_t input_ack) {
    const bool moves = input_ack > input_ack_;
    const bool waits = started_ && window_.count() > 0;
    const bool heard_again = moves && waits && now - ack_moved_ > outage;
    if (moves || !waits) {
        ack_moved_ = now;
    }
    input_ack_ = std::max(input_ack_, input_ack);
    return heard_again;
}

void InputFeed::begin_again(Micros now) {
    // The server has closed ticks that we had not spoken for: go on where a sample of now belongs.
    // While it waited for us, it closed each tick late by the grace; the ticks that have arrived
    // are so much behind its clock.
    const std::int64_t period = clock_.period().value;
    const std::int64_t ticks =
        (settings_.round_trip.value + settings_.grace.value + period - 1) / period + 2;
    delay_.restart(now, static_cast<std::uint16_t>(std::clamp<std::int64_t>(ticks, 1, UINT16_MAX)));
    begin(now);
}

void InputFeed::change_delay(int ticks) {
    if (ticks < 0) {
        to_merge_ += static_cast<std::uint32_t>(-ticks);
        return;
    }
    auto inserted = static_cast<std::uint32_t>(ticks);
    const std::uint32_t undone = std::min(inserted, to_merge_);
    to_merge_ -= undone;
    inserted -= undone;
    if (inserted > 0 && has_kept_ && window_.room() > 0) {
        window_.append(kept_);
        has_kept_ = false;
        --inserted;
    }
    window_.repeat(inserted);
}

void InputFeed::set_speed(std::uint32_t per_mille) {
    clock_.set_speed(per_mille);
    delay_.set_period(clock_.period());
}

void InputFeed::fix_delay(Micros now, std::uint16_t ticks) {
    const int by = delay_.fix(now, ticks, window_.next());
    if (started_) {
        change_delay(by);
    }
}

void InputFeed::advance(Micros now) {
    if (!started_) {
        return;
    }
    if (held()) {
        was_held_ = true;
        return;
    }
    if (was_held_) {
        was_held_ = false;
        if (clock_.due() < now) {
            clock_.restart(now);
        }
    }
    const std::uint64_t owed = clock_.owed(now, InputWindow::capacity);
    if (owed <= owed_max) {
        return;
    }
    const std::size_t filled = window_.repeat(static_cast<std::size_t>(owed - owed_kept));
    for (std::size_t i = 0; i < filled; ++i) {
        clock_.step();
    }
    if (clock_.owed(now, owed_max + 1) > owed_max) {
        clock_.restart(now);
    }
    delay_.disregard_before(window_.next());
}

Micros InputFeed::next_wake() const {
    return started_ && !held() ? clock_.due() : never;
}

std::uint64_t InputFeed::wanted(Micros now) const {
    if (!started_ || was_held_) {
        return 0;
    }
    return clock_.owed(now, std::min(owed_max, allowance()));
}

void InputFeed::give(ByteView sample) {
    TWINSTEP_ASSERT(started_);
    TWINSTEP_ASSERT(window_.room() > 0);
    clock_.step();
    ByteView value = sample;
    if (has_kept_) {
        if (merge_) {
            merged_.clear();
            merge_(kept_, sample, merged_);
            TWINSTEP_ASSERT(merged_.size() <= input_bytes_max);
            value = merged_;
        }
        has_kept_ = false;
    }
    if (to_merge_ > 0) {
        --to_merge_;
        has_kept_ = true;
        // Not kept_.assign(value): value may be a part of merged_, never of kept_.
        kept_.assign(value.begin(), value.end());
        return;
    }
    window_.append(value);
}

} // namespace twinstep::net
