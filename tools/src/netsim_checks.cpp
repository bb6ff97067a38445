// SPDX-License-Identifier: MIT
// What must hold at the end of a simulated match.
#include "netsim_run.hpp"

#include "twinstep/replay/playback.hpp"
#include "twinstep/replay/reader.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace twinstep::tools::netsim {

using net::Micros;
using net::milliseconds;

namespace {

/// Reports of wrong hashes that a server must have needed at most to say so: some check intervals,
/// and the search after them.
constexpr std::uint64_t lies_until_named = 600;

std::string hex_of(ByteView bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::byte byte : bytes) {
        text += digits[std::to_integer<unsigned>(byte) >> 4U];
        text += digits[std::to_integer<unsigned>(byte) & 0xFU];
    }
    return text;
}

} // namespace

void MatchRun::capture_datagram(const net::Delivery& delivery) {
    constexpr std::size_t capture_lines_max = 20'000;
    if (capture_.size() < capture_lines_max) {
        capture_.push_back((delivery.to == 0 ? "up " : "down ") + hex_of(delivery.bytes));
    }
}

void MatchRun::check_liveness() {
    // What the slowest link and the widest frame leave open.
    const std::uint64_t behind_max = 60;
    for (const std::unique_ptr<PeerNode>& each : peers_) {
        if (!each->is_expected() || each->was_full() || each->closed_as(net::CloseReason::full)) {
            continue;
        }
        if (!each->is_playing() && each->waits_for_snapshot(now_)) {
            continue;
        }
        if (!each->is_playing()) {
            world_.fail(now_, "not live again: " + each->describe());
            continue;
        }
        const std::uint64_t delay_ticks =
            each->role() == net::Role::spectator
                ? static_cast<std::uint64_t>(world_.plan.spectator_delay.value) * world_.rate.num /
                      world_.rate.den / 1'000'000
                : 0;
        if (each->tick() + behind_max + delay_ticks < world_.truth.frames.size()) {
            world_.fail(now_, "lags behind at the end: " + each->describe());
        }
        const bool is_live =
            !each->slot() || host_->match().player_state(*each->slot()) == net::PlayerState::live;
        if (!is_live) {
            world_.fail(now_,
                        "the server says " +
                            std::string(to_string(host_->match().player_state(*each->slot()))) +
                            " of " + each->describe());
        }
    }
}

void MatchRun::check_blame() {
    std::set<std::uint16_t> liars;
    for (const std::unique_ptr<PeerNode>& each : peers_) {
        liars.insert(each->slots_lied_in().begin(), each->slots_lied_in().end());
    }
    std::set<std::uint16_t> named;
    for (const Blamed& blamed : host_->blamed()) {
        if (!blamed.slot || blamed.blame != net::wire::Blame::peer) {
            continue;
        }
        named.insert(blamed.slot->value);
        if (!liars.contains(blamed.slot->value)) {
            world_.fail(blamed.at,
                        "slot " + std::to_string(blamed.slot->value) +
                            " is blamed and did not lie, tick " +
                            std::to_string(blamed.tick.value));
        }
    }
    for (const std::unique_ptr<PeerNode>& each : peers_) {
        // Without a simulation of its own, the server needs more honest players than half.
        const bool has_judge = world_.plan.authority == net::Authority::simulation;
        const bool is_named =
            std::any_of(each->slots_lied_in().begin(),
                        each->slots_lied_in().end(),
                        [&named](std::uint16_t slot) { return named.contains(slot); });
        if (has_judge && each->lies_told() > lies_until_named && !is_named) {
            world_.fail(now_, "lied and was not named: " + each->describe());
        }
    }
}

