// SPDX-License-Identifier: MIT
// The match's public face.
#include "twinstep/net/match.hpp"

#include "match_impl.hpp"

#include "twinstep/sim/assert.hpp"

#include <utility>

namespace twinstep::net {

Match::Match(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

Match::Match(Match&&) noexcept = default;
Match& Match::operator=(Match&&) noexcept = default;
Match::~Match() = default;

Result<Match> Match::create(MatchSettings settings, MatchEvents& events, Entropy& entropy) {
    if (auto checked = check_settings(settings); !checked) {
        return fail(checked.error());
    }
    auto impl = std::make_unique<Impl>(std::move(settings), events, entropy);
    return Match(std::move(impl));
}

tl::expected<Admitted, CloseReason> Match::admit(Micros now, const Admission& admission) {
    impl_->touch();
    return impl_->admit(now, admission);
}

wire::AcceptPayload Match::accept_payload(const Admitted& admitted) const {
    return impl_->accept_payload(admitted);
}

void Match::connected(Micros now, PeerIndex peer) {
    impl_->touch();
    impl_->connected(now, peer);
}

void Match::disconnected(Micros now, PeerIndex peer, CloseReason reason) {
    impl_->touch();
    impl_->disconnected(now, peer, reason);
}

Result<void> Match::receive(Micros now, PeerIndex peer, const wire::Frame& frame) {
    return impl_->receive_counted(now, peer, frame);
}

void Match::expect(PeerIndex peer) const {
    impl_->expect(peer);
}

void Match::advance(Micros now) {
    impl_->touch();
    impl_->advance(now);
}

Micros Match::next_wake() const {
    return impl_->next_wake();
}

void Match::listen(WakeListener* listener) {
    impl_->listener = listener;
}

bool Match::compose(Micros now, PeerIndex peer, Bytes& plaintext) {
    return impl_->compose(now, peer, plaintext);
}

bool Match::next_to_close(PeerIndex& peer, CloseReason& reason, std::string& text) {
    return impl_->next_to_close(peer, reason, text);
}

void Match::give_hashes(const StateHashes& hashes) {
    impl_->touch();
    impl_->give_hashes(hashes);
}

void Match::give_snapshot(Micros now, Tick tick, ByteView snapshot) {
    impl_->touch();
    impl_->now_ = now;
    impl_->give_snapshot(tick, snapshot);
}

void Match::end(Micros now, CloseReason reason) {
    impl_->touch();
    impl_->end(now, reason);
}

void Match::pause(Micros now) {
    impl_->touch();
    impl_->request_pause(now);
}

void Match::resume(Micros now) {
    impl_->touch();
    impl_->request_resume(now);
}

const MatchSettings& Match::settings() const {
    return impl_->settings;
}

const MatchStatus& Match::status() const {
    return impl_->status;
}

Tick Match::next_tick() const {
    return impl_->timeline.next();
}

PlayerState Match::player_state(Slot slot) const {
    TWINSTEP_ASSERT(slot.value < impl_->seats.size());
    return impl_->seats[slot.value].state;
}

std::optional<Micros> Match::round_trip(Slot slot) const {
    TWINSTEP_ASSERT(slot.value < impl_->seats.size());
    const Seat& seat = impl_->seats[slot.value];
    return seat.has_peer ? impl_->peers[seat.peer].acked_after : std::nullopt;
}

std::optional<Micros> Match::input_margin(Slot slot) const {
    TWINSTEP_ASSERT(slot.value < impl_->seats.size());
    std::int32_t margin_ms = 0;
    if (!impl_->seats[slot.value].margins.least(impl_->next(), margin_ms)) {
        return std::nullopt;
    }
    return milliseconds(margin_ms);
}

bool Match::is_loading(PeerIndex peer) const {
    TWINSTEP_ASSERT(peer < impl_->peers.size());
    return impl_->peers[peer].phase == PeerPhase::loading;
}

bool Match::expects_upload(PeerIndex peer) const {
    TWINSTEP_ASSERT(peer < impl_->peers.size());
    const bool manifest = !impl_->has_session && impl_->peers[peer].receiver != nullptr;
    return manifest || (impl_->donation.active && impl_->donation.donor == peer);
}

std::size_t Match::memory_bytes() const {
    return impl_->memory_bytes();
}

} // namespace twinstep::net
