// SPDX-License-Identifier: MIT
// Cuts a failing match down, and spells the command that repeats one.
#include "netsim_match.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace twinstep::tools::netsim {

namespace {

/// One shrinking: tries plans and keeps the smallest that fails.
class Shrinking {
public:
    Shrinking(const GameEntry& game, Plan failing, const std::function<bool(unsigned)>& still)
        : game_(game)
        , best_(std::move(failing))
        , still_(still) {}

    Plan run() {
        fewer_faults();
        fewer_peers();
        fewer_ticks();
        // With fewer peers and ticks, some of the faults may have nobody left to act on.
        fewer_faults();
        return best_;
    }

private:
    bool keep_if_failing(const Plan& plan) {
        if (over_ || (over_ = !still_(++runs_))) {
            return false;
        }
        if (run_match(game_, plan).failures.empty()) {
            return false;
        }
        best_ = plan;
        return true;
    }

    /// Delta debugging. Source: Zeller, Hildebrandt, "Simplifying and isolating failure-inducing
    /// input", IEEE TSE 28(2), 2002.
    void fewer_faults() {
        std::size_t parts = 2;
        while (!best_.faults.empty() && parts <= 2 * best_.faults.size()) {
            const std::size_t size = (best_.faults.size() + parts - 1) / parts;
            bool cut = false;
            for (std::size_t start = 0; start < best_.faults.size(); start += size) {
                Plan plan = best_;
                const auto from = plan.faults.begin() + static_cast<std::ptrdiff_t>(start);
                const auto to =
                    plan.faults.begin() +
                    static_cast<std::ptrdiff_t>(std::min(start + size, plan.faults.size()));
                plan.faults.erase(from, to);
                if (keep_if_failing(plan)) {
                    cut = true;
                    break;
                }
            }
            parts = cut ? std::max<std::size_t>(2, parts - 1) : 2 * parts;
            if (size == 1 && !cut) {
                return;
            }
        }
    }

    void fewer_peers() {
        while (best_.spectators != 0) {
            Plan plan = best_;
            plan.spectators = 0;
            if (!keep_if_failing(plan)) {
                break;
            }
        }
        for (std::uint16_t peers = 1; peers < best_.peers; ++peers) {
            Plan plan = best_;
            plan.peers = peers;
            if (keep_if_failing(plan)) {
                break;
            }
        }
    }

    void fewer_ticks() {
        while (best_.ticks >= 60) {
            Plan plan = best_;
            plan.ticks = best_.ticks / 2;
            if (!keep_if_failing(plan)) {
                break;
            }
        }
    }

    const GameEntry& game_;
    Plan best_;
    const std::function<bool(unsigned)>& still_;
    unsigned runs_ = 0;
    bool over_ = false;
};

} // namespace

Plan shrink(const GameEntry& game,
            const Plan& failing,
            const std::function<bool(unsigned)>& still) {
    return Shrinking(game, failing, still).run();
}

std::string command_for(const Plan& plan, std::string_view program, std::string_view game) {
    std::string faults;
    for (const Fault& fault : plan.faults) {
        faults += (faults.empty() ? "" : ",") + to_string(fault);
    }
    return std::string(program) + " netsim --seeds " + std::to_string(plan.seed) +
           (game == "tally" ? std::string() : " --game " + std::string(game)) + " --peers " +
           std::to_string(plan.peers) + " --spectators " + std::to_string(plan.spectators) +
           " --ticks " + std::to_string(plan.ticks) + " --faults " +
           (faults.empty() ? "none" : faults);
}

} // namespace twinstep::tools::netsim
