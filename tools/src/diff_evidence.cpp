// SPDX-License-Identifier: MIT
// First the hashes, which are there for every tick; then the states, where both show one.
#include "diff_evidence.hpp"

#include "twinstep/replay/difference.hpp"
#include "twinstep/replay/errc.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace twinstep::tools {

namespace {

Error incompatible(std::string key, std::string detail) {
    return Error(replay::Errc::incompatible_simulation, std::move(key), std::move(detail));
}

/// A simulation that stands where the bundle's snapshot says.
Result<std::unique_ptr<Simulation>> stand(const Context& context, const Evidence& evidence) {
    const auto id = evidence.manifest.find("sim.id");
    const auto entry = context.find_game(id == evidence.manifest.end() ? "" : id->second);
    if (!entry) {
        return fail(incompatible("sim.id", entry.error().detail));
    }
    std::unique_ptr<Simulation> simulation = (*entry)->make();
    const auto setup = setup_of(evidence.manifest);
    if (!setup) {
        return fail(setup.error());
    }
    const auto differences =
        incompatibilities(evidence.manifest, make_manifest(simulation->info(), *setup));
    if (!differences.empty()) {
        const ManifestDifference& first = differences.front();
        return fail(incompatible(
            first.key,
            fmt::format("the bundle has {}, this command {}", first.expected, first.actual)));
    }
    if (const Result<void> reset = simulation->reset(*setup); !reset) {
        return fail(reset.error());
    }
    if (const Result<void> loaded = simulation->load(evidence.snapshot); !loaded) {
        return fail(loaded.error());
    }
    return simulation;
}

/// Looks at the hashes of the ticks that both know.
void compare_rows(const Evidence& left, const Evidence& right, EvidenceDifference& difference) {
    if (left.rows.empty() || right.rows.empty()) {
        return;
    }
    const std::uint64_t left_first = left.rows.front().hashes.tick.value;
    const std::uint64_t right_first = right.rows.front().hashes.tick.value;
    const std::uint64_t first = std::max(left_first, right_first);
    const std::uint64_t end =
        std::min(left_first + left.rows.size(), right_first + right.rows.size());
    for (std::uint64_t tick = first; tick < end; ++tick) {
        const EvidenceRow& left_row = left.rows[tick - left_first];
        const EvidenceRow& right_row = right.rows[tick - right_first];
        ++difference.ticks;
        if (!difference.input_tick && left_row.frame != right_row.frame) {
            difference.input_tick = Tick{tick - 1};
        }
        difference.state = twinstep::difference(left_row.hashes, right_row.hashes);
        if (difference.state) {
            return;
        }
    }
}

} // namespace

Result<EvidenceDifference>
compare_evidence(const Context& context, const Evidence& left, const Evidence& right) {
    const auto differences = incompatibilities(left.manifest, right.manifest);
    if (!differences.empty()) {
        const ManifestDifference& first = differences.front();
        return fail(incompatible(
            first.key, fmt::format("left has {}, right {}", first.expected, first.actual)));
    }
    EvidenceDifference difference;
    compare_rows(left, right, difference);
    if (!difference.state || !left.snapshot_tick || left.snapshot_tick != right.snapshot_tick) {
        return difference;
    }
    const auto left_simulation = stand(context, left);
    const auto right_simulation = stand(context, right);
    if (!left_simulation || !right_simulation) {
        return fail(left_simulation ? right_simulation.error() : left_simulation.error());
    }
    const auto shown = replay::compare_states(**left_simulation, **right_simulation);
    if (shown && shown->section == difference.state->section) {
        difference.shown = left.snapshot_tick;
        difference.state->field = shown->field;
        difference.state->expected = shown->expected;
        difference.state->actual = shown->actual;
    }
    return difference;
}

} // namespace twinstep::tools
