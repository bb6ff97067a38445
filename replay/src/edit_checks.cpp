// SPDX-License-Identifier: MIT
// What can go wrong on one machine: states that do not hold everything, runs that are not equal.
#include "twinstep/replay/bisect.hpp"
#include "twinstep/replay/difference.hpp"
#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/driver.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace twinstep::replay {

namespace {

/// A second simulation that takes the same steps and is given a state every so many ticks: the
/// first one's, or its own.
class Shadow final : public Observer {
public:
    Shadow(Simulation& first, std::unique_ptr<Simulation> second, const DivergenceCheck& check)
        : first_(first)
        , second_(std::move(second))
        , check_(check) {}

    void before(const TickBegin& begin) override {
        if (found_) {
            return;
        }
        if (begin.tick.value % check_.every == 0) {
            Simulation& from = check_.kind == DivergenceCheck::Kind::fork ? first_ : *second_;
            from.save(snapshot_);
            if (auto loaded = second_->load(snapshot_); !loaded) {
                return diverge(begin.tick, "load", loaded.error());
            }
        }
        if (auto prepared = second_->prepare(begin.frame); !prepared) {
            return diverge(begin.tick + 1, "prepare", prepared.error());
        }
        second_->step();
    }

    void after(const StateHashes& hashes) override {
        if (!found_ && second_->hash().state != hashes.state) {
            found_ = compare_states(first_, *second_);
        }
    }

    const std::optional<Divergence>& found() const { return found_; }

private:
    void diverge(Tick tick, const char* field, const Error& error) {
        found_ = Divergence{tick, {}, field, "done", to_string(error)};
    }

    Simulation& first_;
    std::unique_ptr<Simulation> second_;
    const DivergenceCheck& check_;
    Bytes snapshot_;
    std::optional<Divergence> found_;
};

/// Keeps the hashes of a run and compares those of another.
class HashTrack final : public Observer {
public:
    void before(const TickBegin& begin) override { take(begin.hashes); }

    /// The state in which the run ends.
    void take(const StateHashes& hashes) {
        if (found_) {
            return;
        }
        const std::size_t width = 1 + hashes.sections.size();
        if (!comparing_) {
            kept_.push_back(hashes.state);
            for (const SectionHash& section : hashes.sections) {
                kept_.push_back(section.hash);
            }
            return;
        }
        if (next_ + width > kept_.size()) {
            return;
        }
        const Hash128* const expected = &kept_[next_];
        next_ += width;
        if (expected[0] == hashes.state) {
            return;
        }
        found_ = Divergence{
            hashes.tick, {}, {}, twinstep::to_hex(expected[0]), twinstep::to_hex(hashes.state)};
        for (std::size_t i = 0; i < hashes.sections.size(); ++i) {
            if (expected[1 + i] != hashes.sections[i].hash) {
                found_->section = hashes.sections[i].name;
                found_->expected = twinstep::to_hex(expected[1 + i]);
                found_->actual = twinstep::to_hex(hashes.sections[i].hash);
                return;
            }
        }
    }

    void compare_from_now() { comparing_ = true; }

    const std::optional<Divergence>& found() const { return found_; }

private:
    std::vector<Hash128> kept_;
    std::size_t next_ = 0;
    bool comparing_ = false;
    std::optional<Divergence> found_;
};

Result<std::optional<Divergence>> run_twice(const Simulation& kind, const InputChoice& choice) {
    HashTrack track;
    for (int pass = 0; pass < 2; ++pass) {
        const Result<std::unique_ptr<Simulation>> simulation = choice.inputs().make(kind);
        if (!simulation) {
            return fail(simulation.error());
        }
        const std::unique_ptr<Source> source = choice.open();
        Driver driver(**simulation, *source);
        driver.add(track);
        if (const Result<Advance> advance = driver.advance(UINT64_MAX); !advance) {
            return fail(advance.error());
        }
        track.take((*simulation)->hash());
        track.compare_from_now();
    }
    return track.found();
}

} // namespace

Result<std::optional<Divergence>>
run_check(const Simulation& kind, const InputChoice& choice, const DivergenceCheck& check) {
    TWINSTEP_ASSERT(check.every > 0);
    if (check.kind == DivergenceCheck::Kind::twice) {
        return run_twice(kind, choice);
    }
    const Result<std::unique_ptr<Simulation>> first = choice.inputs().make(kind);
    Result<std::unique_ptr<Simulation>> second = choice.inputs().make(kind);
    if (!first || !second) {
        return fail(first ? second.error() : first.error());
    }
    const std::unique_ptr<Source> source = choice.open();
    Driver driver(**first, *source);
    Shadow shadow(**first, std::move(*second), check);
    driver.add(shadow);
    constexpr std::uint64_t batch_ticks = 64;
    while (!shadow.found()) {
        const Result<Advance> advance = driver.advance(batch_ticks);
        if (!advance) {
            return fail(advance.error());
        }
        if (advance->state != DriverState::running) {
            break;
        }
    }
    return shadow.found();
}

} // namespace twinstep::replay
