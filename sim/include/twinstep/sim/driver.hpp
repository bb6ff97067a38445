// SPDX-License-Identifier: MIT
// The one loop: a source in front, the simulation in the middle, observers behind.
#pragma once

#include "twinstep/sim/float_environment.hpp"
#include "twinstep/sim/frame.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/simulation.hpp"
#include "twinstep/sim/types.hpp"
#include "twinstep/sim/world_guard.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace twinstep {

/// What a source has for a tick.
enum class Supply : std::uint8_t {
    ready,   ///< The frame is filled in.
    not_yet, ///< The inputs of this tick are not known yet; ask again later.
    end,     ///< There is no such tick.
};

/// Where the inputs of a tick come from: a player, a recording, a server, a bot.
class Source {
public:
    virtual ~Source() = default;

    /// Fills in the frame of `tick`. The driver asks for each tick in order, again after not_yet.
    /// Errors: anything; the driver stops and hands it on.
    virtual Result<Supply> next(Tick tick, TickFrame& frame) = 0;

    /// Why the last answer was not_yet, for people.
    virtual std::string_view waiting_for() const { return {}; }

    /// What it is, for messages.
    virtual std::string_view name() const { return "the source"; }
};

/// What an observer sees before a step.
struct TickBegin {
    Tick tick;
    const TickFrame& frame;    ///< Decoded again from `encoded`: what the step consumes.
    ByteView encoded;          ///< The frame's one encoding.
    const StateHashes& hashes; ///< Of state `tick`, before these inputs.
};

/// Somebody who looks: a recorder, a verifier, a hash reporter. Observers never change the state.
class Observer {
public:
    virtual ~Observer() = default;

    /// Called before the step of begin.tick.
    virtual void before(const TickBegin& begin) { static_cast<void>(begin); }

    /// Called after a step with the hashes of the state it led to; hashes.tick is that state.
    virtual void after(const StateHashes& hashes) { static_cast<void>(hashes); }

    /// What it is, for messages.
    virtual std::string_view name() const { return "an observer"; }
};

/// Why advance returned.
enum class DriverState : std::uint8_t {
    running, ///< All the ticks that were asked for are done.
    waiting, ///< The source says not_yet.
    ended,   ///< The source has no more ticks.
};

/// How far advance came.
struct Advance {
    std::uint64_t ticks = 0; ///< Steps taken in this call.
    DriverState state = DriverState::running;
};

/// Moves a simulation from tick to tick. Everything that enters the simulation enters here.
/// Thread: the simulation's owner.
class Driver {
public:
    /// Both are borrowed and must outlive the driver. The simulation has been reset or loaded.
    Driver(Simulation& simulation, Source& source)
        : simulation_(simulation)
        , source_(source)
        , guard_(simulation, true) {}

    /// Adds a borrowed observer. Without observers nothing is hashed.
    void add(Observer& observer) { observers_.push_back(&observer); }

    /// Compares the state before and after each call of source and observers, at ticks that `ticks`
    /// divides: 1 for every tick, 0 for none. A call costs two snapshots then.
    void watch_every(std::uint32_t ticks) { watch_ticks_ = ticks; }

    /// Takes up to `ticks_max` steps. Errors: the source's, an input the simulation cannot decode
    /// (nothing of that tick was observed or stepped), bad_float_environment after a step that
    /// changed the thread's floating-point mode, or state_changed, naming source or observer, where
    /// that was watched for.
    /// The thread's own mode is put back on return, whatever happened to it meanwhile.
    /// Determinism: the states depend on the frames only, never on how the calls are cut.
    Result<Advance> advance(std::uint64_t ticks_max);

    Simulation& simulation() { return simulation_; }

private:
    Result<void> take(TickFrame& frame, const FloatEnvironmentGuard& guard);
    Result<void> show(const StateHashes& hashes);
    template <class Called, class Work>
    Result<void> call(const Called& called, Tick tick, const Work& work);

    Simulation& simulation_;
    Source& source_;
    WorldGuard guard_;
    std::uint32_t watch_ticks_ = watch_ticks_default();
    std::vector<Observer*> observers_;
    TickFrame offered_;
    TickFrame decoded_;
    Bytes encoded_;
};

} // namespace twinstep
