// SPDX-License-Identifier: MIT
// The client's public face.
#include "twinstep/net/client.hpp"

#include "client_impl.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::net {

namespace {

Error bad_setting(const char* key, const char* why) {
    return Error(NetErrc::bad_setting, key, why);
}

constexpr std::uint32_t request_sends = 5;

} // namespace

Result<Client> Client::create(ClientSettings settings, Entropy& entropy) {
    if (settings.mode == wire::Mode::plain && !is_loopback(settings.server)) {
        return fail(bad_setting("mode", "plain connections exist on loopback only"));
    }
    if (settings.mode != wire::Mode::plain && !has_crypto()) {
        return fail(Error(NetErrc::not_built,
                          "mode",
                          "this build has no libsodium: only plain connections on loopback"));
    }
    if (settings.mode == wire::Mode::token && !settings.token) {
        return fail(bad_setting("token", "missing"));
    }
    if (settings.server.port == 0) {
        return fail(bad_setting("server", "port 0"));
    }
    if (settings.name.size() > wire::name_bytes_max) {
        return fail(bad_setting("name", "at most 32 bytes"));
    }
    if (settings.neutral.size() > wire::neutral_bytes_max) {
        return fail(bad_setting("neutral", "at most 128 bytes"));
    }
    if (settings.simulation.id.empty()) {
        return fail(bad_setting("simulation", "has no id"));
    }
    if (settings.connect_timeout < milliseconds(1) || settings.connect_timeout > seconds(600)) {
        return fail(bad_setting("connect_timeout", "1 ms to 600 s"));
    }
    if (settings.silence_timeout < milliseconds(1) || settings.silence_timeout > seconds(600)) {
        return fail(bad_setting("silence_timeout", "1 ms to 600 s"));
    }
    if (settings.resume_from && settings.resume_from->value > tick_max) {
        return fail(bad_setting("resume_from", "beyond the last tick"));
    }
    return Client(std::make_unique<Impl>(std::move(settings), entropy));
}

Client::Client(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

void Client::receive(Micros now, const Address& from, ByteView datagram, Outbox& out) {
    impl_->receive(now, from, datagram, out);
}

void Client::advance(Micros now, Outbox& out) {
    impl_->advance(now, out);
}

Micros Client::next_wake() const {
    return impl_->next_wake();
}

ClientState Client::state() const {
    return impl_->state;
}

const ClientStatus& Client::status() const {
    return impl_->status;
}

const Error& Client::close_error() const {
    return impl_->close_error;
}

CloseReason Client::close_reason() const {
    return impl_->close_reason;
}

void Client::leave(Micros now, std::string_view why) {
    impl_->close_with(
        now, CloseReason::leaving, Error(NetErrc::closed, {}, std::string(why)), true);
}

const Manifest& Client::manifest() const {
    return impl_->manifest;
}

const JoinSnapshot* Client::snapshot() const {
    return impl_->snapshot ? &*impl_->snapshot : nullptr;
}

void Client::ready(Micros now) {
    TWINSTEP_ASSERT(impl_->state == ClientState::preparing);
    impl_->state = ClientState::waiting;
    impl_->waiting = "waiting for the match to begin";
    impl_->urgent = true;
    impl_->last_arrival = now;
    if (impl_->snapshot) {
        impl_->snapshot->bytes = Bytes(); // It may be large.
    }
    if (impl_->accepted.has_slot && impl_->accepted.next_tick == 0 && impl_->first_tick == 0) {
        // The match has not begun: the first ticks need inputs before anybody can be heard. They
        // go out with the word that we are ready, since that word may begin the match.
        impl_->feed.on_ticks(now, {});
    }
    impl_->play_if_due();
}

Tick Client::first_tick() const {
    return Tick{impl_->first_tick};
}

bool Client::has_slot() const {
    return impl_->accepted.has_slot;
}

Slot Client::slot() const {
    return impl_->accepted.slot;
}

std::uint16_t Client::slots() const {
    return impl_->accepted.slots;
}

TickRate Client::tick_rate() const {
    return impl_->accepted.tick_rate;
}

const wire::AcceptPayload& Client::accepted() const {
    return impl_->accepted;
}

ByteView Client::neutral() const {
    return impl_->neutral;
}

const wire::Random16& Client::ticket() const {
    return impl_->accepted.ticket;
}

std::uint64_t Client::inputs_wanted(Micros now) const {
    const bool plays = impl_->state == ClientState::playing || impl_->state == ClientState::waiting;
    return plays && impl_->accepted.has_slot ? impl_->feed.wanted(now) : 0;
}

Tick Client::input_tick() const {
    return Tick{impl_->feed.window().next()};
}

void Client::give_input(ByteView input) {
    TWINSTEP_ASSERT(input.size() <= impl_->accepted.input_bytes_max);
    impl_->feed.give(input);
    impl_->given = true;
}

Result<Supply> Client::next(Tick tick, TickFrame& frame) {
    Impl& impl = *impl_;
    const bool is_closed = impl.state == ClientState::closed;
    const bool plays = impl.state == ClientState::playing || impl.state == ClientState::waiting;
    if (!plays && !is_closed) {
        return Supply::not_yet;
    }
    // What has arrived before the end is played to the end, unless a snapshot came in between.
    if (impl.closed.backlog() == 0 || (is_closed && tick.value != impl.closed.playing())) {
        if (!is_closed) {
            return Supply::not_yet;
        }
        const bool is_normal = impl.close_reason == CloseReason::match_ended ||
                               impl.close_reason == CloseReason::leaving;
        return is_normal ? Result<Supply>(Supply::end) : fail(impl.close_error);
    }
    TWINSTEP_ASSERT(tick.value == impl.closed.playing());
    if (Result<void> played = impl.closed.play(frame); !played) {
        return fail(played.error());
    }
    return Supply::ready;
}

std::string_view Client::waiting_for() const {
    return impl_->waiting_text();
}

std::uint64_t Client::backlog() const {
    return impl_->closed.backlog();
}

void Client::report(const StateHashes& hashes) {
    impl_->hashes.report(hashes);
}

std::uint64_t Client::chain() const {
    return impl_->hashes.chain();
}

void Client::give_snapshot(Micros now, Tick tick, ByteView snapshot) {
    impl_->donate(now, tick, snapshot);
}

std::optional<Tick> Client::snapshot_wanted() const {
    return impl_->snapshot_wanted;
}

const std::optional<Divergence>& Client::divergence() const {
    return impl_->divergence;
}

const std::optional<DesyncVerdict>& Client::verdict() const {
    return impl_->verdict;
}

void Client::request(wire::RequestKind kind, std::uint32_t value) {
    impl_->request = {{kind, value}, request_sends, Micros{0}};
}

} // namespace twinstep::net
