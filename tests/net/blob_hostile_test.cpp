// SPDX-License-Identifier: MIT
// Blobs from somebody who lies, floods or dawdles.
#include "allocation_counter.hpp"
#include "hex.hpp"
#include "test_random.hpp"

#include "twinstep/net/blob.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::net;

namespace {

constexpr std::uint32_t pace = 256 * 1024;
constexpr auto snapshot = wire::BlobKind::snapshot;

Bytes counted(std::size_t size) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<std::byte>(i * 31 >> 3);
    }
    return bytes;
}

ByteView chunk_of(const Bytes& bytes, std::uint32_t index) {
    const std::size_t from = index * wire::chunk_bytes_max;
    return ByteView(bytes).subspan(from, std::min(wire::chunk_bytes_max, bytes.size() - from));
}

} // namespace

TEST_CASE("an offer that nobody asked for is refused and costs nothing", "[net]") {
    const Bytes bytes = counted(3000);
    const auto offer = make_blob_offer(1, snapshot, Tick{1}, bytes, 0);
    BlobReceiver receiver;
    CHECK(code_of(receiver.on_offer(Micros{}, offer)) == NetErrc::refused);
    receiver.expect(wire::BlobKind::manifest, 1 << 20, pace);
    CHECK(code_of(receiver.on_offer(Micros{}, offer)) == NetErrc::refused);
    receiver.expect(snapshot, 2999, pace);
    CHECK(code_of(receiver.on_offer(Micros{}, offer)) == NetErrc::limit_exceeded);
    CHECK(receiver.memory_bytes() == 0);
    receiver.expect(snapshot, 3000, pace);
    CHECK(receiver.on_offer(Micros{}, offer));
    receiver.stop();
    auto next = offer;
    next.id = 2;
    CHECK(code_of(receiver.on_offer(Micros{}, next)) == NetErrc::refused);
}

TEST_CASE("an offer of 64 MiB reserves nothing; memory follows what arrives", "[net]") {
    BlobReceiver receiver;
    receiver.expect(snapshot, wire::snapshot_bytes_max, pace);
    wire::BlobOffer offer;
    offer.id = 1;
    offer.kind = snapshot;
    offer.size = wire::snapshot_bytes_max;
    const Bytes chunk = counted(wire::chunk_bytes_max);
    const AllocationCounter allocations;
    REQUIRE(receiver.on_offer(Micros{}, offer));
    CHECK(allocations.bytes() < 8'192);
    // The farthest chunk that is kept, and one beyond.
    REQUIRE(receiver.on_chunk(Micros{}, {1, blob_window_chunks, chunk}));
    CHECK(receiver.bytes_arrived() == 0);
    REQUIRE(receiver.on_chunk(Micros{}, {1, blob_window_chunks - 1, chunk}));
    CHECK(receiver.bytes_arrived() == chunk.size());
    CHECK(receiver.memory_bytes() <= blob_window_chunks * wire::chunk_bytes_max);
    for (std::uint32_t i = 0; i < 2000; ++i) {
        REQUIRE(receiver.on_chunk(Micros{}, {1, i, chunk}));
        REQUIRE(receiver.memory_bytes() <=
                2 * receiver.bytes_arrived() + blob_window_chunks * wire::chunk_bytes_max);
    }
    receiver.stop();
    CHECK(receiver.memory_bytes() == 0);
}

TEST_CASE("chunks with a wrong number, length or blob change nothing", "[net]") {
    const Bytes bytes = counted(5 * wire::chunk_bytes_max + 17);
    BlobReceiver receiver;
    receiver.expect(snapshot, bytes.size(), pace);
    CHECK(receiver.on_chunk(Micros{}, {1, 0, chunk_of(bytes, 0)}) == false);
    REQUIRE(receiver.on_offer(Micros{}, make_blob_offer(1, snapshot, Tick{4}, bytes, 0)));
    CHECK(receiver.on_chunk(Micros{}, {2, 0, chunk_of(bytes, 0)}) == false);
    CHECK(receiver.bytes_arrived() == 0);
    CHECK(code_of(receiver.on_chunk(Micros{}, {1, 6, chunk_of(bytes, 0)})) == NetErrc::malformed);
    CHECK(code_of(receiver.on_chunk(Micros{}, {1, 0, chunk_of(bytes, 5)})) == NetErrc::malformed);
    CHECK(code_of(receiver.on_chunk(Micros{}, {1, 5, chunk_of(bytes, 0)})) == NetErrc::malformed);
    CHECK(receiver.bytes_arrived() == 0);
    // Other bytes for a chunk that is there: the first ones stay.
    const Bytes other(wire::chunk_bytes_max);
    for (const std::uint32_t index : {3U, 0U, 5U, 1U, 4U}) {
        CHECK(receiver.on_chunk(Micros{}, {1, index, chunk_of(bytes, index)}) == false);
        if (index != 5) {
            CHECK(receiver.on_chunk(Micros{}, {1, index, other}) == false);
        }
    }
    CHECK(receiver.on_chunk(Micros{}, {1, 2, chunk_of(bytes, 2)}) == true);
    CHECK(receiver.take() == bytes);
}

TEST_CASE("another digest than the one offered is found, and the blob forgotten", "[net]") {
    const Bytes bytes = counted(2500);
    for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 97) {
        Bytes wrong = bytes;
        wrong[bit / 8] ^= std::byte{1} << bit % 8;
        BlobReceiver receiver;
        receiver.expect(snapshot, bytes.size(), pace);
        REQUIRE(receiver.on_offer(Micros{}, make_blob_offer(1, snapshot, Tick{4}, bytes, 0)));
        REQUIRE(receiver.on_chunk(Micros{}, {1, 0, chunk_of(wrong, 0)}));
        REQUIRE(receiver.on_chunk(Micros{}, {1, 1, chunk_of(wrong, 1)}));
        REQUIRE(code_of(receiver.on_chunk(Micros{}, {1, 2, chunk_of(wrong, 2)})) ==
                NetErrc::not_authentic);
        REQUIRE_FALSE(receiver.complete());
        REQUIRE(receiver.memory_bytes() == 0);
    }
    // The tick belongs to what is digested.
    CHECK(digest_of_blob(Tick{4}, bytes) != digest_of_blob(Tick{5}, bytes));
}

