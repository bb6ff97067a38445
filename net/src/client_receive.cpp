// SPDX-License-Identifier: MIT
// Datagrams of the server: opened, cut into frames, and the ticks in them.
#include "client_impl.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace twinstep::net {

namespace {

/// An announced stall is believed so long; the server repeats it several times a second.
constexpr Micros stall_believed = seconds(1);

std::string_view text_of(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The number behind `prefix`, up to `limit`; nothing if it is another text.
std::optional<std::uint32_t>
number_after(std::string_view text, std::string_view prefix, std::uint32_t limit) {
    if (!text.starts_with(prefix)) {
        return std::nullopt;
    }
    text.remove_prefix(prefix.size());
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number > limit) {
        return std::nullopt;
    }
    return number;
}

} // namespace

void Client::Impl::receive(Micros now, const Address& from, ByteView bytes, Outbox& out) {
    if (state == ClientState::closed) {
        return;
    }
    ++status.datagrams_received;
    status.bytes_received += bytes.size();
    const bool is_server = from.ip == settings.server.ip && from.port == settings.server.port;
    if (!is_server || bytes.empty() || bytes.size() > wire::datagram_bytes_max) {
        ++status.datagrams_refused;
        return;
    }
    if (state == ClientState::connecting) {
        handshake.receive(now, bytes, out);
        if (handshake.failure()) {
            close_with(now, handshake.failure_reason(), *handshake.failure(), false);
        } else if (handshake.accepted()) {
            accept(now);
        }
        return;
    }
    if ((std::to_integer<unsigned>(bytes.front()) & 0x80U) != 0) {
        return; // An answer of the handshake that came twice.
    }
    // Without keys, only this tells the packets of an earlier connection from this one's.
    std::uint16_t id = 0;
    if (!peek_connection_id(bytes, id) || id != connection_id) {
        ++status.datagrams_refused;
        return;
    }
    if (!opener->open(bytes, incoming, newest)) {
        ++status.datagrams_refused;
        return;
    }
    last_heard = now;
    if (const Result<void> taken = take_packet(now); !taken) {
        close_with(now, CloseReason::protocol_error, taken.error(), true);
    }
}

Result<void> Client::Impl::take_packet(Micros now) {
    wire::FrameReader reader(incoming);
    wire::Frame frame;
    while (state != ClientState::closed) {
        const Result<bool> more = reader.next(frame);
        if (!more) {
            return fail(more.error());
        }
        if (!*more) {
            break;
        }
        if (Result<void> taken = take_frame(now, frame); !taken) {
            return taken;
        }
    }
    return {};
}

Result<void> Client::Impl::take_ticks(Micros now, const wire::Ticks& ticks) {
    if (!has_manifest || snapshot_awaited) {
        return {}; // Where it begins is not known yet.
    }
    if (ticks.count > 0) {
        if (Result<void> taken = take_bundle(now, ticks); !taken) {
            return taken;
        }
    }
    status.ticks_received = closed.needed();
    if (!newest) {
        return {}; // Acknowledgement and timing are older than what is known.
    }
    const std::uint64_t ack = std::min<std::uint64_t>(ticks.input_ack, tick_max / 2);
    status.input_ack = ack;
    status.margin_ms = ticks.margin_ms;
    if (ticks.has_hash) {
        std::uint64_t own_state = 0;
        std::uint32_t own_chain = 0;
        if (hashes.chain_to_report(1, ticks.hash_tick, own_state, own_chain) &&
            own_state == ticks.hash_tick && own_chain != ticks.hash) {
            ++status.chain_differs;
        }
    }
    const bool ready = state == ClientState::waiting || state == ClientState::playing;
    if (ready && accepted.has_slot) {
        set_standing(now);
        feed.on_ticks(now, {closed.needed(), ack, ticks.margin_ms});
        status.delay_ticks = feed.delay();
    }
    play_if_due();
    return {};
}

Result<void> Client::Impl::take_bundle(Micros now, const wire::Ticks& ticks) {
    if (Result<void> decoded = bundle->decode(ticks, neutral); !decoded) {
        return decoded;
    }
    const std::uint64_t before = closed.needed();
    for (std::size_t i = 0; i < ticks.count; ++i) {
        if (const Result<Arrival> added = closed.add(bundle->frame(i)); !added) {
            return fail(added.error());
        }
    }
    return closed.needed() > before ? took_ticks(now, before) : Result<void>{};
}

Result<void> Client::Impl::took_ticks(Micros now, std::uint64_t from) {
    for (std::uint64_t tick = from; tick < closed.needed(); ++tick) {
        if (Result<void> decoded = decode_frame(closed.encoded(tick), scratch); !decoded) {
            return decoded;
        }
        took_tick(now, scratch);
    }
    if (stalling) {
        stalling = false;
        status.stalled = status.stalled + (now - last_arrival) - feed.period();
    }
    last_arrival = now;
    stall_until = Micros{-1};
    return {};
}

void Client::Impl::took_tick(Micros now, const TickFrame& frame) {
    if (accepted.has_slot && accepted.slot.value < frame.slot_count() &&
        frame.at(accepted.slot).substituted) {
        ++status.substituted;
    }
    for (const Event& event : frame.events()) {
        switch (event.kind) {
        case EventKind::pause:
            paused = true;
            answered(wire::RequestKind::pause);
            break;
        case EventKind::resume:
            paused = false;
            answered(wire::RequestKind::resume);
            break;
        case EventKind::setting:
            took_setting(now, text_of(frame.payload(event)));
            break;
        default:
            break;
        }
    }
}

void Client::Impl::took_setting(Micros now, std::string_view text) {
    if (text.starts_with("policy=")) {
        answered(wire::RequestKind::policy);
        return;
    }
    if (const auto speed = number_after(text, "speed=", wire::speed_per_mille_max)) {
        if (*speed >= wire::speed_per_mille_min) {
            feed.set_speed(*speed);
            status.speed_per_mille = *speed;
            answered(wire::RequestKind::speed);
        }
    } else if (const auto delay = number_after(text, "delay=", UINT8_MAX)) {
        feed.fix_delay(now, static_cast<std::uint16_t>(*delay));
    }
}

void Client::Impl::answered(wire::RequestKind kind) {
    if (request.value.kind == kind) {
        request.sends_left = 0;
    }
}

void Client::Impl::take_stall(Micros now, const wire::Stall& stall) {
    if (stall.tick < closed.needed()) {
        return; // It has been closed since.
    }
    stall_until = now + stall_believed;
    stalled_slots = stall.slots;
    stall_paused = stall.paused;
    set_standing(now);
}

std::string_view Client::Impl::waiting_text() {
    const bool plays = state == ClientState::playing || state == ClientState::waiting;
    if (!plays) {
        return waiting;
    }
    if (paused || (stall_until.value >= 0 && stall_paused)) {
        waiting = "the match is paused";
    } else if (stall_until.value >= 0) {
        waiting = "waiting for slot";
        for (unsigned slot = 0; slot < wire::match_slots_max; ++slot) {
            if ((stalled_slots >> slot & 1U) != 0) {
                waiting += ' ';
                waiting += std::to_string(slot);
            }
        }
    } else if (feed.is_full()) {
        waiting = "128 inputs are not acknowledged: the server is not reached";
    } else if (state == ClientState::waiting && closed.needed() == first_tick) {
        waiting = "waiting for the match to begin";
    } else if (state == ClientState::waiting) {
        waiting = "catching up with the match";
    } else {
        waiting = "the next tick is on its way";
    }
    return waiting;
}

} // namespace twinstep::net
