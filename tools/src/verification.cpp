// SPDX-License-Identifier: MIT
// One recording: recorded hashes, fork, round trip, twice.
#include "verification.hpp"

#include "recordings.hpp"

#include "twinstep/replay/difference.hpp"
#include "twinstep/replay/playback.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace twinstep::tools {

namespace {

/// A second simulation that was loaded from the first one's snapshot and takes the same steps. What
/// a snapshot leaves out shows up as a difference.
class Fork final : public Observer {
public:
    Fork(Simulation& first, std::uint64_t every)
        : first_(first)
        , second_(first.make_another())
        , every_(every) {}

    void before(const TickBegin& begin) override {
        if (found_ || error_) {
            return;
        }
        if (begin.tick.value % every_ == 0) {
            keep(load());
        }
        if (!error_) {
            keep(second_->prepare(begin.frame));
        }
        if (!error_) {
            second_->step();
        }
    }

    void after(const StateHashes& hashes) override {
        if (!found_ && !error_ && second_->hash().state != hashes.state) {
            found_ = replay::compare_states(first_, *second_);
        }
    }

    const std::optional<Divergence>& found() const { return found_; }

    const std::optional<Error>& error() const { return error_; }

private:
    Result<void> load() {
        if (Result<void> reset = second_->reset(first_.setup()); !reset) {
            return reset;
        }
        first_.save(snapshot_);
        return second_->load(snapshot_);
    }

    void keep(Result<void> result) {
        if (!result) {
            error_ = std::move(result.error());
        }
    }

    Simulation& first_;
    std::unique_ptr<Simulation> second_;
    std::uint64_t every_;
    Bytes snapshot_;
    std::optional<Divergence> found_;
    std::optional<Error> error_;
};

/// Saves and loads in place; the hash must not move.
Result<std::optional<Divergence>> round_trip(Simulation& simulation, Bytes& snapshot) {
    const StateHashes before = simulation.hash();
    simulation.save(snapshot);
    if (Result<void> loaded = simulation.load(snapshot); !loaded) {
        return fail(loaded.error());
    }
    const StateHashes& after = simulation.hash();
    for (std::size_t i = 0; i < before.sections.size(); ++i) {
        if (before.sections[i].hash != after.sections[i].hash) {
            return Divergence{before.tick,
                              before.sections[i].name,
                              {},
                              to_hex(before.sections[i].hash),
                              to_hex(after.sections[i].hash)};
        }
    }
    return std::nullopt;
}

void diverge(Outcome& outcome, std::string_view check, const Divergence& divergence) {
    outcome.exit = Exit::divergence;
    outcome.divergence = divergence;
    outcome.failed_check = check;
}

/// Runs the driver to the end in batches, with a round trip after each.
Result<std::optional<Divergence>> run_to_end(Driver& driver,
                                             const VerificationOptions& options,
                                             std::atomic<std::uint64_t>& ticks_done) {
    constexpr std::uint64_t batch_ticks = 256;
    const std::uint64_t batch =
        options.roundtrip_every != 0 ? std::min(options.roundtrip_every, batch_ticks) : batch_ticks;
    Bytes snapshot;
    for (;;) {
        const auto advance = driver.advance(batch);
        if (!advance) {
            return fail(advance.error());
        }
        ticks_done += advance->ticks;
        const std::uint64_t tick = driver.simulation().tick().value;
        if (options.roundtrip_every != 0 && tick % options.roundtrip_every == 0) {
            auto found = round_trip(driver.simulation(), snapshot);
            if (!found || *found) {
                return found;
            }
        }
        if (advance->state != DriverState::running) {
            return std::nullopt;
        }
    }
}

/// One pass over the file. Errors: whatever keeps the file from being read or simulated.
Result<void> run_pass(const Context& context,
                      Outcome& outcome,
                      const VerificationOptions& options,
                      std::atomic<std::uint64_t>& ticks_done) {
    auto session = start_replay(context, outcome.path);
    if (!session) {
        return fail(session.error());
    }
    outcome.other_build = session->other_build;
    Simulation& simulation = *session->simulation;
    replay::Playback& playback = session->playback;
    playback.stop_at_divergence(true);
    std::optional<Fork> fork;
    if (options.fork_every != 0) {
        session->driver.add(fork.emplace(simulation, options.fork_every));
    }
    const auto round_trip_found = run_to_end(session->driver, options, ticks_done);
    if (!round_trip_found) {
        return fail(located(round_trip_found.error(), outcome.path));
    }
    if (fork && fork->error()) {
        return fail(located(*fork->error(), outcome.path));
    }
    const Tick first = *replay::first_tick(playback.reader().head());
    outcome.ticks += simulation.tick().value - first.value;
    outcome.hashes_checked += playback.verdict().hashes_checked;
    outcome.state = playback.reader().state();
    outcome.loss = playback.reader().loss();
    for (const replay::Defect& defect : playback.reader().defects()) {
        outcome.remarks.push_back(to_string(defect.error));
    }
    if (playback.verdict().divergence) {
        diverge(outcome, "recorded hash", *playback.verdict().divergence);
    } else if (fork && fork->found()) {
        diverge(outcome, "fork", *fork->found());
    } else if (*round_trip_found) {
        diverge(outcome, "round trip", **round_trip_found);
    }
    return {};
}

} // namespace

Outcome verify_recording(const Context& context,
                         const std::string& path,
                         const VerificationOptions& options,
                         std::atomic<std::uint64_t>& ticks_done) {
    Outcome outcome;
    outcome.path = path;
    outcome.exit = Exit::done;
    for (int pass = 0; pass < (options.twice ? 2 : 1) && !outcome.divergence; ++pass) {
        if (const Result<void> ran = run_pass(context, outcome, options, ticks_done); !ran) {
            outcome.exit = Context::exit_for(ran.error());
            outcome.remarks.push_back(to_string(ran.error()));
            return outcome;
        }
    }
    if (outcome.divergence) {
        outcome.remarks.push_back(
            fmt::format("{}: {}: {}", path, outcome.failed_check, to_line(*outcome.divergence)));
    } else if (outcome.hashes_checked == 0) {
        outcome.exit = Exit::nothing_checked;
        outcome.remarks.push_back(fmt::format("{}: no hash was checked", path));
    } else if (outcome.loss) {
        outcome.exit = Exit::loss;
        outcome.remarks.push_back(fmt::format("{}: {}", path, loss_line(*outcome.loss)));
    } else if (outcome.state != replay::FileState::closed) {
        outcome.exit = Exit::loss;
        outcome.remarks.push_back(fmt::format(
            "{}: {}: good to tick {}", path, replay::to_string(outcome.state), outcome.ticks));
    }
    if (outcome.other_build) {
        outcome.remarks.push_back(
            fmt::format("{}: made by another build: sim.source_digest differs", path));
    }
    return outcome;
}

} // namespace twinstep::tools
