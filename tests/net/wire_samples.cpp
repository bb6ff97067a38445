// SPDX-License-Identifier: MIT
// The samples. Changing one is changing the protocol or the sample: say which in the commit.
#include "wire_samples.hpp"

#include "hex.hpp"

#include "twinstep/sim/frame.hpp"

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::wire;

namespace {

Random16 sixteen(unsigned first) {
    Random16 bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(first + i);
    }
    return bytes;
}

Bytes some(std::size_t size) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<std::byte>(7 * i + 1);
    }
    return bytes;
}

constexpr Hash128 hash{0x0123456789ABCDEF, 0xFEDCBA9876543210};

class Samples {
public:
    std::vector<WireSample> list;

    template <class T>
    void packet(const char* name, bool up, const T& value) {
        Bytes& datagram = list.emplace_back(WireSample{name, up, {}}).datagram;
        encode(value, datagram);
    }

    /// A data packet of connection 0x1234; its sequence is the number of the sample.
    template <class Fill>
    void data(const char* name, bool up, Fill fill) {
        const auto sequence = static_cast<std::uint32_t>(list.size());
        Bytes& datagram = list.emplace_back(WireSample{name, up, {}}).datagram;
        ByteWriter writer(datagram);
        writer.u8(0x40);
        writer.u16(0x1234);
        writer.u32(sequence);
        fill(datagram);
    }

    template <class T>
    void frame(const char* name, bool up, const T& value) {
        data(name, up, [&](Bytes& target) { encode(value, target); });
    }
};

void add_handshake(Samples& samples) {
    samples.packet("hello", true, Hello{sixteen(0x10)});
    samples.packet("hello of a later version", true, Hello{sixteen(0x10), 2, 7});
    samples.packet("cookie", false, Cookie{sixteen(0x10), 3, 0x1122334455667788});
    Bytes payload;
    ConnectPayload player;
    player.build = hash;
    player.name = "ada";
    encode(player, payload);
    Connect connect{sixteen(0x10), 3, 0x1122334455667788, Mode::plain, version_minor, payload};
    samples.packet("connect of a player", true, connect);
    ConnectPayload spectator{Role::spectator, hash, 99, true, sixteen(0x40), {}};
    payload.clear();
    encode(spectator, payload);
    connect.handshake = payload;
    samples.packet("connect of a spectator with a ticket", true, connect);
    const Bytes opaque = some(300);
    connect.mode = Mode::token;
    connect.handshake = opaque;
    samples.packet("connect with a token", true, connect);
    connect.mode = Mode::room_key;
    connect.handshake = ByteView(opaque).first(130);
    samples.packet("connect with a room key", true, connect);
    AcceptPayload accepted;
    accepted.match_id = 99;
    accepted.has_slot = true;
    accepted.slot = Slot{1};
    accepted.slots = 2;
    accepted.tick_rate = TickRate(60);
    accepted.next_tick = 1000;
    accepted.ticket = sixteen(0x60);
    const Bytes neutral(4);
    accepted.neutral = neutral;
    payload.clear();
    encode(accepted, payload);
    samples.packet("accept of a player", false, Accept{sixteen(0x10), 0x1234, payload});
    accepted.has_slot = false;
    accepted.slot = Slot{0};
    accepted.policy = Policy::strict;
    accepted.authority = Authority::relay;
    accepted.manifest_wanted = true;
    accepted.neutral = {};
    accepted.tick_rate = TickRate(60000, 1001);
    payload.clear();
    encode(accepted, payload);
    samples.packet("accept of a spectator", false, Accept{sixteen(0x10), 0x1234, payload});
    samples.packet("refuse", false, Refuse{sixteen(0x10), CloseReason::full});
}

