// SPDX-License-Identifier: MIT
// Blobs: a script of offers, chunks, acknowledgements and time, with every promise looked at.
#include "fuzz_targets.hpp"

#include "twinstep/net/blob.hpp"

#include <algorithm>

using namespace twinstep;
using namespace twinstep::net;

namespace {

/// Numbers of a script; zeros once it has ended.
class Script {
public:
    explicit Script(ByteView bytes)
        : rest_(bytes) {}

    bool more() const { return !rest_.empty(); }

    unsigned byte() {
        if (rest_.empty()) {
            return 0;
        }
        const auto value = std::to_integer<unsigned>(rest_.front());
        rest_ = rest_.subspan(1);
        return value;
    }

    unsigned word() {
        const unsigned low = byte();
        return low | byte() << 8U;
    }

private:
    ByteView rest_;
};

/// What the honest side would send: four chunks and a bit.
const Bytes& honest_bytes() {
    static const Bytes bytes = [] {
        Bytes made(4 * wire::chunk_bytes_max + 100);
        for (std::size_t i = 0; i < made.size(); ++i) {
            made[i] = static_cast<std::byte>(i * 7 >> 2);
        }
        return made;
    }();
    return bytes;
}

wire::BlobOffer offer_of(Script& script) {
    const unsigned shape = script.byte();
    const auto kind = (shape & 1U) != 0 ? wire::BlobKind::manifest : wire::BlobKind::snapshot;
    auto offer = make_blob_offer(
        shape >> 4U, kind, Tick{shape >> 1U & 1U}, honest_bytes(), shape >> 2U & 1U);
    if ((shape & 8U) != 0) {
        offer.size = script.word() * 1024;
    }
    return offer;
}

/// Keeps to the codec's limits, which come before the receiver's.
void give_chunk(Script& script, BlobReceiver& receiver, Micros now) {
    const unsigned shape = script.byte();
    wire::BlobChunk chunk;
    chunk.id = shape >> 4U;
    chunk.index = (shape & 8U) != 0 ? script.word() % wire::chunks_max : shape & 7U;
    const std::size_t from =
        std::min(std::size_t{chunk.index} * wire::chunk_bytes_max, honest_bytes().size() - 1);
    const std::size_t size =
        (shape & 7U) == 7 ? 1 + script.word() % wire::chunk_bytes_max : wire::chunk_bytes_max;
    chunk.bytes =
        ByteView(honest_bytes()).subspan(from, std::min(size, honest_bytes().size() - from));
    const Result<bool> whole = receiver.on_chunk(now, chunk);
    if (whole && *whole) {
        require(receiver.complete(), "whole but not complete");
        require(digest_of_blob(Tick{receiver.offer().tick}, receiver.bytes()) ==
                    receiver.offer().digest,
                "a blob with another digest");
    }
}

void check_receiver(const BlobReceiver& receiver, std::size_t allowed) {
    require(receiver.memory_bytes() <= allowed, "more memory than was allowed");
    require(receiver.memory_bytes() <=
                2 * receiver.bytes_arrived() + blob_window_chunks * wire::chunk_bytes_max,
            "memory out of proportion to what arrived");
    require(!receiver.complete() || receiver.bytes().size() == receiver.offer().size,
            "a blob of another size");
}

} // namespace

void fuzz_blob_receiver(ByteView bytes) {
    Script script(bytes);
    BlobReceiver receiver;
    Micros now{};
    std::size_t allowed = 0;
    Bytes frame;
    while (script.more()) {
        switch (script.byte() % 7) {
        case 0: {
            const auto kind =
                script.byte() % 2 == 0 ? wire::BlobKind::manifest : wire::BlobKind::snapshot;
            allowed = std::min(std::size_t{script.word()} * 1024, wire::blob_bytes_max(kind));
            receiver.expect(kind, allowed, 64 * 1024);
            break;
        }
        case 1:
            static_cast<void>(receiver.on_offer(now, offer_of(script)));
            break;
        case 2:
        case 3:
            give_chunk(script, receiver, now);
            break;
        case 4:
            now = now + milliseconds(script.word());
            static_cast<void>(receiver.advance(now));
            break;
        case 5: {
            frame.clear();
            if (receiver.compose_ack(now, frame)) {
                wire::FrameReader reader(frame);
                wire::Frame cut;
                require(reader.next(cut).value_or(false), "an acknowledgement that is no frame");
                require(wire::decode_blob_ack(cut.body).has_value(), "a bad acknowledgement");
            }
            break;
        }
        default:
            if (receiver.complete()) {
                require(!receiver.take().empty(), "an empty blob");
                require(!receiver.complete(), "taken twice");
            }
            break;
        }
        check_receiver(receiver, allowed);
    }
}

