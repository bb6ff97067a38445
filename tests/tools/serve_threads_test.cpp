// SPDX-License-Identifier: MIT
// The server's threads: simulations beside the network, HTTP beside both. ThreadSanitizer runs this
// too.
#include "serve_http_port.hpp"
#include "serve_log.hpp"
#include "serve_workers.hpp"
#include "toy_game.hpp"

#include "twinstep/net/udp_port.hpp"
#include "twinstep/sim/game.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace twinstep;
using namespace twinstep::tools;

namespace {

std::unique_ptr<Simulation> toy() {
    auto simulation = make_simulation<ToyGame>();
    REQUIRE(simulation->reset({1, 2, {}}));
    return simulation;
}

Bytes encoded_tick(std::uint64_t tick) {
    ToySource source(2);
    TickFrame frame;
    REQUIRE(source.next(Tick{tick}, frame));
    Bytes encoded;
    encode_frame(frame, encoded);
    return encoded;
}

/// Takes results until `done` says so, for ten seconds at most.
template <class Done>
std::vector<WorkDone> take_until(tools::Workers& workers, Done done) {
    std::vector<WorkDone> taken;
    const net::Micros end = net::monotonic_now() + net::seconds(10);
    while (!done(taken) && net::monotonic_now() < end) {
        workers.take(taken);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    REQUIRE(done(taken));
    return taken;
}

std::size_t count(const std::vector<WorkDone>& taken, WorkDone::Kind kind, net::MatchId match) {
    std::size_t found = 0;
    for (const WorkDone& done : taken) {
        found += done.kind == kind && done.match == match ? 1 : 0;
    }
    return found;
}

std::atomic<bool> gate_open = true; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

/// Its step waits for the gate.
class GatedGame {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "gated";
    static constexpr TickRate tick_rate{50};
    static constexpr std::uint16_t slots_min = 1;
    static constexpr std::uint16_t slots_max = 4;

    void reset(const Setup&) { steps_ = 0; }

    void step(const Step<Input>&) {
        while (!gate_open) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        ++steps_;
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("world", CEREAL_NVP(steps_)));
    }

private:
    std::uint32_t steps_ = 0;
};

} // namespace

TEST_CASE("matches are simulated beside their owner, each in order", "[tools][serve]") {
    constexpr std::uint64_t ticks = 200;
    std::atomic<int> wakes = 0;
    tools::Workers workers(2, [&wakes] { ++wakes; });
    for (const net::MatchId match : {1U, 2U, 3U}) {
        workers.add(match, std::make_unique<SimulatedMatch>(toy()));
    }
    auto reference = toy();
    std::vector<Hash128> expected;
    TickFrame frame;
    for (std::uint64_t tick = 0; tick < ticks; ++tick) {
        const Bytes encoded = encoded_tick(tick);
        for (const net::MatchId match : {1U, 2U, 3U}) {
            REQUIRE(workers.push(match, encoded));
        }
        REQUIRE(decode_frame(encoded, frame));
        REQUIRE(reference->prepare(frame));
        reference->step();
        expected.push_back(reference->hash().state);
    }
    REQUIRE_FALSE(workers.push(4, encoded_tick(0)));
    workers.want_snapshot(2, Tick{ticks / 2});
    for (const net::MatchId match : {1U, 2U, 3U}) {
        workers.finish(match);
    }
    const auto taken = take_until(workers, [](const auto& done) {
        return count(done, WorkDone::Kind::finished, 1) == 1 &&
               count(done, WorkDone::Kind::finished, 2) == 1 &&
               count(done, WorkDone::Kind::finished, 3) == 1;
    });
    CHECK(wakes > 0);
    for (const net::MatchId match : {1U, 2U, 3U}) {
        std::vector<Hash128> reached;
        for (const WorkDone& done : taken) {
            if (done.kind == WorkDone::Kind::stepped && done.match == match) {
                CHECK(done.hashes.tick == Tick{reached.size() + 1});
                reached.push_back(done.hashes.state);
            }
        }
        CHECK(reached == expected);
    }
    CHECK(count(taken, WorkDone::Kind::snapshot, 2) == 1);
    CHECK(workers.heartbeat_age(net::monotonic_now()) < net::seconds(2));
    CHECK(workers.stop(net::seconds(5)));
}

TEST_CASE("a tick that cannot be simulated fails its match and no other", "[tools][serve]") {
    tools::Workers workers(1, [] {});
    workers.add(1, std::make_unique<SimulatedMatch>(toy()));
    workers.add(2, std::make_unique<SimulatedMatch>(toy()));
    REQUIRE(workers.push(1, encoded_tick(5)));
    REQUIRE(workers.push(1, encoded_tick(0)));
    REQUIRE(workers.push(2, encoded_tick(0)));
    const auto taken = take_until(
        workers, [](const auto& done) { return count(done, WorkDone::Kind::stepped, 2) == 1; });
    CHECK(count(taken, WorkDone::Kind::failed, 1) == 1);
    CHECK(count(taken, WorkDone::Kind::stepped, 1) == 0);
}

