// SPDX-License-Identifier: MIT
// Turns samples at the client's own pace into inputs of consecutive ticks with an adaptive delay.
#pragma once

#include "delay_control.hpp"
#include "input_window.hpp"
#include "tick_clock.hpp"

#include "twinstep/net/types.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/types.hpp"

#include <cstdint>

namespace twinstep::net {

/// What the server says with each TICKS frame.
struct ServerWord {
    std::uint64_t received = 0;  ///< The tick the client needs next.
    std::uint64_t input_ack = 0; ///< The tick whose input the server needs next.
    std::int32_t margin_ms = 0;
};

/// What the handshake has brought for the inputs.
struct FeedSettings {
    TickRate rate{60};
    DelayLimits limits; ///< The period is filled in.
    Micros round_trip;
    Micros grace; ///< How long the server waits for an input that is missing.
};

/// The client's input side. Samples are due at the tick rate of the client's own clock. A sample
/// belongs to the tick `delay` after the newest closed one. The numbers are consecutive: a longer
/// delay inserts ticks with the last input, a shorter one merges samples.
class InputFeed {
public:
    /// Before the first tick; forgets everything.
    void configure(Micros now, const FeedSettings& settings, ByteView neutral);

    /// Goes on from another state: what was given before does not count there.
    void restart(Micros now, std::uint64_t received);

    void set_neutral(ByteView neutral) { neutral_.assign(neutral.begin(), neutral.end()); }

    void set_round_trip(Micros round_trip) { settings_.round_trip = round_trip; }

    void set_merge(InputMerge merge) { merge_ = std::move(merge); }

    /// Takes what the server says, begins when its time has come.
    void on_ticks(Micros now, const ServerWord& word);

    /// The match stands: paused, or somebody is waited for. No input beyond the delay is given.
    void set_standing(bool standing) { standing_ = standing; }

    /// The match runs at another speed.
    void set_speed(std::uint32_t per_mille);
    /// The match has one delay for all.
    void fix_delay(Micros now, std::uint16_t ticks);

    /// Fills ticks that nobody sampled, if the machine stood still.
    void advance(Micros now);
    Micros next_wake() const;

    /// Samples that are due.
    std::uint64_t wanted(Micros now) const;
    /// Takes one sample. Requires wanted() > 0.
    void give(ByteView sample);

    bool started() const { return started_; }

    /// 128 inputs are not acknowledged: nothing more is sampled.
    bool is_full() const { return started_ && window_.room() == 0; }

    const InputWindow& window() const { return window_; }

    std::uint16_t delay() const { return delay_.delay(); }

    Micros period() const { return clock_.period(); }

private:
    /// The tick of a sample that is taken now.
    std::uint64_t due() const { return received_ + delay_.delay() - 1; }

    /// Inputs that may be given now.
    std::uint64_t allowance() const;

    bool held() const { return allowance() == 0; }

    void begin(Micros now);
    void begin_again(Micros now);
    bool watch_acknowledgement(Micros now, std::uint64_t input_ack);
    void change_delay(int ticks);
    void follow_lead(Micros now);

    InputWindow window_;
    DelayControl delay_;
    TickClock clock_;
    FeedSettings settings_;
    InputMerge merge_;
    Bytes neutral_;
    std::uint64_t received_ = 0;
    std::uint64_t input_ack_ = 0;
    Micros ack_moved_;
    bool started_ = false;
    bool standing_ = false;
    bool was_held_ = false;
    Micros settling_until_{-1};
    std::int64_t lead_error_sum_ = 0; ///< Of ticks by which the lead was more than the delay.
    std::uint32_t lead_errors_ = 0;   ///< How many are in the sum.
    std::uint32_t to_merge_ = 0;      ///< Samples that are merged into the next one.
    bool has_kept_ = false;
    Bytes kept_; ///< Samples merged so far.
    Bytes merged_;
};

} // namespace twinstep::net