/// Acknowledgements of somebody who lies; the chunks sent must be the blob's all the same.
void fuzz_blob_sender(ByteView bytes) {
    Script script(bytes);
    static const auto shared = std::make_shared<const Bytes>(honest_bytes());
    BlobSender sender;
    ByteBudget budget(32 * 1024);
    Micros now{};
    sender.start(
        now, make_blob_offer(1, wire::BlobKind::snapshot, Tick{1}, *shared, 0), shared, 65'536);
    Bytes frame;
    while (script.more()) {
        const unsigned what = script.byte();
        switch (what % 4) {
        case 0:
        case 1: {
            frame.clear();
            const std::size_t room = what < 128 ? 1150 : script.word() % 1200;
            if (sender.compose(now, room, (what & 4U) != 0 ? &budget : nullptr, frame)) {
                require(frame.size() <= room, "a frame larger than its room");
                wire::FrameReader reader(frame);
                wire::Frame cut;
                require(reader.next(cut).value_or(false), "no frame");
                if (cut.type == wire::FrameType::blob_chunk) {
                    const auto chunk = wire::decode_blob_chunk(cut.body).value();
                    const auto from = std::ptrdiff_t{chunk.index} *
                                      static_cast<std::ptrdiff_t>(wire::chunk_bytes_max);
                    require(
                        std::equal(chunk.bytes.begin(), chunk.bytes.end(), shared->begin() + from),
                        "other bytes than the blob's");
                }
            }
            break;
        }
        case 2: {
            wire::BlobAck ack{1, script.byte() % 8, {script.byte() >> 2U}};
            ack.bitmap[3] = (what & 64U) != 0 ? script.byte() : 0;
            static_cast<void>(sender.on_ack(now, ack));
            break;
        }
        default:
            now = now + milliseconds(script.word());
            break;
        }
        require(sender.next_wake(now, &budget) >= Micros{}, "a wake-up in the past");
        require(!sender.active() || sender.chunks_arrived() <= sender.chunks(), "too many chunks");
    }
}

namespace {

Bytes script_of(std::initializer_list<unsigned> numbers) {
    Bytes bytes;
    for (const unsigned number : numbers) {
        bytes.push_back(static_cast<std::byte>(number));
    }
    return bytes;
}

} // namespace

std::vector<Bytes> blob_receiver_seeds() {
    // Expect a snapshot of 64 KiB, offer, five chunks, acknowledge, take.
    return {
        script_of({0, 1, 64, 0, 1, 16, 2, 16, 2, 17, 2, 18, 5, 2, 19, 2, 20, 5, 6}),
        script_of({0, 1, 64, 0, 1, 16, 2, 20, 2, 18, 5, 4, 30, 0, 2, 17, 2, 16, 2, 19, 5, 6, 6}),
        script_of({0, 0, 64, 0, 1, 17, 1, 33, 1, 49, 1, 65, 2, 64, 4, 255, 255, 5}),
        script_of({0, 1, 255, 255, 1, 24, 255, 15, 2, 24, 255, 0, 2, 31, 9, 0}),
    };
}

std::vector<Bytes> blob_sender_seeds() {
    return {
        script_of({0, 2, 0, 0, 0, 0, 0, 0, 2, 1, 0, 2, 5, 0}),
        script_of({0, 3, 80, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 20, 3, 200, 0, 0, 2, 5, 0}),
        script_of({0, 2, 0, 0, 4, 4, 3, 255, 0, 4, 132, 10, 0, 66, 0, 0, 1, 2, 7, 4}),
    };
}
