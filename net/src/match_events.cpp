// SPDX-License-Identifier: MIT
// The schedule: everything that changes who plays and how becomes an event of a tick.
#include "match_impl.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace twinstep::net {

namespace {

/// Short text without an allocation.
class Text {
public:
    Text& operator<<(std::string_view part) {
        const std::size_t size = std::min(part.size(), chars_.size() - size_);
        std::copy_n(part.begin(), size, chars_.begin() + static_cast<std::ptrdiff_t>(size_));
        size_ += size;
        return *this;
    }

    Text& operator<<(std::uint32_t value) {
        std::array<char, 10> digits{};
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        return *this << std::string_view(digits.data(),
                                         static_cast<std::size_t>(end - digits.data()));
    }

    ByteView bytes() const { return std::as_bytes(std::span(chars_).first(size_)); }

private:
    std::array<char, 64> chars_{};
    std::size_t size_ = 0;
};

} // namespace

void Match::Impl::schedule(What what, std::uint64_t tick, std::uint16_t slot, std::uint32_t value) {
    // By tick; of one tick in the order in which they were asked for.
    const auto place = std::upper_bound(
        agenda.begin(), agenda.end(), tick, [](std::uint64_t at, const auto& event) {
            return at < event.tick;
        });
    agenda.insert(place, {tick, what, slot, value});
}

bool Match::Impl::cancel(What what, std::uint16_t slot) {
    const auto end = std::remove_if(agenda.begin(), agenda.end(), [&](const ScheduledEvent& event) {
        return event.what == what && event.slot == slot;
    });
    const bool any = end != agenda.end();
    agenda.erase(end, agenda.end());
    return any;
}

bool Match::Impl::scheduled(What what, std::uint16_t slot) const {
    return std::any_of(agenda.begin(), agenda.end(), [&](const ScheduledEvent& event) {
        return event.what == what && event.slot == slot;
    });
}

void Match::Impl::open_tick() {
    frame.reset(timeline.next(), slots);
    event_bytes = 0;
}

void Match::Impl::apply_events() {
    std::size_t done = 0;
    while (done < agenda.size() && agenda[done].tick <= next()) {
        const ScheduledEvent event = agenda[done];
        if (!write(event)) {
            break; // No room: the rest follows in the next tick.
        }
        ++done;
        apply(event);
    }
    agenda.erase(agenda.begin(), agenda.begin() + static_cast<std::ptrdiff_t>(done));
}

bool Match::Impl::write(const ScheduledEvent& event) {
    Text text;
    EventKind kind = EventKind::setting;
    bool slotted = false;
    switch (event.what) {
    case What::join:
        kind = EventKind::join;
        text << seats[event.slot].name;
        slotted = true;
        break;
    case What::leave:
        kind = EventKind::leave;
        slotted = true;
        break;
    case What::absent:
    case What::present:
        text << "player." << event.slot << (event.what == What::absent ? "=absent" : "=present");
        slotted = true;
        break;
    case What::pause:
        kind = EventKind::pause;
        break;
    case What::resume:
        kind = EventKind::resume;
        break;
    case What::speed:
        text << "speed=" << event.value;
        break;
    case What::policy:
        text << "policy=" << to_string(static_cast<Policy>(event.value));
        break;
    case What::delay:
        text << "delay=" << event.value;
        break;
    case What::end:
        text << "match=ended";
        break;
    }
    // Offset, kind, slot (2), size.
    const std::size_t bytes = 5 + text.bytes().size();
    if (event_bytes + bytes > event_bytes_max || frame.events().size() >= events_max) {
        return false;
    }
    event_bytes += bytes;
    if (slotted) {
        frame.add_event(kind, Slot{event.slot}, text.bytes());
    } else {
        frame.add_event(kind, text.bytes());
    }
    return true;
}

void Match::Impl::apply(const ScheduledEvent& event) {
    Seat* seat = event.slot < seats.size() ? &seats[event.slot] : nullptr;
    switch (event.what) {
    case What::join:
    case What::present:
        seat->in_game = true;
        hold_neutral(*seat);
        seat->coming = false;
        seat->owes_from = next();
        seat->verify_from = next();
        if (seat->has_peer) {
            peers[seat->peer].played = true;
        }
        seat->reported = next();
        seat->input_next = std::max(seat->input_next, next());
        while (seat->inputs.has(seat->input_next)) {
            ++seat->input_next;
        }
        seat->silent = false;
        set_state(event.slot, PlayerState::live);
        if (timeline.speed() != 1000 && next() != 0) {
            // Who begins at a snapshot has not seen the event that set it.
            schedule(What::speed, next(), 0, timeline.speed());
        }
        if (settings.equal_delay && next() != 0 && !scheduled(What::delay, 0)) {
            schedule(What::delay, next(), 0, pace.delay);
        }
        break;
    case What::leave:
        empty_seat(event.slot);
        break;
    case What::absent:
        seat->absent_since = now_;
        seat->silent = false;
        set_state(event.slot, PlayerState::absent);
        break;
    case What::pause:
        pause_wanted = true;
        break;
    case What::resume:
        break;
    case What::speed:
        timeline.set_speed(event.value);
        status.speed_per_mille = event.value;
        break;
    case What::policy:
        policy = static_cast<Policy>(event.value);
        break;
    case What::delay:
        break;
    case What::end:
        ending = true;
        break;
    }
}

void Match::Impl::request_pause(Micros now) {
    now_ = now;
    if (status.started && !status.paused && !pause_wanted && !scheduled(What::pause, 0)) {
        schedule(What::pause, next());
    }
}

void Match::Impl::request_resume(Micros now) {
    now_ = now;
    if (cancel(What::pause, 0)) {
        return;
    }
    if (status.paused) {
        status.paused = false;
        schedule(What::resume, next());
    }
}

void Match::Impl::end(Micros now, CloseReason reason) {
    now_ = now;
    if (status.ended || ending) {
        return;
    }
    end_reason = reason;
    if (!status.started) {
        status.ended = true;
        ended_at = now;
        return;
    }
    status.paused = false;
    schedule(What::end, next());
    // The last tick is not waited for: who has not spoken is substituted. A tick full of other
    // events goes first.
    while (!status.ended) {
        apply_events();
        close_tick(now);
    }
}

} // namespace twinstep::net
