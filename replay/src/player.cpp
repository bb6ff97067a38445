// SPDX-License-Identifier: MIT
// The player: the nearest good state, and then steps.
#include "twinstep/replay/player.hpp"

#include "keyframe_recording.hpp"

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/driver.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace twinstep::replay {

struct Player::Impl {
    Impl(Simulation& played, KeyframedRecording keyframed, const PlayerOptions& player_options)
        : simulation(played)
        , recording(std::move(keyframed))
        , options(player_options)
        , driver(played, recording.playback().source())
        , quiet_driver(played, recording.playback().source())
        , store(player_options.budget_bytes) {
        if (options.verify) {
            driver.add(recording.playback().verifier());
        }
    }

    Simulation& simulation;
    KeyframedRecording recording;
    PlayerOptions options;
    Driver driver;
    Driver quiet_driver; ///< Nobody looks, so nothing is hashed.
    KeyframeStore store;
    PlayerStatistics statistics;
    bool build_differs = false;
    /// The simulation is not where the recording was last played to: a load or reset has failed.
    bool lost = false;
    Bytes snapshot;

    Result<void> restart();
    Result<bool> load_stored(Tick target, std::optional<Tick> after);
    Result<bool> load_memory(Tick target, std::optional<Tick> after);
    Result<void> approach(Tick target);
    Result<void> go(Tick target, bool dense);
    Result<void> arrive(Tick target, bool dense, Driver& with);
    Result<void> prove(Tick target);
    Result<std::uint64_t> run(Tick target, bool dense, Driver& with);
    void keep();
};

Result<void> Player::Impl::restart() {
    lost = true;
    const Result<bool> differs = recording.prepare(simulation);
    if (!differs) {
        return fail(differs.error());
    }
    build_differs = *differs;
    ++statistics.resets;
    if (auto gone = recording.go(simulation.tick()); !gone) {
        return gone;
    }
    lost = false;
    return {};
}

/// Uses the last keyframe of file or side file that is at most `target`, later than `after` and
/// good. True if there was one.
Result<bool> Player::Impl::load_stored(Tick target, std::optional<Tick> after) {
    while (const std::optional<std::size_t> index = recording.find(target, after)) {
        bool changed = false;
        if (load_keyframe(recording, simulation, *index, changed)) {
            ++statistics.stored_loads;
            lost = false;
            return true;
        }
        if (changed) {
            lost = true;
            return false;
        }
    }
    return false;
}

Result<bool> Player::Impl::load_memory(Tick target, std::optional<Tick> after) {
    for (auto found = store.find(target); found != store.entries().end();
         found = store.find(target)) {
        const Tick tick = found->first;
        if (after && tick <= *after) {
            return false;
        }
        const KeyframeInfo info{
            tick, found->second.state, found->second.snapshot.size(), 0, {}, std::nullopt};
        lost = true;
        bool changed = false;
        if (load_checked(simulation, info, found->second.snapshot, changed)) {
            lost = false;
            ++statistics.memory_loads;
            return true;
        }
        // A simulation that does not load what it saved. The recorded hashes tell the rest.
        store.drop(tick);
    }
    return false;
}

/// Goes to the nearest state at hand that is at most `target`.
Result<void> Player::Impl::approach(Tick target) {
    std::optional<Tick> best;
    if (!lost && simulation.tick() <= target) {
        best = simulation.tick();
    }
    std::optional<Tick> memory = best;
    if (const auto kept = store.find(target); kept != store.entries().end()) {
        memory = std::max(memory.value_or(kept->first), kept->first);
    }
    // Memory is nearer than disk: only a later keyframe is worth reading.
    const Result<bool> from_file = load_stored(target, memory);
    if (!from_file) {
        return fail(from_file.error());
    }
    if (!*from_file) {
        const Result<bool> from_memory = load_memory(target, lost ? std::nullopt : best);
        if (!from_memory) {
            return fail(from_memory.error());
        }
        if (!*from_memory && (lost || !best)) {
            // Without memory an earlier keyframe may still do.
            const Result<bool> earlier = load_stored(target, std::nullopt);
            if (!earlier) {
                return fail(earlier.error());
            }
            if (!*earlier) {
                return restart();
            }
        }
    }
    return recording.go(simulation.tick());
}

void Player::Impl::keep() {
    const Tick tick = simulation.tick();
    if (store.contains(tick) || options.budget_bytes == 0) {
        return;
    }
    simulation.save(snapshot);
    // Bytes that lie in a row are hashed faster than the state.
    if (const Result<StateHashes> hashes = hash_snapshot(snapshot)) {
        store.add(tick, hashes->state, snapshot, tick);
    }
}

/// Plays up to a tick and keeps states on the way; dense: more of them the nearer the target is, so
/// that going back from it tick by tick costs a few steps each.
Result<std::uint64_t> Player::Impl::run(Tick target, bool dense, Driver& with) {
    std::uint64_t played = 0;
    const std::uint64_t every = options.every_ticks;
    while (simulation.tick() < target) {
        const std::uint64_t now = simulation.tick().value;
        const std::uint64_t left = target.value - now;
        std::uint64_t count = std::min(left, every - now % every);
        if (dense && left > 1 && left <= every) {
            count = std::min(count, left - std::bit_floor(left - 1));
        }
        const Result<Advance> advance = with.advance(count);
        if (!advance) {
            return fail(advance.error());
        }
        played += advance->ticks;
        statistics.steps += advance->ticks;
        if (advance->ticks < count) {
            break;
        }
        const std::uint64_t rest = target.value - simulation.tick().value;
        const bool near = dense && rest > 0 && rest < every && std::has_single_bit(rest);
        if (near || simulation.tick().value % every == 0) {
            keep();
        }
    }
    return played;
}

/// Goes to the nearest state at hand and plays the rest.
Result<void> Player::Impl::arrive(Tick target, bool dense, Driver& with) {
    if (auto near = approach(target); !near) {
        return near;
    }
    const Result<std::uint64_t> played = run(target, dense, with);
    if (!played) {
        return fail(played.error());
    }
    if (simulation.tick() != target) {
        return fail(Error(Errc::wrong_tick, "tick", "the recording has become shorter"));
    }
    return {};
}

/// Compares where a way without a verifier has led to. If that is wrong, the way is taken again,
/// from a state that was proved, to find the first tick that is.
Result<void> Player::Impl::prove(Tick target) {
    Playback& playback = recording.playback();
    if (playback.verdict().divergence) {
        return {};
    }
    const auto compared = playback.compare(simulation.hash());
    if (!compared || !playback.verdict().divergence) {
        return compared ? Result<void>{} : fail(compared.error());
    }
    playback.clear_verdict();
    store.clear();
    lost = true;
    if (auto again = arrive(target, false, driver); !again) {
        return again;
    }
    const auto again = playback.compare(simulation.hash());
    return again ? Result<void>{} : fail(again.error());
}

Result<void> Player::Impl::go(Tick target, bool dense) {
    if (!lost && simulation.tick() == target) {
        return {};
    }
    const auto arrived = arrive(target, dense, quiet_driver);
    return arrived && options.verify ? prove(target) : arrived;
}

Player::Player(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

Player::Player(Player&&) noexcept = default;
Player& Player::operator=(Player&&) noexcept = default;
Player::~Player() = default;

Result<Player> Player::open(Simulation& simulation, Reader reader, const PlayerOptions& options) {
    TWINSTEP_ASSERT(options.every_ticks > 0);
    Result<KeyframedRecording> recording =
        KeyframedRecording::open(std::move(reader), options.keyframes);
    if (!recording) {
        return fail(recording.error());
    }
    auto impl = std::make_unique<Impl>(simulation, std::move(*recording), options);
    if (auto started = impl->restart(); !started) {
        return fail(started.error());
    }
    impl->statistics = {};
    return Player(std::move(impl));
}

Result<std::uint64_t> Player::play(std::uint64_t ticks_max) {
    Impl& impl = *impl_;
    if (impl.lost) {
        return fail(Error(Errc::wrong_tick, "tick", "go to a tick first: the last seek failed"));
    }
    const Tick end = impl.recording.end_tick();
    const Tick now = impl.simulation.tick();
    const std::uint64_t left = now < end ? end.value - now.value : 0;
    return impl.run(now + std::min(ticks_max, left), false, impl.driver);
}

Result<void> Player::seek(Tick tick) {
    Impl& impl = *impl_;
    if (tick < first_tick() || tick > end_tick()) {
        return fail(Error(Errc::wrong_tick,
                          "tick",
                          std::to_string(tick.value) + " is not from " +
                              std::to_string(first_tick().value) + " to " +
                              std::to_string(end_tick().value)));
    }
    return impl.go(tick, false);
}

Result<void> Player::step_back() {
    const Tick now = tick();
    if (now <= first_tick()) {
        return fail(Error(Errc::wrong_tick, "tick", "there is no tick before the first"));
    }
    return impl_->go(Tick{now.value - 1}, true);
}

Tick Player::tick() const {
    return impl_->simulation.tick();
}

Tick Player::first_tick() const {
    return impl_->recording.first_tick();
}

Tick Player::end_tick() const {
    return impl_->recording.end_tick();
}

bool Player::build_differs() const {
    return impl_->build_differs;
}

const Verdict& Player::verdict() const {
    return impl_->recording.playback().verdict();
}

void Player::clear_verdict() {
    impl_->recording.playback().clear_verdict();
}

const KeyframedRecording& Player::recording() const {
    return impl_->recording;
}

const PlayerStatistics& Player::statistics() const {
    return impl_->statistics;
}

const KeyframeStore& Player::store() const {
    return impl_->store;
}

} // namespace twinstep::replay
