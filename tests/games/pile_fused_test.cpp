// SPDX-License-Identifier: MIT
// The planted fault: the same game with fused multiply-add must not pass for the exact one.
#include "pile_support.hpp"

#include <catch2/catch.hpp>

using namespace pile_test;

TEST_CASE("pile built with fused multiply-add misses the committed hash", "[pile][golden]") {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("fma") || !__builtin_cpu_supports("avx2")) {
        WARN("this CPU has no fused multiply-add; nothing was tried");
        return;
    }
#endif
    Simulation simulation;
    REQUIRE(simulation.reset(setup(golden_seed)).has_value());
    REQUIRE(advance_bot(simulation, golden_ticks));
    CHECK(hash_of(simulation) != golden_hash);
}
