// SPDX-License-Identifier: MIT
// The client's handshake, loading, timers and goodbyes against a scripted server.
#include "client_support.hpp"

#include <string>

using namespace client_test;

namespace {

std::vector<Bytes> values_of(const wire::Inputs& inputs) {
    std::vector<Bytes> values;
    wire::RunReader reader(inputs.runs, toy_neutral(), 64);
    while (!reader.at_end()) {
        const auto value = reader.next();
        REQUIRE(value);
        values.emplace_back(value->begin(), value->end());
    }
    return values;
}

} // namespace

TEST_CASE("client connects, loads the manifest, and plays when the first tick is closed",
          "[net][client]") {
    Pair pair;
    pair.connect_and_load();
    REQUIRE(pair.client.state() == ClientState::preparing);
    CHECK(pair.client.snapshot() == nullptr);
    CHECK(setup_of(pair.client.manifest())->config.at("map") == "one");
    CHECK(pair.client.has_slot());
    CHECK(pair.client.slots() == 2);
    pair.client.ready(pair.now);
    CHECK(pair.client.state() == ClientState::waiting);
    CHECK(pair.client.inputs_wanted(pair.now) == 0);

    // The lobby says that tick 0 is needed: inputs for the first ticks go out at once.
    pair.server.send_ticks(0, {}, 0, 30, pair.down);
    pair.deliver_down();
    pair.now = pair.now + milliseconds(100);
    pair.exchange();
    auto inputs = pair.last_inputs();
    REQUIRE(inputs);
    CHECK(inputs->ack == 0);
    CHECK(inputs->first_tick == 0);
    CHECK(values_of(*inputs).size() == pair.client.status().delay_ticks);
    CHECK(pair.client.inputs_wanted(pair.now) == 0);

    const Bytes closed = closed_frame(0, 2, toy_neutral());
    pair.server.send_ticks(0, {closed}, 1, 30, pair.down);
    pair.deliver_down();
    CHECK(pair.client.state() == ClientState::playing);
    REQUIRE(pair.client.inputs_wanted(pair.now) == 1);
    CHECK(pair.client.input_tick().value == pair.client.status().delay_ticks);
    pair.client.give_input(toy_input(3, true));
    CHECK(pair.client.inputs_wanted(pair.now) == 0);
    pair.exchange();
    inputs = pair.last_inputs();
    REQUIRE(inputs);
    CHECK(inputs->ack == 1);
    CHECK(inputs->first_tick == 1);
    CHECK(values_of(*inputs).back() == toy_input(3, true));

    TickFrame frame;
    CHECK(pair.client.backlog() == 1);
    CHECK(*pair.client.next(Tick{0}, frame) == Supply::ready);
    CHECK(frame.input(Slot{1}).size() == toy_neutral().size());
    CHECK(*pair.client.next(Tick{1}, frame) == Supply::not_yet);
}
