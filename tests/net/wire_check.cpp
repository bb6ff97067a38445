// SPDX-License-Identifier: MIT
// A strict receiver of plain datagrams, made of the codec's own parts.
#include "wire_check.hpp"

#include <algorithm>
#include <utility>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::wire;

namespace {

void require_same(ByteView given, ByteView again, const char* what) {
    if (!std::equal(given.begin(), given.end(), again.begin(), again.end())) {
        throw NotCanonical{what};
    }
}

/// Checks a decoded packet or payload: `decoded` encodes to the bytes given.
template <class T>
Result<void> same_again(ByteView given, Result<T> decoded, const char* what) {
    if (!decoded) {
        return fail(std::move(decoded.error()));
    }
    Bytes again;
    encode(*decoded, again);
    require_same(given, again, what);
    return {};
}

/// Checks a frame's body: `encode_again` appends a whole frame.
template <class T, class Encode>
Result<void>
same_body(const Frame& frame, Result<T> decoded, Encode encode_again, const char* what) {
    if (!decoded) {
        return fail(std::move(decoded.error()));
    }
    Bytes again;
    encode_again(*decoded, again);
    FrameReader reader(again);
    Frame cut;
    if (!reader.next(cut) || cut.type != frame.type || reader.next(cut).value_or(true)) {
        throw NotCanonical{what};
    }
    require_same(frame.body, cut.body, what);
    return {};
}

template <class T>
Result<void> same_frame(const Frame& frame, Result<T> decoded, const char* what) {
    return same_body(
        frame,
        std::move(decoded),
        [](const T& value, Bytes& target) { encode(value, target); },
        what);
}

Result<void> check_inputs(const Frame& frame, const WireContext& context) {
    const Result<Inputs> inputs = decode_inputs(frame.body);
    const auto again = [](const Inputs& value, Bytes& target) {
        encode_inputs(value, false, target);
    };
    if (Result<void> head = same_body(frame, inputs, again, "inputs"); !head) {
        return head;
    }
    return check_runs(inputs->runs, context);
}

Result<void> check_ticks(const Frame& frame, const WireContext& context) {
    const Result<Ticks> ticks = decode_ticks(frame.body);
    const auto again = [](const Ticks& value, Bytes& target) {
        encode_ticks(value, false, target);
    };
    if (Result<void> head = same_body(frame, ticks, again, "ticks"); !head) {
        return head;
    }
    return check_bundle(*ticks, context);
}

Result<void> check_small(const Frame& frame) {
    const FrameType type = frame.type;
    switch (type) {
    case FrameType::ping:
    case FrameType::pong:
        return same_body(
            frame,
            decode_stamp(frame.body),
            [&](std::uint32_t stamp, Bytes& target) { encode_stamp(type, stamp, target); },
            "stamp");
    case FrameType::close:
        return same_body(
            frame,
            decode_close(frame.body),
            [](const auto& value, Bytes& target) {
                encode_close(value.first, value.second, target);
            },
            "close");
    case FrameType::path_challenge:
    case FrameType::path_response:
        return same_body(
            frame,
            decode_path(frame.body),
            [&](std::uint64_t value, Bytes& target) { encode_path(type, value, target); },
            "path");
    case FrameType::loss:
        return same_body(frame, decode_loss(frame.body), encode_loss, "loss");
    default:
        return same_body(
            frame,
            decode_tick_query(frame.body),
            [&](std::uint64_t tick, Bytes& target) { encode_tick_query(type, tick, target); },
            "tick query");
    }
}

Result<void> check_data(bool up, ByteView datagram, const WireContext& context) {
    ByteReader reader(datagram);
    if (reader.u8("flags") != data_flags) {
        reader.fail(SimErrc::malformed, "flags");
    }
    reader.u16("connection");
    reader.u32("sequence");
    if (!reader.ok()) {
        return fail(reader.error());
    }
    return check_plaintext(up, datagram.subspan(data_header_bytes), context);
}

template <class T>
Result<void> check_with_payload(ByteView datagram,
                                const Result<T>& packet,
                                bool plain,
                                Result<void> (*payload)(ByteView),
                                const char* what) {
    if (Result<void> whole = same_again(datagram, packet, what); !whole) {
        return whole;
    }
    return plain ? payload(packet->handshake) : Result<void>();
}

Result<void> wrong_way() {
    return fail(Error(SimErrc::malformed, "way"));
}

} // namespace

