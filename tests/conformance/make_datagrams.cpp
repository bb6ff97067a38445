// SPDX-License-Identifier: MIT
// Writes captures into a directory, for the Python decoder: good datagrams, damaged ones with this
// library's verdict, and random traffic with what is in it.
#include "hex.hpp"
#include "test_random.hpp"
#include "wire_samples.hpp"
#include "wire_support.hpp"

#include <fstream>
#include <iostream>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::wire;

namespace {

/// Bytes of a sample that are worth damaging one by one: all but the opaque and the padded ones.
constexpr std::size_t damaged_bytes_max = 120;

/// A damaged datagram as a line: `bad` if this library refuses it.
void write_verdict(std::ostream& out, bool up, const Bytes& datagram, const WireContext& context) {
    if (!datagram.empty()) {
        const bool taken = check_datagram(up, datagram, context).has_value();
        out << to_line({"", up, datagram}, taken ? "" : "bad") << '\n';
    }
}

void write_damaged(std::ostream& out) {
    TestRandom random(7);
    const std::vector<WireSample> samples = wire_samples();
    for (const WireSample& sample : samples) {
        out << "# " << sample.name << '\n';
        Bytes damaged = sample.datagram;
        const std::size_t size = std::min(damaged.size(), damaged_bytes_max);
        for (std::size_t bit = 0; bit < size * 8; ++bit) {
            damaged[bit / 8] ^= std::byte{1} << bit % 8;
            write_verdict(out, sample.up, damaged, {});
            damaged[bit / 8] ^= std::byte{1} << bit % 8;
        }
        for (std::size_t cut = 0; cut < size; ++cut) {
            write_verdict(
                out,
                sample.up,
                Bytes(damaged.begin(), damaged.begin() + static_cast<std::ptrdiff_t>(cut)),
                {});
        }
        for (const unsigned more : {0U, 1U, 0x80U, 0xFFU}) {
            damaged.push_back(static_cast<std::byte>(more));
            write_verdict(out, sample.up, damaged, {});
            damaged.pop_back();
        }
        write_verdict(out, !sample.up, damaged, {});
        damaged.back() ^= std::byte{1};
        write_verdict(out, sample.up, damaged, {});
        for (int i = 0; i < 200; ++i) {
            damaged = sample.datagram;
            damaged.resize(std::min(damaged.size(), damaged_bytes_max));
            for (std::size_t k = 0, n = 1 + random.below(4); k < n; ++k) {
                damaged[data_header_bytes - 1 +
                        random.below(damaged.size() - data_header_bytes + 1)] =
                    static_cast<std::byte>(random.bits());
            }
            write_verdict(out, sample.up, damaged, {});
        }
    }
}

std::string joined(const std::vector<Bytes>& all) {
    std::string text;
    for (std::size_t i = 0; i < all.size(); ++i) {
        text += (i == 0 ? "" : ",") + to_hex_text(all[i]);
    }
    return text;
}

Bytes data_packet() {
    return from_hex_text("40010002000000");
}

/// Random TICKS and INPUTS; behind `#` the tick frames, or the inputs, that they must give.
void write_traffic(std::ostream& out) {
    TestRandom random(11);
    BundleWriter writer;
    for (int round = 0; round < 400; ++round) {
        const auto slots = static_cast<std::uint16_t>(random.below(round % 8 == 0 ? 65 : 5));
        const Bytes neutral = random_bytes(random, random.below(9));
        const std::uint64_t first = random.bits() >> (2 + random.below(60));
        std::vector<Bytes> frames =
            random_frames(random, first, slots, 1 + random.below(128), random.below(16));
        const std::vector<ByteView> views(frames.begin(), frames.end());
        Bytes body;
        const std::size_t taken = writer.encode(views, neutral, 1100, body).value();
        frames.resize(taken);
        out << "# slots " << slots << ", neutral " << to_hex_text(neutral) << '\n';
        if (taken != 0) {
            Bytes packet = data_packet();
            encode_ticks({first, static_cast<std::uint8_t>(taken), first, 1, false, 0, 0, body},
                         true,
                         packet);
            out << "down " << to_hex_text(packet) << " # frames " << joined(frames) << '\n';
            for (int i = 0; i < 8; ++i) {
                Bytes damaged = packet;
                damaged[8 + random.below(damaged.size() - 8)] ^= std::byte{1} << random.below(8);
                WireContext context;
                context.slots = slots;
                context.neutral = neutral;
                write_verdict(out, false, damaged, context);
            }
        }
        const std::vector<Bytes> values = random_values(random, 1 + random.below(60));
        Bytes runs;
        std::vector<Bytes> added;
        RunWriter inputs(runs, neutral);
        for (const Bytes& value : values) {
            if (!inputs.try_add(value, 1100)) {
                break;
            }
            added.push_back(value);
        }
        inputs.finish();
        Bytes packet = data_packet();
        encode_inputs({first, first + 1, false, 0, 0, runs}, true, packet);
        out << "up " << to_hex_text(packet) << " # inputs " << joined(added) << '\n';
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return 2;
    }
    const std::string directory = argv[1];
    std::ofstream damaged(directory + "/damaged.txt");
    damaged << "# slots 2, neutral 00000000\n";
    write_damaged(damaged);
    std::ofstream traffic(directory + "/traffic.txt");
    write_traffic(traffic);
    return damaged.good() && traffic.good() ? 0 : 1;
}
