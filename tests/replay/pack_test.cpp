// SPDX-License-Identifier: MIT
// Packing and unpacking: nothing is lost, nothing that is damaged is believed.
#include "recording_support.hpp"
#include "test_random.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::replay;

TEST_CASE("a packed session unpacks to the same bytes", "[replay][unit][pack]") {
    const Bytes open = record_toy({1500, 3});
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(open, ReadMode::strict);
    REQUIRE(reader);
    auto report = pack(*reader, std::make_unique<MemorySink>(plan));
    REQUIRE(report);
    CHECK(plan->file.size() < open.size());
    auto again = Reader::from_memory(plan->file, ReadMode::strict);
    REQUIRE(again);
    auto unpacked = std::make_shared<SinkPlan>();
    auto undone = unpack(*again, std::make_unique<MemorySink>(unpacked));
    INFO((undone ? std::string() : to_string(undone.error())));
    REQUIRE(undone);
    CHECK(unpacked->file == open);
}
