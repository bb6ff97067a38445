// SPDX-License-Identifier: MIT
// Values of every kind come back as they went; the exchange of a match allocates nothing.
#include "allocation_counter.hpp"
#include "hex.hpp"
#include "test_random.hpp"
#include "wire_check.hpp"
#include "wire_support.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::wire;

namespace {

/// Random numbers of every magnitude: the edges of varints lie in all of them.
class Values {
public:
    std::uint64_t wide() { return random_.bits() >> random_.below(64); }

    std::uint64_t tick() { return wide() >> 1U; }

    std::uint64_t tick_near(std::uint64_t base) {
        switch (random_.below(3)) {
        case 0:
            return tick();
        case 1:
            return base - std::min<std::uint64_t>(base, wide());
        default:
            return base + std::min(tick_max - base, wide());
        }
    }

    std::uint32_t word() { return static_cast<std::uint32_t>(wide()); }

    std::size_t below(std::size_t bound) { return random_.below(bound); }

    bool coin() { return below(2) == 1; }

    Bytes bytes(std::size_t size) { return random_bytes(random_, size); }

    Hash128 hash() { return {random_.bits(), random_.bits()}; }

private:
    TestRandom random_;
};

/// The only frame in what was encoded.
Frame only_frame(const Bytes& encoded) {
    FrameReader reader(encoded);
    Frame frame;
    REQUIRE(reader.next(frame).value());
    Frame another;
    REQUIRE_FALSE(reader.next(another).value());
    return frame;
}

std::string_view text_view(const Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr int rounds = 5000;

} // namespace

TEST_CASE("INPUTS come back as they went", "[net][property]") {
    TWINSTEP_SHOW_SEED();
    Values values;
    for (int round = 0; round < rounds; ++round) {
        Inputs in;
        in.ack = values.tick();
        in.first_tick = values.tick_near(in.ack);
        in.has_hash = values.coin();
        if (in.has_hash) {
            in.hash_tick = in.ack - std::min(in.ack, values.coin() ? values.wide() : 0);
            in.hash = values.word();
        }
        const Bytes runs = values.bytes(values.below(1100));
        in.runs = runs;
        Bytes encoded;
        encode_inputs(in, values.coin(), encoded);
        const auto out = decode_inputs(only_frame(encoded).body);
        REQUIRE(text_of(out) == "ok");
        REQUIRE(out->ack == in.ack);
        REQUIRE(out->first_tick == in.first_tick);
        REQUIRE(out->has_hash == in.has_hash);
        REQUIRE(out->hash_tick == in.hash_tick);
        REQUIRE(out->hash == in.hash);
        REQUIRE(to_hex_text(out->runs) == to_hex_text(in.runs));
    }
}

TEST_CASE("TICKS come back as they went", "[net][property]") {
    TWINSTEP_SHOW_SEED();
    Values values;
    for (int round = 0; round < rounds; ++round) {
        Ticks in;
        in.first_tick = std::min(values.tick(), tick_max - window_ticks_max);
        in.count = static_cast<std::uint8_t>(values.below(window_ticks_max + 1));
        in.input_ack = values.tick_near(in.first_tick);
        in.margin_ms = static_cast<std::int32_t>(values.word());
        in.has_hash = values.coin();
        if (in.has_hash) {
            in.hash_tick = values.tick_near(in.first_tick);
            in.hash = values.word();
        }
        const Bytes body = values.bytes(in.count == 0 ? 0 : 1 + values.below(1100));
        in.body = body;
        Bytes encoded;
        encode_ticks(in, values.coin(), encoded);
        const auto out = decode_ticks(only_frame(encoded).body);
        REQUIRE(text_of(out) == "ok");
        REQUIRE(out->first_tick == in.first_tick);
        REQUIRE(out->count == in.count);
        REQUIRE(out->input_ack == in.input_ack);
        REQUIRE(out->margin_ms == in.margin_ms);
        REQUIRE(out->has_hash == in.has_hash);
        REQUIRE(out->hash_tick == in.hash_tick);
        REQUIRE(out->hash == in.hash);
        REQUIRE(to_hex_text(out->body) == to_hex_text(in.body));
    }
}

TEST_CASE("blob frames come back as they went", "[net][property]") {
    TWINSTEP_SHOW_SEED();
    Values values;
    for (int round = 0; round < rounds; ++round) {
        Bytes encoded;
        const BlobKind kind = values.coin() ? BlobKind::manifest : BlobKind::snapshot;
        const BlobOffer offer{values.word(),
                              kind,
                              kind == BlobKind::manifest ? 0 : values.tick(),
                              static_cast<std::uint32_t>(1 + values.below(blob_bytes_max(kind))),
                              values.hash(),
                              values.wide()};
        encode(offer, encoded);
        const auto offered = decode_blob_offer(only_frame(encoded).body);
        REQUIRE(text_of(offered) == "ok");
        REQUIRE(std::tie(offered->id, offered->kind, offered->tick, offered->size) ==
                std::tie(offer.id, offer.kind, offer.tick, offer.size));
        REQUIRE(offered->digest == offer.digest);
        REQUIRE(offered->chain == offer.chain);
        const Bytes bytes = values.bytes(1 + values.below(chunk_bytes_max));
        const BlobChunk chunk{
            values.word(), static_cast<std::uint32_t>(values.below(chunks_max)), bytes};
        encoded.clear();
        encode(chunk, encoded);
        REQUIRE(encoded.size() <= 1110);
        const auto cut = decode_blob_chunk(only_frame(encoded).body);
        REQUIRE(text_of(cut) == "ok");
        REQUIRE(std::tie(cut->id, cut->index) == std::tie(chunk.id, chunk.index));
        REQUIRE(to_hex_text(cut->bytes) == to_hex_text(bytes));
        BlobAck ack{values.word(), static_cast<std::uint32_t>(values.below(chunks_max + 1)), {}};
        for (std::uint64_t& word : ack.bitmap) {
            word = values.coin() ? values.wide() : 0;
        }
        encoded.clear();
        encode(ack, encoded);
        const auto acked = decode_blob_ack(only_frame(encoded).body);
        REQUIRE(text_of(acked) == "ok");
        REQUIRE(std::tie(acked->id, acked->next, acked->bitmap) ==
                std::tie(ack.id, ack.next, ack.bitmap));
    }
}

TEST_CASE("frames of the search come back as they went", "[net][property]") {
    TWINSTEP_SHOW_SEED();
    Values values;
    for (int round = 0; round < rounds; ++round) {
        Bytes encoded;
        HashQuery query{values.tick(), 0};
        query.last = query.first +
                     std::min<std::uint64_t>(tick_max - query.first, values.below(hash_answer_max));
        encode(query, encoded);
        const auto asked = decode_hash_query(only_frame(encoded).body);
        REQUIRE(std::tie(asked->first, asked->last) == std::tie(query.first, query.last));
        HashAnswer answer{std::min(values.tick(), tick_max - hash_answer_max),
                          static_cast<std::uint8_t>(values.below(hash_answer_max + 1)),
                          {}};
        for (std::size_t i = 0; i < answer.count; ++i) {
            answer.hashes[i] = values.hash();
        }
        encoded.clear();
        encode(answer, encoded);
        REQUIRE(encoded.size() <= plaintext_bytes_max);
        const auto hashes = decode_hash_answer(only_frame(encoded).body);
        REQUIRE(text_of(hashes) == "ok");
        REQUIRE(std::tie(hashes->first, hashes->count, hashes->hashes) ==
                std::tie(answer.first, answer.count, answer.hashes));
        SectionAnswer sections{
            values.tick(), static_cast<std::uint16_t>(values.below(section_answer_max + 1)), {}};
        for (std::size_t i = 0; i < sections.count; ++i) {
            sections.sections[i] = values.word();
        }
        encoded.clear();
        encode(sections, encoded);
        REQUIRE(encoded.size() <= plaintext_bytes_max);
        const auto parts = decode_section_answer(only_frame(encoded).body);
        REQUIRE(std::tie(parts->tick, parts->count, parts->sections) ==
                std::tie(sections.tick, sections.count, sections.sections));
        const Bytes name = values.bytes(values.below(64));
        Verdict verdict{values.coin() ? Blame::peer : Blame::disputed,
                        values.tick(),
                        values.coin(),
                        {},
                        text_view(name)};
        if (verdict.has_slot) {
            verdict.slot.value = static_cast<std::uint16_t>(values.below(match_slots_max));
        }
        encoded.clear();
        encode(verdict, encoded);
        const auto said = decode_verdict(only_frame(encoded).body);
        REQUIRE(text_of(said) == "ok");
        REQUIRE(
            std::tie(said->blame, said->tick, said->has_slot, said->slot, said->section) ==
            std::tie(verdict.blame, verdict.tick, verdict.has_slot, verdict.slot, verdict.section));
    }
}

TEST_CASE("handshake packets come back as they went", "[net][property]") {
    TWINSTEP_SHOW_SEED();
    Values values;
    for (int round = 0; round < 500; ++round) {
        Random16 random{};
        const Bytes sixteen = values.bytes(16);
        std::copy(sixteen.begin(), sixteen.end(), random.begin());
        const Bytes handshake = values.bytes(values.below(connect_handshake_bytes_max + 1));
        const Connect connect{random,
                              static_cast<std::uint8_t>(values.below(256)),
                              values.wide(),
                              static_cast<Mode>(values.below(3)),
                              static_cast<std::uint8_t>(values.below(256)),
                              handshake};
        Bytes encoded;
        encode(connect, encoded);
        REQUIRE(encoded.size() == datagram_bytes_max);
        const auto out = decode_connect(encoded);
        REQUIRE(text_of(out) == "ok");
        REQUIRE(std::tie(out->client_random, out->secret_index, out->tag, out->mode, out->minor) ==
                std::tie(random, connect.secret_index, connect.tag, connect.mode, connect.minor));
        REQUIRE(to_hex_text(out->handshake) == to_hex_text(handshake));
        const ByteView part =
            ByteView(handshake).first(std::min(handshake.size(), accept_handshake_bytes_max));
        encoded.clear();
        encode(Accept{random, static_cast<std::uint16_t>(values.wide()), part}, encoded);
        REQUIRE(encoded.size() <= accept_bytes_max);
        const auto accept = decode_accept(encoded);
        REQUIRE(text_of(accept) == "ok");
        REQUIRE(to_hex_text(accept->handshake) == to_hex_text(part));
        encoded.clear();
        const Bytes name = values.bytes(values.below(name_bytes_max + 1));
        const ConnectPayload payload{values.coin() ? Role::player : Role::spectator,
                                     values.hash(),
                                     values.wide(),
                                     round % 2 == 0,
                                     round % 2 == 0 ? random : Random16{},
                                     text_view(name)};
        encode(payload, encoded);
        const auto inside = decode_connect_payload(encoded);
        REQUIRE(text_of(inside) == "ok");
        REQUIRE(std::tie(inside->role, inside->build, inside->match_id, inside->has_ticket) ==
                std::tie(payload.role, payload.build, payload.match_id, payload.has_ticket));
        REQUIRE(std::tie(inside->ticket, inside->name) == std::tie(payload.ticket, payload.name));
    }
}

TEST_CASE("a tick's exchange allocates nothing once it runs", "[net]") {
    TestRandom random(5);
    const Bytes neutral(4);
    std::vector<Bytes> values;
    for (int i = 0; i < 512; ++i) {
        values.push_back(random_bytes(random, 4));
    }
    std::vector<Bytes> frames(400);
    for (std::uint64_t i = 0; i < frames.size(); ++i) {
        TickFrame frame;
        frame.reset(Tick{i}, 4);
        for (std::uint16_t slot = 0; slot < 4; ++slot) {
            if (slot != 3 || i % 7 != 0) {
                frame.set_input(Slot{slot}, values[random.below(512)], i % 9 == slot);
            }
        }
        if (i % 50 == 3) {
            frame.add_event(EventKind::marker, neutral);
        }
        encode_frame(frame, frames[i]);
    }
    BundleWriter writer;
    BundleReader reader(4);
    Bytes body;
    Bytes packet;
    Bytes runs;
    std::vector<ByteView> views;
    const auto exchange = [&](std::size_t at) {
        const std::size_t count = 1 + at % 12;
        views.clear();
        runs.clear();
        packet.clear();
        RunWriter inputs(runs, neutral);
        for (std::size_t i = 0; i < count; ++i) {
            views.emplace_back(frames[at + i]);
            inputs.add(values[(at + i) / 3]);
        }
        inputs.finish();
        encode_inputs({at, at + 3, true, at, 7, runs}, false, packet);
        REQUIRE(writer.encode(views, neutral, 1100, body) == count);
        encode_ticks(
            {at, static_cast<std::uint8_t>(count), at + 3, 20, true, at, 7, body}, true, packet);
        FrameReader cutter(packet);
        Frame frame;
        REQUIRE(cutter.next(frame).value());
        const auto up = decode_inputs(frame.body);
        RunReader back(up->runs, neutral, 64);
        while (!back.at_end()) {
            REQUIRE(back.next());
        }
        REQUIRE(cutter.next(frame).value());
        REQUIRE(reader.decode(*decode_ticks(frame.body), neutral));
        REQUIRE(reader.frame(count - 1).tick() == Tick{at + count - 1});
    };
    for (std::size_t at = 0; at < 380; ++at) {
        exchange(at);
    }
    const AllocationCounter allocations;
    for (std::size_t at = 0; at < 380; ++at) {
        exchange(at);
    }
    const std::uint64_t count = allocations.count();
    CHECK(count == 0);
}
