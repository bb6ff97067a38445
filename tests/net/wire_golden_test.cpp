// SPDX-License-Identifier: MIT
// The bytes of protocol 1.0 stay what they are; fixtures/wire_1_0.txt is the witness.
#include "hex.hpp"
#include "wire_samples.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <set>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::wire;

namespace {

const std::string fixtures = TWINSTEP_WIRE_FIXTURES;

std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with('#')) {
            lines.push_back(line);
        }
    }
    return lines;
}

void write_fixtures(const std::string& path) {
    std::ofstream file(path);
    file << "# twinstep wire fixtures 1, slots 2, neutral 00000000\n"
            "# Datagrams of protocol 1.0 in plain mode: direction, bytes, +N for N more zeros.\n";
    for (const WireSample& sample : wire_samples()) {
        file << to_line(sample) << '\n';
    }
}

std::size_t payload_bytes(const WireSample& sample) {
    return sample.datagram.size() + tag_bytes;
}

} // namespace

TEST_CASE("every sample has the bytes that are kept", "[net][golden]") {
    // A change of the protocol writes them anew: TWINSTEP_WRITE_FIXTURES=1, then read the diff.
    if (std::getenv("TWINSTEP_WRITE_FIXTURES") != nullptr) {
        write_fixtures(fixtures);
    }
    const std::vector<std::string> kept = lines_of(fixtures);
    const std::vector<WireSample> samples = wire_samples();
    REQUIRE(kept.size() == samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
        CHECK(to_line(samples[i]) == kept[i]);
    }
}

TEST_CASE("every sample decodes to the last byte and encodes to itself", "[net]") {
    std::set<unsigned> packets;
    std::set<unsigned> frames;
    for (const WireSample& sample : wire_samples()) {
        INFO(sample.name);
        REQUIRE(text_of(check_datagram(sample.up, sample.datagram, {})) == "ok");
        const auto first = std::to_integer<unsigned>(sample.datagram.front());
        if (first != 0x40) {
            packets.insert(first);
            continue;
        }
        FrameReader reader(ByteView(sample.datagram).subspan(data_header_bytes));
        for (Frame frame; reader.next(frame).value();) {
            frames.insert(static_cast<unsigned>(frame.type));
        }
    }
    // Nothing was left out.
    CHECK(packets.size() == 5);
    CHECK(frames.size() == 20);
}

TEST_CASE("an idle tick costs at most 40 bytes in each direction", "[net]") {
    std::size_t seen = 0;
    for (const WireSample& sample : wire_samples()) {
        if (sample.name == "idle inputs" || sample.name == "idle ticks") {
            INFO(sample.name << ": " << payload_bytes(sample) << " bytes");
            CHECK(payload_bytes(sample) <= 40);
            ++seen;
        }
    }
    CHECK(seen == 2);
    // After ten hours at 60 Hz, with 14 ticks under way and hashes that are behind.
    Bytes inputs;
    encode_inputs({2'160'000, 2'160'012, true, 2'159'990, 7, from_hex_text("8d")}, true, inputs);
    CHECK(inputs.size() + data_header_bytes + tag_bytes <= 40);
    Bytes ticks;
    encode_ticks(
        {2'160'000, 14, 2'160'010, 21, true, 2'159'984, 7, from_hex_text("008d8d")}, true, ticks);
    CHECK(ticks.size() + data_header_bytes + tag_bytes <= 40);
}

TEST_CASE("both players moving each tick at 50 ms costs at most 64 bytes a datagram", "[net]") {
    // 4-byte inputs in which a byte or two change at every tick; seven ticks under way.
    std::vector<Bytes> frames;
    Bytes inputs_runs;
    RunWriter writer(inputs_runs, Bytes(4));
    for (std::uint64_t i = 0; i < 7; ++i) {
        TickFrame frame;
        frame.reset(Tick{100'000 + i}, 2);
        Bytes one = from_hex_text("01000000");
        one[1] = static_cast<std::byte>(i * 3);
        Bytes two = from_hex_text("02000000");
        two[2] = static_cast<std::byte>(i / 2 * 5);
        frame.set_input(Slot{0}, one);
        frame.set_input(Slot{1}, two);
        encode_frame(frame, frames.emplace_back());
        writer.add(one);
    }
    writer.finish();
    Bytes datagram;
    encode_inputs({100'000, 100'001, true, 100'000, 7, inputs_runs}, true, datagram);
    const std::size_t up = datagram.size() + data_header_bytes + tag_bytes;
    const std::vector<ByteView> views(frames.begin(), frames.end());
    Bytes body;
    REQUIRE(BundleWriter().encode(views, Bytes(4), 1100, body) == 7);
    datagram.clear();
    encode_ticks({100'000, 7, 100'004, 21, true, 100'000, 7, body}, true, datagram);
    const std::size_t down = datagram.size() + data_header_bytes + tag_bytes;
    INFO("up " << up << ", down " << down);
    CHECK(up <= 64);
    CHECK(down <= 64);
}