void MatchRun::check_bounds() {
    // 32 KiB for each peer; the match keeps two minutes of ticks and at most two snapshots.
    const std::size_t peers = nodes_.size();
    Bytes snapshot;
    host_->simulation().save(snapshot);
    const std::size_t bound = peers * 32 * 1024 + (std::size_t{6} << 20U) + 4 * snapshot.size();
    if (host_->memory_max() > bound) {
        world_.fail(now_,
                    "the server holds " + std::to_string(host_->memory_max()) +
                        " bytes, more than " + std::to_string(bound));
    }
    std::uint64_t frames = 0;
    std::uint64_t hashes = 0;
    for (const std::unique_ptr<PeerNode>& each : peers_) {
        each->finish_numbers();
        frames += each->numbers().frames_compared;
        hashes += each->numbers().hashes_compared;
    }
    if (frames == 0 || hashes == 0 || world_.truth.frames.empty()) {
        world_.fail(now_, "nothing was checked: no tick or no state was compared");
    }
    if (host_->late_closes() != 0 && world_.plan.policy == net::Policy::deadline &&
        world_.server_frozen_until.value < 0) {
        world_.fail(now_, std::to_string(host_->late_closes()) + " ticks were closed too late");
    }
}

void MatchRun::check_recording() {
    const Result<Bytes> bytes = host_->finish_recording();
    if (!bytes) {
        world_.fail(now_, "the recording: " + to_string(bytes.error()));
        return;
    }
    auto reader = replay::Reader::from_memory(*bytes, replay::ReadMode::strict);
    if (!reader) {
        world_.fail(now_, "the recording: " + to_string(reader.error()));
        return;
    }
    for (;;) {
        const Result<replay::Record> record = reader->next();
        if (!record) {
            world_.fail(now_, "the recording: " + to_string(record.error()));
            return;
        }
        if (record->kind == replay::RecordKind::end) {
            break;
        }
        if (record->kind != replay::RecordKind::tick) {
            continue;
        }
        const std::uint64_t tick = record->tick.tick.value;
        if (tick >= world_.truth.frames.size() ||
            checksum64(record->tick.encoded) != world_.truth.frames[tick]) {
            world_.fail(now_, "the recording has other bytes for tick " + std::to_string(tick));
            return;
        }
        ++recording_frames_;
    }
    if (recording_frames_ != world_.truth.frames.size()) {
        world_.fail(now_,
                    "the recording has " + std::to_string(recording_frames_) + " ticks of " +
                        std::to_string(world_.truth.frames.size()));
    }
    const auto simulation = world_.game.make();
    auto again = replay::Reader::from_memory(*bytes, replay::ReadMode::strict);
    const auto verified = replay::verify(*simulation, std::move(*again));
    if (!verified) {
        world_.fail(now_, "the recording cannot be verified: " + to_string(verified.error()));
        return;
    }
    recording_hashes_ = verified->hashes_checked;
    if (verified->divergence || verified->hashes_checked == 0 ||
        verified->final_hash != world_.truth.states.back()) {
        world_.fail(now_, "the recording does not lead to the states of the match");
    }
}

void MatchRun::fill(MatchReport& report) {
    report.ticks = world_.truth.frames.size();
    report.frames_compared = recording_frames_;
    report.recording_hashes = recording_hashes_;
    for (const std::unique_ptr<PeerNode>& each : peers_) {
        report.peers.push_back(each->numbers());
        report.frames_compared += each->numbers().frames_compared;
        report.hashes_compared += each->numbers().hashes_compared;
    }
    report.verdicts = host_->blamed();
    report.status = host_->match().status();
    report.packets = world_.network.count(net::Fate::sent);
    report.memory_bytes_max = host_->memory_max();
    if (steady_from_ != 0) {
        report.steady_ticks = steady_until_ - steady_from_;
        report.datagrams_up = after_.datagrams_received - before_.datagrams_received;
        report.datagrams_down = after_.datagrams_sent - before_.datagrams_sent;
        report.bytes_up = after_.bytes_received - before_.bytes_received;
        report.bytes_down = after_.bytes_sent - before_.bytes_sent;
    }
    report.capture = std::move(capture_);
}

} // namespace twinstep::tools::netsim