TEST_CASE("hashes that nobody reads are not carried to the owner", "[tools][serve]") {
    const bool wanted = GENERATE(false, true);
    tools::Workers workers(1, [] {});
    SimulatedMatch::Options options;
    options.wants_hashes = wanted;
    workers.add(1, std::make_unique<SimulatedMatch>(toy(), std::move(options)));
    REQUIRE(workers.push(1, encoded_tick(0)));
    workers.want_snapshot(1, Tick{1});
    workers.finish(1);
    const auto taken = take_until(
        workers, [](const auto& done) { return count(done, WorkDone::Kind::finished, 1) == 1; });
    REQUIRE(taken.size() == 3);
    CHECK(taken[0].kind == WorkDone::Kind::stepped);
    CHECK(taken[0].hashes.sections.empty() != wanted);
    CHECK(taken[1].kind == WorkDone::Kind::snapshot);
    CHECK(taken[1].hashes.tick == Tick{1});
    const auto saved = hash_snapshot(taken[1].snapshot);
    REQUIRE(saved);
    // Who ends the match names its last state, whoever read the others.
    CHECK(taken[2].hashes.tick == Tick{1});
    CHECK(taken[2].hashes.state == saved->state);
}

TEST_CASE("a simulation that hangs is seen, its queue is bounded", "[tools][serve]") {
    gate_open = false;
    tools::Workers workers(1, [] {});
    auto simulation = make_simulation<GatedGame>();
    REQUIRE(simulation->reset({1, 2, {}}));
    workers.add(1, std::make_unique<SimulatedMatch>(std::move(simulation)));
    std::size_t taken = 0;
    while (taken <= tools::Workers::frames_waiting_max && workers.push(1, encoded_tick(taken))) {
        ++taken;
    }
    CHECK(taken == tools::Workers::frames_waiting_max);
    const net::Micros end = net::monotonic_now() + net::seconds(10);
    while (workers.heartbeat_age(net::monotonic_now()) < net::milliseconds(500) &&
           net::monotonic_now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    CHECK(workers.heartbeat_age(net::monotonic_now()) >= net::milliseconds(500));
    CHECK_FALSE(workers.stop(net::milliseconds(50)));
    gate_open = true;
    CHECK(workers.stop(net::seconds(10)));
}

TEST_CASE("many ask the HTTP server at once, and a silent port is given up", "[tools][serve]") {
    std::atomic<int> asked = 0;
    auto server = HttpServer::open("127.0.0.1:0", [&asked](const HttpQuestion& question) {
        ++asked;
        return HttpAnswer{200, "text/plain", std::string(question.path)};
    });
    REQUIRE(server);
    const auto port = static_cast<std::uint16_t>(
        std::stoul(server->local().substr(server->local().find(':') + 1)));
    std::atomic<int> good = 0;
    std::vector<std::thread> askers;
    for (int i = 0; i < 4; ++i) {
        askers.emplace_back([&good, port] {
            for (int n = 0; n < 10; ++n) {
                const auto answer = http_request({port, "GET", "/path?query", {}, 5000});
                good += answer && answer->status == 200 && answer->body == "/path" ? 1 : 0;
            }
        });
    }
    for (std::thread& asker : askers) {
        asker.join();
    }
    CHECK(good == 40);
    CHECK(asked == 40);
    CHECK_FALSE(HttpServer::open(server->local(), nullptr));
    auto silent = net::UdpPort::open({{*net::parse_address("127.0.0.1:0")}});
    REQUIRE(silent);
    CHECK_FALSE(http_request({silent->local().at(0).port, "GET", "/", {}, 200}));
}

TEST_CASE("threads write to one log without tearing its lines", "[tools][serve]") {
    std::string all;
    Log log(
        LogLevel::info,
        false,
        [&all](std::string_view line) { all += line; },
        [] { return std::int64_t{1'700'000'000'000}; });
    std::vector<std::thread> writers;
    for (int i = 0; i < 4; ++i) {
        writers.emplace_back([&log] {
            for (int n = 0; n < 100; ++n) {
                log.error("event", {{"key", "value"}});
            }
        });
    }
    for (std::thread& writer : writers) {
        writer.join();
    }
    const std::string line = "2023-11-14T22:13:20.000Z error event key=value\n";
    CHECK(all.size() == 400 * line.size());
    CHECK(all.substr(399 * line.size()) == line);
}
