// SPDX-License-Identifier: MIT
// Runs and bundles: round trips, sizes, limits.
#include "hex.hpp"
#include "test_random.hpp"
#include "wire_support.hpp"

#include "twinstep/net/wire.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::wire;

TEST_CASE("a sequence of runs comes back value by value", "[net][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (int round = 0; round < 2000; ++round) {
        const Bytes neutral = random_bytes(random, random.below(40));
        const std::vector<Bytes> values = random_values(random, 1 + random.below(128));
        Bytes runs;
        RunWriter writer(runs, neutral);
        for (const Bytes& value : values) {
            writer.add(value);
        }
        const std::size_t announced = writer.finished_bytes();
        writer.finish();
        REQUIRE(runs.size() == announced);
        RunReader reader(runs, neutral, input_bytes_max);
        for (const Bytes& value : values) {
            REQUIRE_FALSE(reader.at_end());
            const auto read = reader.next();
            REQUIRE(text_of(read) == "ok");
            REQUIRE(to_hex_text(*read) == to_hex_text(value));
        }
        REQUIRE(reader.at_end());
        REQUIRE(reader.rest().empty());
    }
}

TEST_CASE("a bundle gives the same frames, as many as fit, in one encoding", "[net][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    BundleWriter writer;
    Bytes body;
    Bytes again;
    std::size_t whole = 0;
    std::size_t cut = 0;
    std::size_t nothing = 0;
    for (int round = 0; round < 1500; ++round) {
        const auto slots = static_cast<std::uint16_t>(random.below(match_slots_max + 1));
        const std::uint64_t first = random.bits() >> (2 + random.below(60));
        const std::vector<Bytes> frames =
            random_frames(random, first, slots, 1 + random.below(140), random.below(8));
        const std::vector<ByteView> views(frames.begin(), frames.end());
        const Bytes neutral = random_bytes(random, random.below(16));
        const std::size_t limit = random.below(4) == 0 ? random.below(300) : 1150;
        const auto taken = writer.encode(views, neutral, limit, body);
        REQUIRE(text_of(taken) == "ok");
        REQUIRE(body.size() <= limit);
        (*taken == 0                                           ? nothing
         : *taken == std::min<std::size_t>(frames.size(), 128) ? whole
                                                               : cut) += 1;
        if (*taken == 0) {
            REQUIRE(body.empty());
            continue;
        }
        Ticks ticks;
        ticks.first_tick = first;
        ticks.count = static_cast<std::uint8_t>(*taken);
        ticks.body = body;
        BundleReader reader(slots);
        REQUIRE(text_of(reader.decode(ticks, neutral)) == "ok");
        for (std::size_t i = 0; i < *taken; ++i) {
            again.clear();
            encode_frame(reader.frame(i), again);
            REQUIRE(to_hex_text(again) == to_hex_text(frames[i]));
        }
        if (*taken < std::min<std::size_t>(frames.size(), 128)) {
            // One more would not have fitted.
            BundleWriter other;
            const auto more = other.encode(views, neutral, SIZE_MAX, again);
            REQUIRE(more);
            const auto exact =
                other.encode(std::span(views).first(*taken + 1), neutral, SIZE_MAX, again);
            REQUIRE(*exact == *taken + 1);
            REQUIRE(again.size() > limit);
        }
    }
    REQUIRE(whole > 100);
    REQUIRE(cut > 100);
    REQUIRE(nothing > 5);
}

TEST_CASE("a bundle refuses the frames that decode_frame refuses", "[net][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    BundleWriter writer;
    TickFrame frame;
    Bytes body;
    std::size_t refused = 0;
    std::size_t taken = 0;
    for (int round = 0; round < 4000; ++round) {
        const auto slots = static_cast<std::uint16_t>(random.below(6));
        Bytes bytes = random_frames(random, random.below(1000), slots, 1, 60).front();
        for (std::size_t i = 0, n = random.below(3); i < n; ++i) {
            bytes[random.below(bytes.size())] ^= std::byte{1} << random.below(8);
        }
        bytes.resize(bytes.size() - random.below(2));
        const ByteView view(bytes);
        const auto decoded = decode_frame(bytes, frame);
        const auto encoded = writer.encode(std::span(&view, 1), {}, SIZE_MAX, body);
        if (decoded && frame.slot_count() > match_slots_max) {
            continue;
        }
        REQUIRE(encoded.has_value() == decoded.has_value());
        (decoded ? taken : refused) += 1;
    }
    CHECK(refused > 1000);
    CHECK(taken > 1000);
}
