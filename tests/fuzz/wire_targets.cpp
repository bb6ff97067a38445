// SPDX-License-Identifier: MIT
// The codec of the lockstep protocol: whatever decodes is the one encoding of its value.
#include "fuzz_targets.hpp"
#include "hex.hpp"
#include "test_random.hpp"
#include "wire_samples.hpp"
#include "wire_support.hpp"

#include <algorithm>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::wire;

namespace {

/// Runs a check; a value with two spellings is a broken promise, an error of the bytes is none.
template <class Check>
void promise(Check check) {
    try {
        static_cast<void>(check());
    } catch (const NotCanonical& problem) {
        broken_promise(problem.what);
    }
}

/// Takes a byte off the front: settings of a target come before the bytes it decodes.
unsigned take_byte(ByteView& bytes) {
    if (bytes.empty()) {
        return 0;
    }
    const auto value = std::to_integer<unsigned>(bytes.front());
    bytes = bytes.subspan(1);
    return value;
}

/// A neutral input of `size` bytes that are not all zero.
Bytes neutral_of(std::size_t size) {
    Bytes neutral(size);
    for (std::size_t i = 0; i < size; ++i) {
        neutral[i] = static_cast<std::byte>(i * 3);
    }
    return neutral;
}

WireContext context_of(ByteView& bytes) {
    WireContext context;
    context.slots = static_cast<std::uint16_t>(take_byte(bytes) % (match_slots_max + 1));
    const unsigned size = take_byte(bytes);
    context.neutral = neutral_of(size % (neutral_bytes_max + 1));
    context.input_bytes_max = std::max<std::size_t>(context.neutral.size(), size);
    return context;
}

bool is_handshake(const WireSample& sample) {
    return (std::to_integer<unsigned>(sample.datagram.front()) & 0x80U) != 0;
}

Bytes joined(std::initializer_list<unsigned> head, ByteView rest) {
    Bytes bytes;
    for (const unsigned byte : head) {
        bytes.push_back(static_cast<std::byte>(byte));
    }
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    return bytes;
}

} // namespace

/// HELLO and CONNECT are filled with zeros, so that inputs can be short. A first byte of 0 and 1
/// leads to the payloads.
void fuzz_handshake(ByteView bytes) {
    if (bytes.empty()) {
        return;
    }
    const auto first = std::to_integer<unsigned>(bytes.front());
    if (first <= 1) {
        promise([&] {
            return first == 0 ? check_connect_payload(bytes.subspan(1))
                              : check_accept_payload(bytes.subspan(1));
        });
        return;
    }
    Bytes packet(bytes.begin(), bytes.end());
    if (first == 0x81 || first == 0x83) {
        packet.resize(std::max(packet.size(), datagram_bytes_max));
    }
    for (const bool up : {false, true}) {
        promise([&] { return check_datagram(up, packet, {}); });
    }
}

std::vector<Bytes> handshake_seeds() {
    std::vector<Bytes> seeds;
    for (const WireSample& sample : wire_samples()) {
        if (!is_handshake(sample)) {
            continue;
        }
        Bytes bytes = sample.datagram;
        while (bytes.size() > 24 && bytes.back() == std::byte{0}) {
            bytes.pop_back();
        }
        seeds.push_back(bytes);
        const auto connect = decode_connect(sample.datagram);
        const auto accept = decode_accept(sample.datagram);
        if (connect && connect->mode == Mode::plain) {
            seeds.push_back(joined({0}, connect->handshake));
        } else if (accept) {
            seeds.push_back(joined({1}, accept->handshake));
        }
    }
    return seeds;
}

/// Direction, slots, size of the neutral input, then frames.
void fuzz_packet(ByteView bytes) {
    const bool up = (take_byte(bytes) & 1U) != 0;
    const WireContext context = context_of(bytes);
    promise([&] { return check_plaintext(up, bytes, context); });
}

std::vector<Bytes> packet_seeds() {
    std::vector<Bytes> seeds;
    for (const WireSample& sample : wire_samples()) {
        if (!is_handshake(sample)) {
            seeds.push_back(joined({sample.up ? 1U : 0U, 2, 4},
                                   ByteView(sample.datagram).subspan(data_header_bytes)));
        }
    }
    return seeds;
}

/// Slots (unused), size of the neutral input, then runs.
void fuzz_runs(ByteView bytes) {
    const WireContext context = context_of(bytes);
    promise([&] { return check_runs(bytes, context); });
}

std::vector<Bytes> runs_seeds() {
    std::vector<Bytes> seeds;
    TestRandom random(3);
    for (const unsigned size : {0U, 1U, 4U, 7U, 8U, 40U}) {
        Bytes runs;
        RunWriter writer(runs, neutral_of(size));
        for (const Bytes& value : random_values(random, 20)) {
            writer.try_add(value, 120);
        }
        writer.finish();
        seeds.push_back(joined({1, size}, runs));
    }
    return seeds;
}

/// Slots, size of the neutral input, ticks, then the body of a TICKS frame.
void fuzz_bundle(ByteView bytes) {
    const WireContext context = context_of(bytes);
    Ticks ticks;
    ticks.first_tick = 1'000'000;
    ticks.count = static_cast<std::uint8_t>(take_byte(bytes) % (window_ticks_max + 1));
    ticks.body = bytes;
    promise([&] { return check_bundle(ticks, context); });
}

std::vector<Bytes> bundle_seeds() {
    std::vector<Bytes> seeds;
    TestRandom random(4);
    for (const unsigned slots : {0U, 1U, 2U, 8U, 9U, 64U}) {
        for (const std::size_t unrest : {0U, 12U}) {
            const std::vector<Bytes> frames =
                random_frames(random, 1'000'000, static_cast<std::uint16_t>(slots), 40, unrest);
            const std::vector<ByteView> views(frames.begin(), frames.end());
            Bytes body;
            const auto taken =
                BundleWriter().encode(views, neutral_of(3), slots == 64 ? 600 : 200, body);
            seeds.push_back(joined({slots, 3, static_cast<unsigned>(*taken)}, body));
        }
    }
    return seeds;
}
