// SPDX-License-Identifier: MIT
// The network's numbers: what relaying costs, what a player sends, and what loss does to inputs.
//   net_bench [--json] [relay] [forged] [traffic] [loss]   default: all of them
#include "net/loss.hpp"
#include "net/relay.hpp"
#include "report.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <thread>

namespace {

using namespace bench;

using Measure = LossResult (*)(const Link&, std::uint64_t);

/// One kind of loss, and the three transports over it.
struct Trial {
    std::string_view name;
    Link link;
    std::uint64_t seed = 0;
    double bound_percent = 0;
    std::array<LossResult, 3> results;
};

constexpr std::array<std::string_view, 3> transports{"twinstep", "ENet reliable", "TCP"};

void show(const Trial& trial) {
    for (std::size_t i = 0; i < trial.results.size(); ++i) {
        const LossResult& result = trial.results[i];
        if (result.lateness) {
            fmt::print(stderr,
                       "{}, {}: {} ticks, {:.2f} % late by 50 ms, 99 of 100 within {:.0f} ms, "
                       "longest {:.0f} ms\n",
                       trial.name,
                       transports[i],
                       result.lateness->ticks,
                       result.lateness->late_50_percent,
                       result.lateness->p99_ms,
                       result.lateness->max_ms);
        } else {
            fmt::print(stderr,
                       "{}, {}: not measured here: {}\n",
                       trial.name,
                       transports[i],
                       result.why_not);
        }
    }
}

/// All rows run at once, so that whatever else this machine does meets all of them.
bool loss_rows(Report& report) {
    std::array<Trial, 2> trials{
        {{"5 % loss", {}, 11, 0.0, {}}, {"5 % loss in bursts", {}, 23, 3.0, {}}}};
    trials[1].link.burst_mean = 4.0;
    constexpr std::array<Measure, 3> measures{measure_twinstep, measure_enet, measure_tcp};
    std::vector<std::thread> threads;
    for (Trial& trial : trials) {
        for (std::size_t i = 0; i < measures.size(); ++i) {
            threads.emplace_back([&trial, i, measure = measures[i]] {
                trial.results[i] = measure(trial.link, trial.seed);
            });
        }
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const Trial& trial : trials) {
        show(trial);
        if (!trial.results[0].lateness) {
            fmt::print(stderr, "{}: {}\n", trial.name, trial.results[0].why_not);
            return false;
        }
        for (std::size_t i = 1; i < trial.results.size(); ++i) {
            const auto& other = trial.results[i].lateness;
            const double late = trial.results[0].lateness->late_50_percent;
            report.add({fmt::format("{}: ticks > 50 ms late, {}", trial.name, transports[i]),
                        late,
                        other ? other->late_50_percent : std::nan(""),
                        "%",
                        late,
                        Goal::at_most,
                        trial.bound_percent});
        }
    }
    return true;
}

} // namespace

int main(int argc, char** argv) {
    Report report(argc, argv);
    bool chosen = false;
    const auto wanted = [&](std::string_view part) {
        for (int i = 1; i < argc; ++i) {
            chosen = chosen || argv[i][0] != '-';
        }
        return !chosen || std::find(argv + 1, argv + argc, part) != argv + argc;
    };
    const bool measured = (!wanted("relay") || (relay_rows(report) && lateness_row(report))) &&
                          (!wanted("forged") || forged_rows(report)) &&
                          (!wanted("traffic") || traffic_rows(report)) &&
                          (!wanted("loss") || loss_rows(report));
    return measured ? report.print() : 1;
}
