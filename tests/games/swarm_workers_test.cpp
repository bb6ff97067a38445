// SPDX-License-Identifier: MIT
// swarm with several workers.
#include "swarm_support.hpp"

#include <memory>

using namespace twinstep;

TEST_CASE("swarm is the same with any number of workers, at each tick", "[games][swarm][unit]") {
    SwarmRun alone(11, 3, 3000);
    std::vector<std::unique_ptr<WorkerPool>> pools;
    std::vector<std::unique_ptr<SwarmRun>> runs;
    for (const std::uint32_t count : {2U, 3U, 8U}) {
        auto pool = WorkerPool::start(count);
        REQUIRE(pool);
        pools.push_back(std::move(*pool));
        runs.push_back(std::make_unique<SwarmRun>(11, 3, 3000));
        runs.back()->simulation.set_workers(pools.back().get());
    }
    for (int tick = 0; tick < 150; ++tick) {
        alone.play(1);
        const std::string expected = alone.state();
        for (const auto& run : runs) {
            run->play(1);
            CAPTURE(tick, run->simulation.workers().count());
            REQUIRE(run->state() == expected);
        }
    }
}
