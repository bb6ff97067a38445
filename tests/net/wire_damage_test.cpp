// SPDX-License-Identifier: MIT
// Damaged datagrams: refused, or another value in its one spelling; never anything else.
#include "allocation_counter.hpp"
#include "hex.hpp"
#include "test_random.hpp"
#include "wire_samples.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::wire;

namespace {

struct Tally {
    std::size_t taken = 0;
    std::size_t refused = 0;
};

/// Throws NotCanonical, which ends the test, if bytes decode that are not what they would encode
/// to.
void count(bool up, ByteView datagram, Tally& tally) {
    (check_datagram(up, datagram, {}) ? tally.taken : tally.refused) += 1;
}

bool is_handshake(const WireSample& sample) {
    return (std::to_integer<unsigned>(sample.datagram.front()) & 0x80U) != 0;
}

} // namespace

TEST_CASE("a datagram cut at any byte is refused, or ends between two frames", "[net][damage]") {
    for (const WireSample& sample : wire_samples()) {
        INFO(sample.name);
        Tally tally;
        for (std::size_t size = 0; size < sample.datagram.size(); ++size) {
            count(sample.up, ByteView(sample.datagram).first(size), tally);
        }
        if (is_handshake(sample)) {
            REQUIRE(tally.taken == 0);
        } else {
            // An empty packet and those that end in a frame's free text or runs are whole.
            REQUIRE(tally.refused >= data_header_bytes);
        }
    }
}

TEST_CASE("a datagram with one byte more is refused unless it ends in free bytes",
          "[net][damage]") {
    for (const WireSample& sample : wire_samples()) {
        INFO(sample.name);
        for (unsigned byte = 0; byte < 256; ++byte) {
            Bytes longer = sample.datagram;
            longer.push_back(static_cast<std::byte>(byte));
            Tally tally;
            count(sample.up, longer, tally);
            if (is_handshake(sample)) {
                REQUIRE(tally.taken == 0);
            }
        }
    }
}

TEST_CASE("a datagram with any bit flipped is refused or means something else", "[net][damage]") {
    Tally tally;
    for (const WireSample& sample : wire_samples()) {
        INFO(sample.name);
        Bytes damaged = sample.datagram;
        for (std::size_t bit = 0; bit < damaged.size() * 8; ++bit) {
            damaged[bit / 8] ^= std::byte{1} << bit % 8;
            count(sample.up, damaged, tally);
            damaged[bit / 8] ^= std::byte{1} << bit % 8;
        }
    }
    CHECK(tally.refused > 10'000);
    CHECK(tally.taken > 1'000);
}

TEST_CASE("HELLO and CONNECT are refused for any bit of their padding", "[net][damage]") {
    for (const WireSample& sample : wire_samples()) {
        if (sample.name != "hello" && sample.name != "connect of a player") {
            continue;
        }
        Bytes damaged = sample.datagram;
        for (std::size_t bit = 120 * 8; bit < damaged.size() * 8; ++bit) {
            damaged[bit / 8] ^= std::byte{1} << bit % 8;
            REQUIRE_FALSE(check_datagram(true, damaged, {}));
            damaged[bit / 8] ^= std::byte{1} << bit % 8;
        }
    }
}

TEST_CASE("padding of any other byte than zero, of any length, is refused", "[net][damage]") {
    for (const unsigned value : {0U, 1U, 0xFFU}) {
        Bytes hello = wire_samples().front().datagram;
        std::fill(hello.begin() + 23, hello.end(), static_cast<std::byte>(value));
        REQUIRE(decode_hello(hello).has_value() == (value == 0));
        for (const std::size_t room : {0U, 1U, 2U, 3U}) {
            const Bytes handshake(connect_handshake_bytes_max - room, std::byte{7});
            Bytes connect;
            encode(Connect{{}, 0, 0, Mode::token, 0, handshake}, connect);
            REQUIRE(connect.size() == datagram_bytes_max);
            std::fill(connect.end() - static_cast<std::ptrdiff_t>(room),
                      connect.end(),
                      static_cast<std::byte>(value));
            REQUIRE(decode_connect(connect).has_value() == (value == 0 || room == 0));
        }
    }
}

TEST_CASE("noise and mixed-up datagrams never do anything but decode or not", "[net][damage]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const std::vector<WireSample> samples = wire_samples();
    Tally tally;
    for (int round = 0; round < 60'000; ++round) {
        const WireSample& sample = samples[random.below(samples.size())];
        Bytes bytes = sample.datagram;
        // Byte changes, a cut, and the end of another sample.
        for (std::size_t i = 0, n = random.below(4); i < n; ++i) {
            bytes[random.below(std::min<std::size_t>(bytes.size(), 64))] =
                static_cast<std::byte>(random.bits());
        }
        if (random.below(3) == 0) {
            bytes.resize(random.below(bytes.size()) + 1);
            const Bytes& other = samples[random.below(samples.size())].datagram;
            const std::size_t from = random.below(other.size());
            bytes.insert(
                bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
        }
        WireContext context;
        context.slots = static_cast<std::uint16_t>(random.below(5));
        (check_datagram(sample.up, bytes, context) ? tally.taken : tally.refused) += 1;
    }
    CHECK(tally.taken > 1'000);
    CHECK(tally.refused > 10'000);
}

TEST_CASE("a frame that goes the other way is refused", "[net]") {
    for (const WireSample& sample : wire_samples()) {
        if (sample.name == "idle inputs" || sample.name == "idle ticks" || sample.name == "hello" ||
            sample.name == "cookie" || sample.name == "stall" || sample.name == "progress") {
            INFO(sample.name);
            CHECK_FALSE(check_datagram(!sample.up, sample.datagram, {}));
        }
    }
}

TEST_CASE("refusing what strangers and peers send allocates nothing", "[net][damage]") {
    const std::vector<WireSample> samples = wire_samples();
    BundleReader bundles(2);
    const Bytes neutral(4);
    std::uint64_t refused = 0;
    const auto decode_any = [&](ByteView bytes) {
        bool taken = decode_hello(bytes) || decode_cookie(bytes) || decode_connect(bytes) ||
                     decode_accept(bytes) || decode_refuse(bytes);
        FrameReader reader(bytes.subspan(std::min(bytes.size(), data_header_bytes)));
        Frame frame;
        while (reader.next(frame).value_or(false)) {
            const auto ticks = decode_ticks(frame.body);
            taken = taken || (ticks && bundles.decode(*ticks, neutral)) ||
                    decode_inputs(frame.body) || decode_blob_offer(frame.body) ||
                    decode_blob_ack(frame.body) || decode_close(frame.body) ||
                    decode_hash_answer(frame.body) || decode_request(frame.body);
        }
        refused += taken ? 0U : 1U;
    };
    Bytes damaged;
    damaged.reserve(datagram_bytes_max);
    const auto damage_all = [&] {
        for (const WireSample& sample : samples) {
            damaged.assign(sample.datagram.begin(), sample.datagram.end());
            const std::size_t size = std::min<std::size_t>(damaged.size(), 64);
            for (std::size_t bit = 0; bit < size * 8; ++bit) {
                damaged[bit / 8] ^= std::byte{1} << bit % 8;
                decode_any(damaged);
                decode_any(ByteView(damaged).first(bit / 8));
                damaged[bit / 8] ^= std::byte{1} << bit % 8;
            }
        }
    };
    damage_all(); // The reader of bundles gets its memory: at most that of 128 ticks, once.
    const AllocationCounter counter;
    damage_all();
    const std::uint64_t allocations = counter.count();
    CHECK(allocations == 0);
    CHECK(refused > 10'000);
}
