// SPDX-License-Identifier: MIT
// Closing ticks: nobody else does it.
#include "match_impl.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <string>

namespace twinstep::net {

void Match::Impl::begin(Micros now) {
    status.started = true;
    timeline.begin(now, Tick{0}, settings.tick_rate);
    open_tick();
    events.on_note(settings.id, "match_started", "");
    begin_pace(now);
    for (Peer& peer : peers) {
        if (peer.phase != PeerPhase::ready) {
            continue;
        }
        if (peer.has_slot) {
            Seat& seat = seats[peer.slot.value];
            seat.coming = true;
            seat.owes_from = 0;
            schedule(What::join, 0, peer.slot.value);
        }
        follow(now, peer);
    }
}

bool Match::Impl::owes(const Seat& seat, std::uint64_t tick) const {
    if (!seat.in_game || tick < seat.owes_from) {
        return false;
    }
    // Under `strict` nobody speaks for an absent player until it has left.
    return seat.state != PlayerState::absent || policy == Policy::strict;
}

std::uint64_t Match::Impl::missing() const {
    std::uint64_t mask = 0;
    for (std::size_t slot = 0; slot < seats.size(); ++slot) {
        // input_next is the first tick from the open one on without an input.
        if (owes(seats[slot], next()) && seats[slot].input_next <= next()) {
            mask |= std::uint64_t{1} << slot;
        }
    }
    return mask;
}

Micros Match::Impl::closing_time(std::uint64_t missing_slots) const {
    const Micros due = timeline.due();
    if (missing_slots == 0) {
        return due;
    }
    switch (policy) {
    case Policy::deadline:
        break;
    case Policy::strict:
        return never;
    case Policy::wait:
        for (std::size_t slot = 0; slot < seats.size(); ++slot) {
            const bool waited = (missing_slots >> slot & 1U) != 0;
            if (waited && !seats[slot].silent) {
                return due + std::max(settings.stall_max, settings.grace);
            }
        }
        break;
    }
    return due + settings.grace;
}

bool Match::Impl::deserted() const {
    return std::none_of(seats.begin(), seats.end(), [](const Seat& seat) {
        return seat.state == PlayerState::live || seat.state == PlayerState::lagging || seat.coming;
    });
}

void Match::Impl::check_standing(Micros now) {
    const bool stand = status.paused || deserted();
    if (standing && !stand) {
        // The time that stood is no debt: the next tick is due a period from now.
        timeline.slip(now + timeline.period());
    }
    if (!standing && stand) {
        standing_since = now;
    }
    standing = stand;
}

void Match::Impl::advance(Micros now) {
    now_ = now;
    if (!clock_known) {
        // Nobody told the time when the seats of a history were made: they are absent from now on.
        clock_known = true;
        for (Seat& seat : seats) {
            seat.absent_since = now;
        }
    }
    check_peers(now);
    if (!status.started && !status.ended && has_session) {
        const auto ready = std::count_if(peers.begin(), peers.end(), [](const Peer& peer) {
            return peer.phase == PeerPhase::ready && peer.has_slot;
        });
        if (ready >= settings.start_players) {
            begin(now);
        }
    }
    if (status.started && !status.ended) {
        apply_events();
        const bool nobody = std::all_of(seats.begin(), seats.end(), [](const Seat& seat) {
            return seat.state == PlayerState::empty;
        });
        if (nobody) {
            end(now, CloseReason::match_ended);
        }
        check_standing(now);
        close_due(now);
        check_stall(now);
        advance_search(now);
        advance_donation(now);
        repeat_announcements(now);
    }
    for (Peer& peer : peers) {
        if (now >= peer.next_send) {
            start_turn(now, peer);
        }
    }
    if (now >= again_at) {
        send_again();
    }
}

std::uint64_t Match::Impl::stalled_slots(Micros now) const {
    const bool runs = status.started && !status.ended && !standing;
    return runs && now >= timeline.due() + settings.grace ? missing() : 0;
}

void Match::Impl::check_stall(Micros now) {
    const bool stall = stalled_slots(now) != 0;
    if (stall && !stalling) {
        for (Peer& peer : peers) {
            peer.next_send = std::min(peer.next_send, now); // They are told at once.
        }
    }
    stalling = stall;
}

void Match::Impl::close_due(Micros now) {
    std::uint64_t closed = 0;
    while (!standing && !status.ended && now >= closing_time(missing())) {
        if (closed == closes_max) {
            if (now >= timeline.due()) {
                const auto behind = (now - timeline.due()).value / timeline.period().value + 1;
                status.overruns += static_cast<std::uint64_t>(behind);
                timeline.slip(now + timeline.period());
            }
            break;
        }
        close_tick(now);
        ++closed;
        apply_events();
        check_standing(now);
    }
}

void Match::Impl::hold_neutral(Seat& seat) {
    std::copy(settings.neutral.begin(), settings.neutral.end(), seat.last.bytes.begin());
    seat.last.size = static_cast<std::uint16_t>(settings.neutral.size());
}

void Match::Impl::fill_slot(Micros now, std::uint16_t index) {
    Seat& seat = seats[index];
    const Slot slot{index};
    const std::uint64_t tick = next();
    if (seat.state == PlayerState::absent) {
        if (policy == Policy::strict && seat.inputs.has(tick)) {
            frame.set_input(slot, seat.inputs.at(tick));
            return;
        }
        frame.set_input(slot, settings.neutral, true);
        ++status.substituted_absent;
        return;
    }
    if (seat.inputs.has(tick)) {
        const ByteView own = seat.inputs.at(tick);
        frame.set_input(slot, own);
        std::copy(own.begin(), own.end(), seat.last.bytes.begin());
        seat.last.size = static_cast<std::uint16_t>(own.size());
        seat.silent = false;
        if (seat.state == PlayerState::lagging && tick - seat.substituted_tick >= recovered_ticks) {
            set_state(index, PlayerState::live);
        }
        return;
    }
    const ByteView filler =
        settings.filler == Filler::repeat_last ? seat.last.view() : ByteView(settings.neutral);
    frame.set_input(slot, filler, true);
    ++status.substituted_late;
    if (!seat.silent) {
        seat.silent = true;
        seat.silent_since = now;
    }
    seat.substituted_tick = tick;
    set_state(index, PlayerState::lagging);
}

void Match::Impl::close_tick(Micros now) {
    const Micros late = now - timeline.due();
    for (std::uint16_t slot = 0; slot < slots; ++slot) {
        if (seats[slot].in_game) {
            fill_slot(now, slot);
        }
    }
    encoded.clear();
    encode_frame(frame, encoded);
    ring.push(encoded);
    const Tick tick = timeline.next();
    closings[tick.value % closings.size()] = {tick.value + 1, now};
    if (policy != Policy::deadline && late > settings.grace) {
        timeline.slip(now); // The stall is no debt.
    }
    timeline.step();
    ++status.ticks_closed;
    open_tick();
    events.on_closed(settings.id, tick, ring.at(tick.value), std::max(late, Micros{}));
    check_seats(now, tick.value);
    after_close(now);
}

void Match::Impl::check_seats(Micros now, std::uint64_t closed) {
    for (std::uint16_t slot = 0; slot < slots; ++slot) {
        Seat& seat = seats[slot];
        seat.input_next = std::max(seat.input_next, closed + 1);
        while (seat.inputs.has(seat.input_next)) {
            ++seat.input_next;
        }
        const bool playing = seat.state == PlayerState::live || seat.state == PlayerState::lagging;
        if (playing && seat.silent && now - seat.silent_since >= settings.absent_after &&
            !scheduled(What::absent, slot) && !scheduled(What::leave, slot)) {
            schedule(What::absent, closed + 1, slot);
        }
    }
}

void Match::Impl::after_close(Micros now) {
    // Frames name ticks up to a window ahead.
    if (ending || next() >= tick_max - 4096) {
        status.ended = true;
        ended_at = now;
        if (end_reason == CloseReason::none) {
            end_reason = CloseReason::match_ended;
        }
    }
    if (next() % 64 == 0) {
        check_silence();
    }
    look_at_pace(now);
    if (pause_wanted) {
        pause_wanted = false;
        status.paused = true;
    }
    for (Peer& peer : peers) {
        if (is_following(peer)) {
            start_turn(now, peer);
            if (is_sent_twice(now, peer)) {
                again_at = now + Micros{timeline.period().value / 2};
            }
        }
    }
}

} // namespace twinstep::net
