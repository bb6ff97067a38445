// SPDX-License-Identifier: MIT
// The numbers that the protocol promises, measured in whole matches and printed.
#include "marine/demo_lump.hpp"
#include "marine/wad.hpp"
#include "netsim_game.hpp"
#include "netsim_match.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

using namespace twinstep;
using namespace twinstep::tools;
using namespace twinstep::tools::netsim;
using net::Micros;
using net::milliseconds;

namespace {

const GameEntry& tally() {
    static const GameEntry entry = entry_for<Tally>();
    return entry;
}

/// A match without faults beyond those of its links.
Plan plain_plan(std::uint16_t peers, std::uint64_t ticks, std::uint64_t seed = 1) {
    PlanOptions options;
    options.peers = peers;
    options.spectators = 0;
    options.ticks = ticks;
    options.has_faults = true;
    Plan plan = make_plan(seed, tally().make()->info(), options);
    plan.mode = net::wire::Mode::room_key;
    plan.policy = net::Policy::deadline;
    plan.authority = net::Authority::simulation;
    plan.filler = net::Filler::repeat_last;
    plan.grace = milliseconds(50);
    plan.hash_interval_ticks = 16;
    plan.slots = peers;
    plan.setup.slots = peers;
    plan.setup.config.clear();
    return plan;
}

BaseLink both_ways(const net::LinkConditions& link) {
    return {link, link};
}

std::string all_of(const MatchReport& report) {
    std::string text;
    for (const std::string& failure : report.failures) {
        text += "\n  " + failure;
    }
    return text;
}

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Shares of the ticks of all peers.
struct Late {
    std::uint64_t timed = 0;
    double down = 0; ///< At the peer more than 50 ms after the fastest one, once closed.
    double up = 0;   ///< Inputs that were not at the server 50 ms after they were due.
    double both = 0; ///< At the peer more than 50 ms after the fastest one, since due.
};

/// Adds up the runs of some seeds.
class LateSum {
public:
    void add(const MatchReport& report) {
        for (const PeerNumbers& peer : report.peers) {
            timed_ += peer.ticks_timed;
            down_ += peer.late_50ms;
            up_ += peer.substituted;
            both_ += peer.late_50ms_since_due;
        }
    }

