// SPDX-License-Identifier: MIT
// Match's members for tests of the host alone. The library's own are in an archive and stay there.
#include "session_fake_match.hpp"

#include <memory>

using twinstep::net::MatchId;

namespace {

std::map<MatchId, FakeMatch>& matches() {
    static std::map<MatchId, FakeMatch> all;
    return all;
}

} // namespace

FakeMatch& fake_match(MatchId id) {
    return matches()[id];
}

void forget_fake_matches() {
    matches().clear();
}

namespace twinstep::net {

struct Match::Impl {
    MatchSettings settings;
    MatchStatus status;

    FakeMatch& fake() const { return fake_match(settings.id); }
};

Match::Match(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

Match::Match(Match&&) noexcept = default;
Match& Match::operator=(Match&&) noexcept = default;
Match::~Match() = default;

Result<Match> Match::create(MatchSettings settings, MatchEvents&, Entropy&) {
    return Match(std::make_unique<Impl>(Impl{std::move(settings), {}}));
}

tl::expected<Admitted, CloseReason> Match::admit(Micros, const Admission& admission) {
    FakeMatch& fake = impl_->fake();
    ++fake.admissions;
    fake.last_admission = admission;
    fake.last_name = admission.name;
    fake.last_admission.name = fake.last_name;
    if (fake.refusal != CloseReason::none) {
        return tl::unexpected(fake.refusal);
    }
    fake.taken.resize(fake.seats_max);
    fake.frames_of.resize(fake.seats_max);
    for (std::uint16_t i = 0; i < fake.seats_max; ++i) {
        if (!fake.taken[i]) {
            fake.taken[i] = true;
            Admitted admitted;
            admitted.peer = i;
            admitted.has_slot = admission.role == Role::player && i < impl_->settings.slots;
            admitted.slot = Slot{admitted.has_slot ? i : std::uint16_t{0}};
            return admitted;
        }
    }
    return tl::unexpected(CloseReason::full);
}

wire::AcceptPayload Match::accept_payload(const Admitted& admitted) const {
    wire::AcceptPayload payload;
    payload.match_id = impl_->settings.id;
    payload.has_slot = admitted.has_slot;
    payload.slot = admitted.slot;
    payload.slots = impl_->settings.slots;
    payload.tick_rate = impl_->settings.tick_rate;
    payload.ticket = admitted.ticket;
    payload.neutral = impl_->settings.neutral;
    return payload;
}

void Match::connected(Micros, PeerIndex peer) {
    impl_->fake().connected.push_back(peer);
}

void Match::disconnected(Micros, PeerIndex peer, CloseReason reason) {
    impl_->fake().disconnected.push_back({peer, reason});
    impl_->fake().taken[peer] = false;
}

Result<void> Match::receive(Micros, PeerIndex peer, const wire::Frame&) {
    FakeMatch& fake = impl_->fake();
    ++fake.frames;
    ++fake.frames_of[peer];
    return fake.receive_result;
}

void Match::advance(Micros) {
    ++impl_->fake().advances;
    impl_->fake().wake = never;
}

Micros Match::next_wake() const {
    return impl_->fake().wake.time;
}

void Match::expect(PeerIndex) const {}

void Match::listen(WakeListener* listener) {
    impl_->fake().wake.listener = listener;
}

bool Match::compose(Micros, PeerIndex peer, Bytes& plaintext) {
    FakeMatch& fake = impl_->fake();
    const auto found = fake.to_send.find(peer);
    if (found == fake.to_send.end() || found->second.empty()) {
        return false;
    }
    plaintext.assign(found->second.front().begin(), found->second.front().end());
    found->second.pop_front();
    return true;
}

bool Match::next_to_close(PeerIndex& peer, CloseReason& reason, std::string& text) {
    FakeMatch& fake = impl_->fake();
    if (fake.to_close.empty()) {
        return false;
    }
    peer = fake.to_close.front().peer;
    reason = fake.to_close.front().reason;
    text = fake.to_close.front().text;
    fake.to_close.pop_front();
    return true;
}

void Match::give_hashes(const StateHashes&) {}

void Match::give_snapshot(Micros, Tick, ByteView) {}

void Match::end(Micros, CloseReason) {
    impl_->status.ended = true;
}

void Match::pause(Micros) {}

void Match::resume(Micros) {}

const MatchSettings& Match::settings() const {
    return impl_->settings;
}

const MatchStatus& Match::status() const {
    impl_->status.speed_per_mille = impl_->fake().speed_per_mille;
    return impl_->status;
}

Tick Match::next_tick() const {
    return Tick{0};
}

PlayerState Match::player_state(Slot) const {
    return PlayerState::live;
}

bool Match::is_loading(PeerIndex) const {
    return impl_->fake().loading;
}

bool Match::expects_upload(PeerIndex) const {
    return impl_->fake().uploading;
}

std::size_t Match::memory_bytes() const {
    return 0;
}

} // namespace twinstep::net
