// SPDX-License-Identifier: MIT
// What a client sends, and when.
#include "client_impl.hpp"

#include <algorithm>

namespace twinstep::net {

namespace {

/// In lobby, pause and loading.
constexpr Micros idle_interval = milliseconds(100);
constexpr Micros ping_interval = seconds(1);
constexpr Micros request_interval = milliseconds(100);
/// CLOSE five times within half a second.
constexpr Micros close_interval = milliseconds(125);
/// Room that other frames of a tick's packet leave for inputs: all of them are small.
constexpr std::size_t inputs_overhead_bytes = 40;

} // namespace

Micros Client::Impl::send_interval() const {
    const bool flows =
        state == ClientState::playing || (state == ClientState::waiting && closed.backlog() > 0);
    if (!flows || paused) {
        return idle_interval;
    }
    const Micros period = std::min(feed.period(), idle_interval);
    // A player's packet goes with its input. The clock of the inputs may jitter; a packet in
    // between would only cost.
    const bool samples = accepted.has_slot && feed.next_wake() != never;
    return samples ? Micros{period.value + period.value / 2} : period;
}

Micros Client::Impl::next_send() const {
    if (given || urgent || last_sent.value < 0) {
        return last_sent.value < 0 ? Micros{0} : last_sent;
    }
    return std::min(last_sent + send_interval(), again_at);
}

void Client::Impl::send_due(Micros now, Outbox& out) {
    const bool is_due = given || urgent || last_sent.value < 0 ||
                        now >= last_sent + send_interval() ||
                        now >= blob_in->next_wake(); // An acknowledgement of chunks is due.
    // Both at once happens to a game that looks at the time once a tick.
    const bool is_due_again = now >= again_at;
    again_at = is_due_again ? never : again_at;
    if (is_due) {
        send_tick_packet(now, out);
    }
    if (is_due_again) {
        send_again(now, out);
    }
    send_answers(now, out);
    send_blobs(now, out);
}

void Client::Impl::send_packet(Micros now, Outbox& out) {
    if (const Result<void> sealed = sealer->seal(plaintext, datagram); !sealed) {
        close_with(now, CloseReason::timed_out, sealed.error(), false);
        return;
    }
    out.send(settings.server, datagram);
    ++status.datagrams_sent;
    status.bytes_sent += datagram.size();
}

void Client::Impl::add_small_frames(Micros now) {
    if (answers.path) {
        wire::encode_path(wire::FrameType::path_response, *answers.path, plaintext);
        answers.path.reset();
    }
    if (answers.pong) {
        wire::encode_stamp(wire::FrameType::pong, *answers.pong, plaintext);
        answers.pong.reset();
    }
    if (last_ping.value < 0 || now - last_ping >= ping_interval) {
        last_ping = now;
        wire::encode_stamp(wire::FrameType::ping, static_cast<std::uint32_t>(now.value), plaintext);
    }
    if (request.sends_left > 0 && now >= request.next_send) {
        --request.sends_left;
        request.next_send = now + status.round_trip + request_interval;
        wire::encode(request.value, plaintext);
    }
    loss_report.compose(now, *opener, plaintext);
    blob_in->compose_ack(now, plaintext);
    const bool loads = state == ClientState::loading || state == ClientState::preparing;
    const bool tells = loads || state == ClientState::waiting || now >= next_progress;
    if (tells) {
        wire::Progress progress;
        progress.loading = loads;
        progress.tick = loads ? settings.resume_from.value_or(Tick{0}).value : closed.playing();
        if (loads && snapshot) {
            progress.tick = first_tick;
        }
        wire::encode(progress, plaintext);
        next_progress = now + ping_interval;
    }
}

std::uint64_t Client::Impl::add_inputs(std::uint64_t first) {
    const InputWindow& window = feed.window();
    wire::Inputs inputs;
    inputs.ack = closed.needed();
    inputs.first_tick = first;
    inputs.has_hash = hashes.chain_to_report(
        accepted.hash_interval_ticks, inputs.ack, inputs.hash_tick, inputs.hash);
    runs.clear();
    std::uint64_t end = first;
    if (feed.started()) {
        const std::size_t used = plaintext.size() + inputs_overhead_bytes;
        const std::size_t room =
            used < wire::plaintext_bytes_max ? wire::plaintext_bytes_max - used : 0;
        end += window.encode(first, neutral, room, runs);
    }
    inputs.runs = runs;
    wire::encode_inputs(inputs, true, plaintext);
    return end;
}

void Client::Impl::send_tick_packet(Micros now, Outbox& out) {
    given = false;
    urgent = false;
    last_sent = now;
    again_at = never;
    plaintext.clear();
    add_small_frames(now);
    const bool ready = state == ClientState::waiting || state == ClientState::playing;
    if (!ready) {
        send_packet(now, out);
        return;
    }
    send_inputs(now, out);
    const bool flows = state == ClientState::playing && feed.started() && !paused;
    if (flows && settings.redundancy && redundancy.is_on(now)) {
        again_at = now + Micros{feed.period().value / 2};
    }
}

/// What the small frames have left in the packet goes first.
void Client::Impl::send_inputs(Micros now, Outbox& out) {
    const std::uint64_t first = feed.started() ? feed.window().first() : closed.needed();
    const std::uint64_t sent = add_inputs(first);
    send_packet(now, out);
    if (feed.started() && sent < feed.window().next() && is_connected()) {
        plaintext.clear();
        add_inputs(sent);
        send_packet(now, out);
    }
}

void Client::Impl::send_again(Micros now, Outbox& out) {
    if (is_connected() && feed.started() && feed.window().count() > 0) {
        plaintext.clear();
        send_inputs(now, out);
    }
}

void Client::Impl::send_answers(Micros now, Outbox& out) {
    if (answers.hashes && is_connected()) {
        wire::HashAnswer answer;
        if (hashes.answer(*answers.hashes, answer)) {
            answers.hashes.reset();
            plaintext.clear();
            wire::encode(answer, plaintext);
            send_packet(now, out);
        } else if (answers.hashes->last <= hashes.newest()) {
            answers.hashes.reset(); // Forgotten long ago: silence says so.
        }
    }
    if (answers.sections && is_connected()) {
        wire::SectionAnswer answer;
        if (hashes.answer_sections(*answers.sections, answer)) {
            plaintext.clear();
            wire::encode(answer, plaintext);
            send_packet(now, out);
        }
        if (*answers.sections <= hashes.newest()) {
            answers.sections.reset();
        }
    }
}

void Client::Impl::send_blobs(Micros now, Outbox& out) {
    while (is_connected() && blob_out && blob_out->active()) {
        plaintext.clear();
        if (!blob_out->compose(now, wire::plaintext_bytes_max, nullptr, plaintext)) {
            break;
        }
        send_packet(now, out);
    }
    if (blob_out && blob_out->active() && blob_out->overdue(now)) {
        blob_out->stop(); // The server asks again if it still wants it.
    }
}

void Client::Impl::send_close(Micros now, Outbox& out) {
    while (closes_left > 0 && now >= next_close) {
        --closes_left;
        next_close = now + close_interval;
        plaintext.clear();
        wire::encode_close(close_reason, close_text, plaintext);
        if (!sealer->seal(plaintext, datagram)) {
            closes_left = 0;
            return;
        }
        out.send(settings.server, datagram);
        ++status.datagrams_sent;
        status.bytes_sent += datagram.size();
    }
}

} // namespace twinstep::net