Result<void> check_runs(ByteView runs, const WireContext& context) {
    RunReader reader(runs, context.neutral, context.input_bytes_max);
    Bytes again;
    RunWriter writer(again, context.neutral);
    while (!reader.at_end()) {
        Result<ByteView> value = reader.next();
        if (!value) {
            return fail(std::move(value.error()));
        }
        writer.add(*value);
    }
    writer.finish();
    require_same(runs, again, "runs");
    return {};
}

Result<void> check_bundle(const Ticks& ticks, const WireContext& context) {
    BundleReader reader(context.slots, context.input_bytes_max);
    Result<void> decoded = reader.decode(ticks, context.neutral);
    if (!decoded || ticks.count == 0) {
        return decoded;
    }
    std::vector<Bytes> frames(ticks.count);
    std::vector<ByteView> views;
    for (std::size_t i = 0; i < ticks.count; ++i) {
        encode_frame(reader.frame(i), frames[i]);
        views.emplace_back(frames[i]);
    }
    BundleWriter writer;
    Bytes again;
    const auto taken = writer.encode(views, context.neutral, ticks.body.size(), again);
    if (!taken || *taken != ticks.count) {
        throw NotCanonical{"count of a bundle"};
    }
    require_same(ticks.body, again, "bundle");
    return {};
}

Result<void> check_connect_payload(ByteView bytes) {
    return same_again(bytes, decode_connect_payload(bytes), "connect payload");
}

Result<void> check_accept_payload(ByteView bytes) {
    return same_again(bytes, decode_accept_payload(bytes), "accept payload");
}

Result<void> check_frame(const Frame& frame, const WireContext& context) {
    const ByteView body = frame.body;
    switch (frame.type) {
    case FrameType::inputs:
        return check_inputs(frame, context);
    case FrameType::ticks:
        return check_ticks(frame, context);
    case FrameType::blob_offer:
        return same_frame(frame, decode_blob_offer(body), "blob offer");
    case FrameType::blob_chunk:
        return same_frame(frame, decode_blob_chunk(body), "blob chunk");
    case FrameType::blob_ack:
        return same_frame(frame, decode_blob_ack(body), "blob ack");
    case FrameType::progress:
        return same_frame(frame, decode_progress(body), "progress");
    case FrameType::hash_query:
        return same_frame(frame, decode_hash_query(body), "hash query");
    case FrameType::hash_answer:
        return same_frame(frame, decode_hash_answer(body), "hash answer");
    case FrameType::section_answer:
        return same_frame(frame, decode_section_answer(body), "section answer");
    case FrameType::verdict:
        return same_frame(frame, decode_verdict(body), "verdict");
    case FrameType::request:
        return same_frame(frame, decode_request(body), "request");
    case FrameType::stall:
        return same_frame(frame, decode_stall(body), "stall");
    default:
        return check_small(frame);
    }
}

Result<void> check_plaintext(bool up, ByteView plaintext, const WireContext& context) {
    FrameReader reader(plaintext);
    Frame frame;
    while (true) {
        Result<bool> more = reader.next(frame);
        if (!more) {
            return fail(std::move(more.error()));
        }
        if (!*more) {
            return {};
        }
        if (up ? !goes_up(frame.type) : !goes_down(frame.type)) {
            return wrong_way();
        }
        if (Result<void> checked = check_frame(frame, context); !checked) {
            return checked;
        }
    }
}

Result<void> check_datagram(bool up, ByteView datagram, const WireContext& context) {
    if (datagram.empty() || datagram.size() > datagram_bytes_max) {
        return fail(Error(SimErrc::limit_exceeded, "datagram"));
    }
    switch (static_cast<PacketType>(datagram.front())) {
    case PacketType::hello:
        return up ? same_again(datagram, decode_hello(datagram), "hello") : wrong_way();
    case PacketType::cookie:
        return up ? wrong_way() : same_again(datagram, decode_cookie(datagram), "cookie");
    case PacketType::connect: {
        const Result<Connect> connect = decode_connect(datagram);
        const bool plain = connect && connect->mode == Mode::plain;
        return up ? check_with_payload(datagram, connect, plain, check_connect_payload, "connect")
                  : wrong_way();
    }
    case PacketType::accept:
        return up ? wrong_way()
                  : check_with_payload(
                        datagram, decode_accept(datagram), true, check_accept_payload, "accept");
    case PacketType::refuse:
        return up ? wrong_way() : same_again(datagram, decode_refuse(datagram), "refuse");
    }
    return check_data(up, datagram, context);
}