void add_inputs(Samples& samples) {
    const auto add = [&](const char* name, Inputs inputs, const std::vector<Bytes>& values) {
        Bytes runs;
        RunWriter writer(runs, Bytes(4));
        for (const Bytes& value : values) {
            writer.add(value);
        }
        writer.finish();
        inputs.runs = runs;
        samples.data(name, true, [&](Bytes& target) { encode_inputs(inputs, true, target); });
    };
    add("keep-alive inputs", {500, 503, false, 0, 0, {}}, {});
    const std::vector<Bytes> idle(4, Bytes(4));
    add("idle inputs", {1000, 1001, true, 1000, 0xA1B2C3D4, {}}, idle);
    const std::vector<Bytes> moving{from_hex_text("01000000"),
                                    from_hex_text("01000040"),
                                    from_hex_text("01000040"),
                                    from_hex_text("11223344"),
                                    from_hex_text(""),
                                    from_hex_text("00112233445566778899")};
    add("moving inputs", {70'000, 69'990, true, 69'900, 5, {}}, moving);
}

Bytes sample_body() {
    TickFrame frame;
    std::vector<Bytes> frames(3);
    for (std::uint64_t i = 0; i < 3; ++i) {
        frame.reset(Tick{1000 + i}, 2);
        frame.set_input(Slot{0}, i == 0 ? from_hex_text("00000001") : from_hex_text("00000003"));
        if (i == 1) {
            frame.add_event(EventKind::leave, Slot{1}, from_hex_text("6279"));
            frame.add_event(EventKind::marker, from_hex_text("78"));
        }
        if (i == 0) {
            frame.set_input(Slot{1}, Bytes(4), true);
        }
        encode_frame(frame, frames[i]);
    }
    const std::vector<ByteView> views(frames.begin(), frames.end());
    Bytes body;
    BundleWriter().encode(views, Bytes(4), plaintext_bytes_max, body).value();
    return body;
}

void add_ticks(Samples& samples) {
    samples.data("ticks without a tick", false, [](Bytes& target) {
        encode_ticks({1000, 0, 1004, -3, false, 0, 0, {}}, true, target);
    });
    samples.data("idle ticks", false, [](Bytes& target) {
        // Two slots, both neutral, one tick.
        const Bytes body = from_hex_text("00 80 80");
        encode_ticks({1000, 1, 1004, 21, true, 1000, 0xA1B2C3D4, body}, true, target);
    });
    samples.data("ticks with everything", false, [](Bytes& target) {
        const Bytes body = sample_body();
        encode_ticks({1000, 3, 1004, 70'000, true, 1016, 0xA1B2C3D4, body}, false, target);
    });
}

void add_session(Samples& samples) {
    samples.data("keep-alive", true, [](Bytes&) {});
    samples.data("ping", true, [](Bytes& target) { encode_stamp(FrameType::ping, 77, target); });
    samples.data("pong", false, [](Bytes& target) { encode_stamp(FrameType::pong, 77, target); });
    samples.data(
        "close", true, [](Bytes& target) { encode_close(CloseReason::leaving, {}, target); });
    samples.data("close with a text", false, [](Bytes& target) {
        encode_close(CloseReason::different_simulation, "game.build: 1 here, 2 there", target);
    });
    samples.data("path challenge", false, [](Bytes& target) {
        encode_path(FrameType::path_challenge, 0x8877665544332211, target);
    });
    samples.data("path response", true, [](Bytes& target) {
        encode_path(FrameType::path_response, 0x8877665544332211, target);
    });
    samples.data("frames, one of an unknown type", true, [](Bytes& target) {
        encode_stamp(FrameType::pong, 78, target);
        ByteWriter writer(target);
        writer.u8(0x80 | 63);
        writer.text("new");
        encode_inputs({9, 10, false, 0, 0, from_hex_text("80")}, true, target);
    });
}

void add_blobs(Samples& samples) {
    samples.frame("offer of a manifest", true, BlobOffer{1, BlobKind::manifest, 0, 900, hash, 0});
    samples.frame(
        "offer of a snapshot", false, BlobOffer{2, BlobKind::snapshot, 1000, 1 << 20, hash, 42});
    samples.frame("chunk", false, BlobChunk{2, 953, some(17)});
    samples.frame("largest chunk", true, BlobChunk{2, 300, some(chunk_bytes_max)});
    samples.frame("ack of an offer", false, BlobAck{2, 0, {}});
    samples.frame("ack with holes", true, BlobAck{2, 700, {0x8000000000000005, 1}});
    samples.frame("progress, loading", true, Progress{0, true});
    samples.frame("progress", true, Progress{1000, false});
    samples.data("snapshot query", false, [](Bytes& target) {
        encode_tick_query(FrameType::snapshot_query, 1000, target);
    });
}

void add_search(Samples& samples) {
    samples.frame("hash query", false, HashQuery{1000, 1063});
    HashAnswer hashes{1000, 2, {}};
    hashes.hashes[0] = hash;
    hashes.hashes[1] = {1, 2};
    samples.frame("hash answer", true, hashes);
    samples.data("section query", false, [](Bytes& target) {
        encode_tick_query(FrameType::section_query, 1001, target);
    });
    SectionAnswer sections{1001, 3, {}};
    sections.sections = {0xA1B2C3D4, 2, 3};
    samples.frame("section answer", true, sections);
    samples.frame("verdict", false, Verdict{Blame::peer, 1001, true, Slot{1}, "players"});
    samples.frame("verdict, disputed", false, Verdict{Blame::disputed, 1001, false, {}, {}});
    samples.frame("pause request", true, Request{RequestKind::pause, 0});
    samples.frame("speed request", true, Request{RequestKind::speed, 1500});
    samples.frame("policy request", true, Request{RequestKind::policy, 3});
    samples.frame("stall", false, Stall{1002, 250, false, 0x8000000000000002});
    samples.frame("pause", false, Stall{1002, 0, true, 0});
}

void add_loss(Samples& samples) {
    for (const bool up : {true, false}) {
        samples.data(up ? "loss on the way down" : "loss on the way up", up, [](Bytes& target) {
            encode_loss(7, target);
        });
    }
}

} // namespace

std::vector<WireSample> wire_samples() {
    Samples samples;
    add_handshake(samples);
    add_session(samples);
    add_inputs(samples);
    add_ticks(samples);
    add_blobs(samples);
    add_search(samples);
    add_loss(samples);
    return std::move(samples.list);
}

std::string to_line(const WireSample& sample, std::string_view verdict) {
    std::string line = to_hex_text(sample.datagram);
    // HELLO and CONNECT end in hundreds of zeros, which nobody wants to read.
    const std::size_t last = line.find_last_not_of('0');
    const std::size_t end = last == std::string::npos ? 0 : last / 2 * 2 + 2;
    if (line.size() > end + 64) {
        const std::size_t zeros = (line.size() - end) / 2;
        line.resize(end);
        line += "+" + std::to_string(zeros);
    }
    line.insert(0, sample.up ? "up " : "down ");
    if (!verdict.empty()) {
        line += ' ';
        line += verdict;
    }
    return sample.name.empty() ? line : line + " # " + sample.name;
}
