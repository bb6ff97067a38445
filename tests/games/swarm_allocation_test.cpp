// SPDX-License-Identifier: MIT
// swarm's memory in the steady state.
#include "allocation_counter.hpp"
#include "swarm_support.hpp"

TEST_CASE("a step of swarm allocates nothing once it is under way", "[games][swarm][unit]") {
    SwarmRun run(5, 4, 1000);
    run.play(100);
    const AllocationCounter allocations;
    run.play(200);
    REQUIRE(allocations.count() == 0);
}
