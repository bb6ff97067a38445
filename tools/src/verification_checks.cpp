// SPDX-License-Identifier: MIT
// Fork, workers, rollback and round trip beside one pass.
#include "verification_checks.hpp"

#include "strange_memory.hpp"
#include "strange_surroundings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace twinstep::tools {

namespace {

/// Saves and loads in place; the hash must not move.
Result<std::optional<Divergence>> save_and_load(Simulation& simulation, Bytes& snapshot) {
    const StateHashes before = simulation.hash();
    simulation.save(snapshot);
    if (Result<void> loaded = simulation.load(snapshot); !loaded) {
        return fail(loaded.error());
    }
    return difference(before, simulation.hash());
}

} // namespace

Result<std::unique_ptr<PassChecks>> PassChecks::start(Driver& driver,
                                                      const VerificationOptions& options) {
    std::unique_ptr<PassChecks> checks(new PassChecks(driver, options));
    if (options.fork_every != 0) {
        checks->add({"fork", fmt::format("--fork-every {}", options.fork_every), {}, {}, {}},
                    options.fork_every);
    }
    if (auto added = checks->add_workers(); !added) {
        return fail(added.error());
    }
    checks->add_memory();
    if (options.perturb) {
        checks->add_surroundings();
    }
    if (options.rollback_every != 0) {
        driver.add(checks->rollback_.emplace(
            driver.simulation(),
            replay::RollbackOptions{options.rollback_every, options.rollback_depth, options.seed}));
    }
    return checks;
}

void PassChecks::add(Beside beside, std::uint64_t reload_every) {
    Beside& kept = beside_.emplace_back(std::move(beside));
    kept.companion = std::make_unique<replay::Companion>(
        driver_.simulation(),
        replay::CompanionOptions{reload_every, kept.pool.get(), kept.circumstance.get()});
    driver_.add(*kept.companion);
}

/// One companion for each number of workers from 2 on: the driven simulation is alone.
Result<void> PassChecks::add_workers() {
    for (std::uint32_t count = 2; count <= options_.workers_each; ++count) {
        auto pool = WorkerPool::start(count);
        if (!pool) {
            return fail(pool.error());
        }
        add({fmt::format("{} workers", count),
             fmt::format("--workers-each {}", count),
             std::move(*pool),
             {},
             {}});
    }
    return {};
}

void PassChecks::add_memory() {
    if (options_.poison) {
        constexpr std::array<std::uint8_t, 2> patterns{0x5A, 0xA5};
        for (const std::uint8_t pattern : patterns) {
            add({"poison", "--poison", {}, std::make_unique<PoisonedMemory>(pattern), {}});
        }
    }
    if (options_.shuffle) {
        add({"shuffle",
             fmt::format("--shuffle --seed {}", options_.seed),
             {},
             std::make_unique<ShuffledMemory>(options_.seed),
             {}});
    }
}

void PassChecks::add_surroundings() {
    auto surroundings = std::make_unique<StrangeSurroundings>();
    if (!surroundings->has_locale()) {
        remarks_.emplace_back("--perturb: no locale with a decimal comma is installed: the "
                              "locale was left alone");
    }
    add({"perturb", "--perturb", {}, std::move(surroundings), {}});
}

std::uint64_t PassChecks::ticks_to_next(std::uint64_t most) const {
    if (options_.roundtrip_every != 0) {
        const std::uint64_t past = driver_.simulation().tick().value % options_.roundtrip_every;
        most = std::min(most, options_.roundtrip_every - past);
    }
    return rollback_ ? std::min(most, rollback_->ticks_to_next()) : most;
}

Result<bool> PassChecks::round_trip() {
    Simulation& simulation = driver_.simulation();
    if (options_.roundtrip_every == 0 || simulation.tick().value % options_.roundtrip_every != 0) {
        return true;
    }
    auto found = save_and_load(simulation, snapshot_);
    if (!found) {
        return fail(found.error());
    }
    if (*found) {
        found_ = Finding{
            "round trip", fmt::format("--roundtrip-every {}", options_.roundtrip_every), **found};
    }
    return !*found;
}

Result<bool> PassChecks::arrive(bool at_end) {
    if (rollback_) {
        auto found = rollback_->arrive(at_end);
        if (!found) {
            return fail(found.error());
        }
        if (*found) {
            found_ = Finding{"rollback",
                             fmt::format("--rollback-every {}:{} --seed {}",
                                         options_.rollback_every,
                                         options_.rollback_depth,
                                         options_.seed),
                             **found};
            return false;
        }
    }
    return round_trip();
}

Result<std::optional<Finding>> PassChecks::outcome() const {
    std::optional<Finding> first = found_;
    for (const Beside& beside : beside_) {
        if (beside.companion->error()) {
            return fail(*beside.companion->error());
        }
        const auto& found = beside.companion->found();
        if (found && (!first || found->tick < first->divergence.tick)) {
            first = Finding{beside.check, beside.options, *found};
        }
    }
    return first;
}

} // namespace twinstep::tools