TEST_CASE("a newer offer replaces the blob, three times at most; an older one does not", "[net]") {
    const Bytes bytes = counted(2500);
    BlobReceiver receiver;
    receiver.expect(snapshot, bytes.size(), pace);
    const auto offer = [&](std::uint32_t id) {
        return make_blob_offer(id, snapshot, Tick{id}, bytes, 0);
    };
    REQUIRE(receiver.on_offer(Micros{}, offer(0xFFFFFFFF)));
    auto changed = offer(0xFFFFFFFF);
    changed.chain = 1;
    CHECK(code_of(receiver.on_offer(Micros{}, changed)) == NetErrc::malformed);
    REQUIRE(receiver.on_offer(Micros{}, offer(0)));
    CHECK(receiver.offer().id == 0);
    REQUIRE(receiver.on_offer(Micros{}, offer(0xFFFFFFFF)));
    CHECK(receiver.offer().id == 0);
    REQUIRE(receiver.on_offer(Micros{}, offer(1)));
    REQUIRE(receiver.on_offer(Micros{}, offer(2)));
    CHECK(code_of(receiver.on_offer(Micros{}, offer(3))) == NetErrc::refused);
}

TEST_CASE("one byte a second does not keep a transfer open", "[net]") {
    const Bytes bytes = counted(256 * 1024);
    BlobReceiver receiver;
    receiver.expect(snapshot, bytes.size(), pace);
    REQUIRE(receiver.on_offer(seconds(10), make_blob_offer(1, snapshot, Tick{4}, bytes, 0)));
    // 2 s at half the pace, and 5.
    CHECK(receiver.next_wake() == seconds(10));
    Bytes ack;
    REQUIRE(receiver.compose_ack(seconds(10), ack));
    CHECK(receiver.next_wake() == seconds(17));
    for (std::int64_t second = 10; second < 17; ++second) {
        REQUIRE(receiver.advance(seconds(second)));
        const auto index = static_cast<std::uint32_t>(second - 10);
        REQUIRE(receiver.on_chunk(seconds(second), {1, index, chunk_of(bytes, index)}));
    }
    CHECK(code_of(receiver.advance(seconds(17))) == NetErrc::timed_out);
    CHECK_FALSE(receiver.active());
    CHECK(receiver.memory_bytes() == 0);
    // Nor on the sending side.
    BlobSender sender;
    const auto shared = std::make_shared<const Bytes>(bytes);
    sender.start(seconds(10), make_blob_offer(1, snapshot, Tick{4}, bytes, 0), shared, pace);
    CHECK_FALSE(sender.overdue(seconds(17)));
    CHECK(sender.overdue(seconds(17) + Micros{1}));
    CHECK(blob_time_allowed(wire::snapshot_bytes_max, pace) == blob_time_max);
    CHECK(blob_time_allowed(wire::snapshot_bytes_max, 1) == blob_time_max);
}

