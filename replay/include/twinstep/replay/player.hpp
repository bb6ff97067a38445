// SPDX-License-Identifier: MIT
// Plays a recording forwards and goes to any tick of it, backwards too.
#pragma once

#include "twinstep/replay/keyframes.hpp"
#include "twinstep/replay/playback.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstdint>
#include <memory>

namespace twinstep::replay {

struct PlayerOptions {
    KeyframedOptions keyframes;
    /// Compare recorded hashes with every state that is played, and with the one that a seek leads
    /// to. Costs a state hash a tick, and one a seek.
    bool verify = true;
    /// Ticks between states that are kept in memory while playing; at least 1.
    std::uint64_t every_ticks = 64;
    /// Memory for these states, in bytes.
    std::uint64_t budget_bytes = std::uint64_t{256} << 20;
};

/// What a player has done, for reports and tests.
struct PlayerStatistics {
    std::uint64_t steps = 0;        ///< Ticks that were simulated.
    std::uint64_t stored_loads = 0; ///< Keyframes of the file or side file that were used.
    std::uint64_t memory_loads = 0; ///< States kept in memory that were used.
    std::uint64_t resets = 0;       ///< Starts from the set-up.
};

/// A recording and a simulation that is somewhere in it. The state at a tick is that of a straight
/// run, however it was reached, as long as the simulation does what the recording says: in a
/// recording that diverges, a keyframe leads to the recorded state.
/// Thread: the simulation's owner.
class Player {
public:
    /// Reads the recording once and goes to its first tick. The simulation is borrowed and belongs
    /// to the player meanwhile; the reader has not read a record yet. Requires every_ticks > 0.
    /// Errors: those of Reader and prepare_simulation. A keyframe that is wrong is no error.
    static Result<Player>
    open(Simulation& simulation, Reader reader, const PlayerOptions& options = {});

    Player(Player&&) noexcept;
    Player& operator=(Player&&) noexcept;
    ~Player();

    /// Plays up to `ticks_max` ticks; how many it were. Fewer only at the end. Errors: those of
    /// Reader and Driver.
    Result<std::uint64_t> play(std::uint64_t ticks_max);

    /// Goes to the state before the inputs of a tick, from the nearest state at hand. States on the
    /// way are not hashed; if the last one is not what was recorded, the way is taken once more to
    /// find the first that is not. Errors: wrong_tick if the recording has no such tick, and
    /// nothing has changed; as play.
    Result<void> seek(Tick tick);

    /// Goes one tick back. Errors: wrong_tick at the first tick; as play.
    Result<void> step_back();

    Tick tick() const;
    Tick first_tick() const;
    Tick end_tick() const; ///< The tick after the last one.

    /// True if the recording was made by another build of the same simulation.
    bool build_differs() const;

    /// Of everything that was compared; the first divergence stays.
    const Verdict& verdict() const;
    /// Forgets what was found, to count a part alone.
    void clear_verdict();
    /// The recording with its keyframes and what is wrong with them.
    const KeyframedRecording& recording() const;
    const PlayerStatistics& statistics() const;
    /// The states that are kept in memory.
    const KeyframeStore& store() const;

private:
    struct Impl;
    explicit Player(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace twinstep::replay
