// SPDX-License-Identifier: MIT
// The typed adapter: step, hash, save, load.
#include "toy_game.hpp"

#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;

TEST_CASE("a snapshot's bytes hash to the state hash", "[sim][unit]") {
    auto simulation = make_simulation<ToyGame>();
    REQUIRE(simulation->reset({7, 2, {}}));
    ToySource source(2);
    Driver driver(*simulation, source);
    REQUIRE(driver.advance(50));
    Bytes snapshot;
    simulation->save(snapshot);
    const auto hashes = hash_snapshot(snapshot);
    REQUIRE(hashes);
    REQUIRE(hashes->state == simulation->hash().state);
    REQUIRE(hashes->sections.size() == simulation->hash().sections.size());
}

TEST_CASE("the schema names every field of a state", "[sim][unit]") {
    const auto simulation = make_simulation<ToyGame>();
    REQUIRE(simulation->info().input_schema == "{dx:i8,dy:i8,turn:u16,fire:bool}");
    REQUIRE(simulation->info().state_schema ==
            "random={draws:{seed:u64,count:u64}},"
            "bodies={bodies:[{x:i32,y:i32,angle:u16,shots:u16}]},"
            "world={cells:[u32],heat:f32,mode:u8,last:optional[i16],log:map[i32,text]}");
}
