// SPDX-License-Identifier: MIT
// Checks of one run against itself: a second simulation that goes along under other circumstances,
// and a simulation that goes back and takes the same steps again.
#pragma once

#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/simulation.hpp"
#include "twinstep/sim/types.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace twinstep::replay {

/// What is different for a companion while it is set up, loaded and stepped.
class Circumstance {
public:
    Circumstance() = default;
    virtual ~Circumstance() = default;
    Circumstance(const Circumstance&) = delete;
    Circumstance& operator=(const Circumstance&) = delete;

    /// Begins and ends it, on the thread that steps. Neither throws.
    virtual void enter() = 0;
    virtual void leave() = 0;
};

/// How a companion differs from the simulation that it goes along with.
struct CompanionOptions {
    std::uint64_t reload_every = 0; ///< Every so many ticks it is set up anew and loads; 0: never.
    Workers* workers = nullptr;     ///< Take the parts of its steps; borrowed. Null: it is alone.
    Circumstance* circumstance = nullptr; ///< Borrowed; null: none.
};

/// A second simulation that takes the same steps as the driven one and must come to the same
/// states, the first included: it is set up as that was, and loads its state only if that is not
/// state 0, or at a reload. To be added to the driver. Cost: a second step and hash at each tick.
/// Thread: the driver's.
class Companion final : public Observer {
public:
    /// The simulation is borrowed, and is the driven one.
    explicit Companion(Simulation& first, const CompanionOptions& options);

    void before(const TickBegin& begin) override;
    void after(const StateHashes& hashes) override;

    std::string_view name() const override { return "the companion"; }

    /// The first difference, down to the field: `expected` is of the driven simulation. The
    /// companion stops there.
    const std::optional<Divergence>& found() const { return found_; }

    /// What the companion refused: it stops there too.
    const std::optional<Error>& error() const { return error_; }

private:
    Result<void> start(bool load);
    template <class Work>
    bool keep(const Work& work);
    void compare(const StateHashes& hashes);

    Simulation& first_;
    std::unique_ptr<Simulation> second_;
    CompanionOptions options_;
    bool started_ = false;
    Bytes snapshot_;
    std::optional<Divergence> found_;
    std::optional<Error> error_;
};

/// When and how far a simulation is rolled back.
struct RollbackOptions {
    std::uint64_t every = 1;     ///< Windows begin at ticks that it divides, one after the other.
    std::uint32_t depth_max = 8; ///< Ticks of a window: 1 to this, drawn from seed and tick.
    std::uint64_t seed = 1;
};

/// Takes the driven simulation back by a random number of ticks and through the same steps again;
/// each state must be what it was the first time. What `load` does not replace, such as a cache,
/// shows as a difference. To be added to the driver, and given control between its calls:
///     driver.advance(rollback.ticks_to_next());
///     rollback.arrive();
/// Cost: each tick of a window is stepped twice, hashed twice and saved once.
/// Memory: depth_max snapshots. Thread: the driver's.
class RollbackCheck final : public Observer {
public:
    /// The simulation is borrowed, and is the driven one. Requires every and depth_max >= 1.
    RollbackCheck(Simulation& simulation, const RollbackOptions& options);

    /// Ticks that the driver may take before the next arrive(), at least 1 after an arrive().
    std::uint64_t ticks_to_next() const;

    /// Ends a window whose last tick has come, or, at the end of a run, any; begins the next one if
    /// it is time to. The simulation is in the same state afterwards, or else a difference is
    /// returned: the first one, down to the field, `expected` being of the first time.
    /// Errors: what the simulation refuses, though it took the same before.
    Result<std::optional<Divergence>> arrive(bool at_end = false);

    void before(const TickBegin& begin) override;
    void after(const StateHashes& hashes) override;

    std::string_view name() const override { return "the rollback check"; }

    /// Ticks that were stepped again.
    std::uint64_t ticks_again() const { return ticks_again_; }

private:
    /// A tick of the window as it went the first time.
    struct Past {
        Bytes frame;
        Bytes state; ///< That the tick led to.
        Hash128 hash;
    };

    void begin_window();
    Result<std::optional<Divergence>> go_back();
    Result<std::optional<Divergence>> compare(const Bytes& state, const Hash128& hash);

    Simulation& simulation_;
    RollbackOptions options_;
    bool open_ = false;
    Tick first_;
    std::uint64_t depth_ = 0;
    Bytes start_;
    Hash128 start_hash_;
    std::size_t count_ = 0; ///< Of `past_` that are of this window.
    std::vector<Past> past_;
    std::uint64_t ticks_again_ = 0;
};

} // namespace twinstep::replay