TEST_CASE("acknowledgements of what was never sent are malformed; others change nothing", "[net]") {
    const auto bytes = std::make_shared<const Bytes>(counted(50 * wire::chunk_bytes_max));
    BlobSender sender;
    sender.start(Micros{}, make_blob_offer(7, snapshot, Tick{4}, *bytes, 0), bytes, pace);
    CHECK(sender.on_ack(Micros{}, {6, 50, 0}));
    CHECK(code_of(sender.on_ack(Micros{}, {7, 1, 0})) == NetErrc::malformed);
    CHECK(code_of(sender.on_ack(Micros{}, {7, 51, 0})) == NetErrc::malformed);
    CHECK(code_of(sender.on_ack(Micros{}, {7, 0, {1}})) == NetErrc::malformed);
    CHECK(sender.on_ack(Micros{}, {7, 0, 0}));
    Bytes frame;
    for (int i = 0; i < 4; ++i) {
        REQUIRE(sender.compose(Micros{}, 1150, nullptr, frame));
    }
    CHECK(code_of(sender.on_ack(Micros{}, {7, 5, 0})) == NetErrc::malformed);
    CHECK(code_of(sender.on_ack(Micros{}, {7, 2, {2}})) == NetErrc::malformed);
    CHECK(code_of(sender.on_ack(Micros{}, {7, 0, {0, 0, 0, 1}})) == NetErrc::malformed);
    CHECK(sender.on_ack(Micros{}, {7, 2, {1}}));
    CHECK(sender.on_ack(Micros{}, {7, 1, 0})); // Overtaken.
    CHECK(sender.chunks_arrived() == 2);
    CHECK(sender.on_ack(Micros{}, {7, 4, 0}));
    CHECK(sender.chunks_arrived() == 4);
    CHECK(sender.active());
}

TEST_CASE("a flood of duplicates is answered at most every 15 ms", "[net]") {
    const Bytes bytes = counted(5'000);
    BlobReceiver receiver;
    receiver.expect(snapshot, bytes.size(), pace);
    REQUIRE(receiver.on_offer(Micros{}, make_blob_offer(1, snapshot, Tick{4}, bytes, 0)));
    std::size_t answers = 0;
    Bytes frame;
    for (std::int64_t ms = 0; ms < 150; ++ms) {
        for (int i = 0; i < 10; ++i) {
            REQUIRE(receiver.on_chunk(milliseconds(ms), {1, 1, chunk_of(bytes, 1)}));
            answers += receiver.compose_ack(milliseconds(ms), frame) ? 1U : 0U;
        }
    }
    CHECK(answers == 10);
}

TEST_CASE("a transfer allocates nothing but the buffer it fills", "[net]") {
    const auto bytes = std::make_shared<const Bytes>(counted(200 * wire::chunk_bytes_max));
    BlobSender sender;
    BlobReceiver receiver;
    receiver.expect(snapshot, bytes->size(), pace);
    sender.start(Micros{}, make_blob_offer(1, snapshot, Tick{4}, *bytes, 0), bytes, pace);
    Bytes down;
    Bytes up;
    down.reserve(1200);
    up.reserve(1200);
    const AllocationCounter allocations;
    for (Micros now{}; !sender.done(); now = now + milliseconds(10)) {
        while (down.clear(), sender.compose(now, 1150, nullptr, down)) {
            wire::Frame cut;
            REQUIRE(wire::FrameReader(down).next(cut).value());
            if (cut.type == wire::FrameType::blob_offer) {
                REQUIRE(receiver.on_offer(now, *wire::decode_blob_offer(cut.body)));
            } else {
                REQUIRE(receiver.on_chunk(now, *wire::decode_blob_chunk(cut.body)));
            }
        }
        while (up.clear(), receiver.compose_ack(now, up)) {
            wire::Frame cut;
            REQUIRE(wire::FrameReader(up).next(cut).value());
            REQUIRE(sender.on_ack(now, *wire::decode_blob_ack(cut.body)));
        }
    }
    // The hasher, and the buffer that doubles from one chunk to 200.
    CHECK(allocations.count() <= 10);
    CHECK(receiver.complete());
}
