// SPDX-License-Identifier: MIT
// Evidence bundles: what a machine's state was at a tick, for `diff` to compare with another's.
#pragma once

#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/manifest.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

namespace twinstep::tools {

/// Keeps snapshots of the newest states within a budget, so that the state that a verdict names can
/// still be shown. A wrong state cannot be computed again from the inputs: it has to be kept.
/// Thread: the driver's.
class EvidenceRing final : public Observer {
public:
    /// Usual: marine's states of some seconds are 2 MiB; a state of 5 MB is kept for 2 s.
    static constexpr std::size_t budget_bytes_usual = std::size_t{256} << 20U;
    /// At 60 Hz 17 s: a verdict takes a hash interval and two round trips.
    static constexpr std::size_t states_max = 1024;

    /// The simulation is borrowed and has been reset or loaded.
    explicit EvidenceRing(Simulation& simulation, std::size_t budget_bytes = budget_bytes_usual);

    void after(const StateHashes& hashes) override;

    /// True if the state of this tick is kept.
    bool has(Tick tick) const;
    /// Writes the bundle of this tick to a file that must not exist yet. Errors: wrong_tick if the
    /// state is no longer kept; already_exists, io_error.
    Result<void> write(const std::string& path, Tick tick) const;

private:
    struct Entry {
        Tick tick;
        Bytes snapshot;
    };

    Simulation& simulation_;
    std::size_t budget_bytes_;
    std::size_t bytes_ = 0;
    std::deque<Entry> entries_;
};

/// A bundle that was read.
struct Evidence {
    Manifest manifest;
    Tick tick;
    Bytes snapshot;
};

/// True if the file begins as a bundle does.
bool is_evidence(const std::string& path);
/// Reads a bundle. Errors: io_error; truncated, malformed, limit_exceeded, trailing_bytes with the
/// path and the offset.
Result<Evidence> read_evidence(const std::string& path);

} // namespace twinstep::tools