    Late late() const {
        return {timed_, share(down_, timed_), share(up_, timed_), share(both_, timed_)};
    }

private:
    std::uint64_t timed_ = 0;
    std::uint64_t down_ = 0;
    std::uint64_t up_ = 0;
    std::uint64_t both_ = 0;
};

void print(const char* link, std::uint64_t seed, const Late& late, const MatchReport& report) {
    std::printf(
        "%s, seed %d, %d ticks: late on the way down %.2f %%, inputs late %.2f %%, end to end "
        "%.2f %%; input delay %d ticks\n",
        link,
        static_cast<int>(seed),
        static_cast<int>(late.timed),
        100 * late.down,
        100 * late.up,
        100 * late.both,
        static_cast<int>(report.peers.front().delay_ticks));
}

/// What two Freedoom demos have in their ticcmds: forward, side, upper half of the turn, buttons.
std::vector<std::vector<Bytes>> human_inputs() {
    std::vector<std::vector<Bytes>> all;
    for (const char* name : {"DEMO1", "DEMO2"}) {
        const auto lump = games::read_wad_lump("/usr/share/games/doom/freedoom1.wad", name);
        const auto demo = lump ? games::parse_demo(*lump) : fail(lump.error());
        if (!demo) {
            return {};
        }
        std::vector<Bytes> inputs;
        for (std::size_t i = 0; i < demo->inputs.size(); i += demo->players) {
            const games::Marine::Input& input = demo->inputs[i];
            inputs.push_back({static_cast<std::byte>(input.forward),
                              static_cast<std::byte>(input.side),
                              static_cast<std::byte>(input.turn >> 8),
                              static_cast<std::byte>(input.buttons)});
        }
        all.push_back(std::move(inputs));
    }
    return all;
}

/// Plays the link with six seeds, prints each, and returns the lateness of all together.
Late late_over_seeds(const char* name, const net::LinkConditions& link) {
    MatchOptions options;
    options.link = both_ways(link);
    LateSum sum;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const MatchReport report = run_match(tally(), plain_plan(2, 10'800, seed), options);
        INFO("seed " << seed << all_of(report));
        CHECK(report.failures.empty());
        sum.add(report);
        LateSum one;
        one.add(report);
        print(name, seed, one.late(), report);
    }
    return sum.late();
}

} // namespace

TEST_CASE("5 % loss at 50 +- 10 ms makes no tick late", "[net][netsim][numbers]") {
    const Late late = late_over_seeds(
        "5 % loss, 50 +- 10 ms",
        {.delay = milliseconds(50), .jitter = milliseconds(10), .loss_ppm = 50'000});
    // Each tick twice: five losses in a row, and a sixth or its jitter, make a tick 50 ms late.
    // That is one tick in 15 million.
    CHECK(late.timed > 120'000);
    CHECK(late.down == 0);
    CHECK(late.up == 0);
    CHECK(late.both == 0);
}

TEST_CASE("5 % loss in bursts of four makes at most 3 % late", "[net][netsim][numbers]") {
    const Late late = late_over_seeds("5 % in bursts of 4, 50 +- 10 ms",
                                      {.delay = milliseconds(50),
                                       .jitter = milliseconds(10),
                                       .burst_ppm = 50'000,
                                       .burst_packets = 4});
    CHECK(late.timed > 120'000);
    CHECK(late.down <= 0.03);
    CHECK(late.up <= 0.03);
    CHECK(late.both <= 0.03);
}

TEST_CASE("a state of 1 MiB is joined in 6 s while nobody else sees a late tick",
          "[net][netsim][numbers]") {
    // Within the first half minute a newcomer simulates everything from state 0 instead.
    Plan plan = plain_plan(4, 60 * 44);
    plan.setup.config["ballast_kib"] = "1024";
    plan.faults.push_back({FaultKind::late, 4, net::seconds(32), {}, 0});
    MatchOptions options;
    options.record = false; // Another run over states of this size, checked elsewhere.
    options.link = both_ways({.delay = milliseconds(25), .jitter = milliseconds(5)});
    const MatchReport report = run_match(tally(), plan, options);
    INFO(all_of(report));
    CHECK(report.failures.empty());
    REQUIRE(report.peers.size() == 4);
    const PeerNumbers& joiner = report.peers[3];
    std::printf("join of 1 MiB: %.2f s from the first HELLO to playing, %.0f bytes of snapshot\n",
                static_cast<double>(joiner.join_time_max.value) / 1e6,
                static_cast<double>(report.status.snapshot_bytes));
    CHECK(joiner.joins == 1);
    CHECK(joiner.join_time_max < net::seconds(6));
    CHECK(report.status.snapshot_bytes >= std::uint64_t{1} << 20U);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(report.peers[i].ticks_timed > 500);
        CHECK(report.peers[i].late_50ms == 0);
    }
}

TEST_CASE("two players at 60 Hz cost 64 bytes a tick and link, 40 when idle",
          "[net][netsim][numbers]") {
    Plan plan = plain_plan(2, 2'400);
    plan.hash_interval_ticks = 1;
    MatchOptions options;
    options.link = both_ways({.delay = milliseconds(50)});
    const std::vector<std::vector<Bytes>> human = human_inputs();
    const bool is_idle = GENERATE(false, true);
    options.inputs = [&human, is_idle](std::uint16_t peer, Tick tick, Bytes& target) {
        if (is_idle) {
            target = tally().neutral;
        } else if (human.empty()) {
            Random random(1, tick, peer);
            tally().bot(random, tick, Slot{peer}, target);
        } else {
            const std::vector<Bytes>& inputs = human[peer % human.size()];
            target = inputs[tick.value % inputs.size()];
        }
    };
    const MatchReport report = run_match(tally(), plan, options);
    INFO(all_of(report));
    CHECK(report.failures.empty());
    REQUIRE(report.steady_ticks > 2'000);
    const auto per_tick = [&report](std::uint64_t value) {
        return static_cast<double>(value) / (2.0 * static_cast<double>(report.steady_ticks));
    };
    for (const bool is_up : {true, false}) {
        const double datagrams = per_tick(is_up ? report.datagrams_up : report.datagrams_down);
        const double bytes = per_tick(is_up ? report.bytes_up : report.bytes_down);
        const double with_headers = 60 * (bytes + 28 * datagrams) / 1'000;
        std::printf("%s, %s: %.1f B of payload and %.3f datagrams a tick and link, %.2f kB/s with "
                    "headers\n",
                    is_idle         ? "idle"
                    : human.empty() ? "bot"
                                    : "Freedoom demos",
                    is_up ? "up" : "down",
                    bytes,
                    datagrams,
                    with_headers);
        CHECK(bytes <= (is_idle ? 40.0 : 64.0));
        CHECK(datagrams <= 1.0);
        CHECK(with_headers <= 5.7);
    }
}
