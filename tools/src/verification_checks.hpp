// SPDX-License-Identifier: MIT
// The checks of verify that go along with one pass over a recording.
#pragma once

#include "verification.hpp"

#include "twinstep/replay/checks.hpp"
#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/workers.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twinstep::tools {

/// What a check found.
struct Finding {
    std::string check;   ///< "fork", "rollback", ...
    std::string options; ///< Those of verify that find it again.
    Divergence divergence;
};

/// The checks of one pass. Thread: the driver's.
class PassChecks {
public:
    /// Adds what was asked for to the driver. Errors: the system's, if it has no thread to give.
    static Result<std::unique_ptr<PassChecks>> start(Driver& driver,
                                                     const VerificationOptions& options);

    /// Ticks that the driver may take until arrive(): 1 to `most`.
    std::uint64_t ticks_to_next(std::uint64_t most) const;

    /// Does what is to be done between two ticks. False: something was found, and the run is over.
    /// Errors: what the simulation refuses, though it took the same before.
    Result<bool> arrive(bool at_end);

    /// What a check could not do, one line each.
    const std::vector<std::string>& remarks() const { return remarks_; }

    /// The first that was found, or what a companion refused.
    Result<std::optional<Finding>> outcome() const;

private:
    PassChecks(Driver& driver, const VerificationOptions& options)
        : driver_(driver)
        , options_(options) {}

    /// A companion, and what it goes along with.
    struct Beside {
        std::string check;
        std::string options;
        std::unique_ptr<WorkerPool> pool;
        std::unique_ptr<replay::Circumstance> circumstance;
        std::unique_ptr<replay::Companion> companion;
    };

    void add(Beside beside, std::uint64_t reload_every = 0);
    Result<void> add_workers();
    void add_memory();
    void add_surroundings();
    Result<bool> round_trip();

    Driver& driver_;
    VerificationOptions options_;
    std::deque<Beside> beside_;
    std::optional<replay::RollbackCheck> rollback_;
    std::optional<Finding> found_; ///< Between two ticks.
    std::vector<std::string> remarks_;
    Bytes snapshot_;
};

} // namespace twinstep::tools
