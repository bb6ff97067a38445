// SPDX-License-Identifier: MIT
// Signature frames: any bytes where one stands, in a recording that is right otherwise.
#include "fuzz_targets.hpp"
#include "recording_support.hpp"

#include "twinstep/replay/signature.hpp"

#include <algorithm>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

constexpr std::uint8_t signature_tag = 0x42;

/// A key that everybody knows.
PublicKey fuzz_key(Bytes* genuine, const Bytes& plain) {
    std::array<std::byte, secret_seed_bytes> seed{};
    seed.fill(std::byte{0x55});
    const auto key = SigningKey::from_seed(seed);
    if (!key) {
        return {};
    }
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(plain);
    require(sign(std::move(*reader), std::make_unique<MemorySink>(plan), *key).has_value(),
            "a recording cannot be signed");
    auto made = Reader::from_memory(plan->file);
    for (auto record = made->next(); record && record->kind != RecordKind::end;
         record = made->next()) {
        if (record->tag == signature_tag) {
            genuine->assign(record->payload.begin(), record->payload.end());
        }
    }
    return key->public_key();
}

struct SignedFixture {
    Bytes plain = record_small_chunks(4, 2);
    Bytes genuine; ///< The payload that holds; empty without libsodium.
    PublicKey key = fuzz_key(&genuine, plain);
};

const SignedFixture& signed_fixture() {
    static const SignedFixture fixture;
    return fixture;
}

/// The recording with a signature frame behind its last chunk.
Bytes with_frame(const Bytes& plain, ByteView payload) {
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(plain);
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), reader->head());
    bool written = true;
    for (auto record = reader->next(); record->kind != RecordKind::end; record = reader->next()) {
        if (record->kind == RecordKind::tick) {
            written = written && writer->write_tick(record->tick.hash,
                                                    record->tick.section_bytes,
                                                    record->tick.encoded);
        } else if (record->kind == RecordKind::chunk_end) {
            written = written &&
                      writer->write_chunk_end(record->chunk_end.state, record->chunk_end.sections);
        } else {
            written =
                written && writer->write_frame(signature_tag, payload) && writer->write_trailer();
        }
    }
    require(written && writer->close(), "a frame cannot be written");
    return plan->file;
}

} // namespace

void fuzz_signature(ByteView bytes) {
    const SignedFixture& fixture = signed_fixture();
    const Bytes file = with_frame(fixture.plain, bytes);
    auto reader = Reader::from_memory(file, ReadMode::strict);
    require(reader.has_value(), "a signature makes a recording unreadable");
    const auto report = check_signatures(std::move(*reader), fixture.key);
    if (!has_signatures()) {
        require(!report, "a signature is judged without libsodium");
        return;
    }
    require(report.has_value(), "a signature makes a recording unreadable");
    require(report->valid + report->invalid + report->others == 1, "a signature is not counted");
    const bool genuine =
        std::equal(bytes.begin(), bytes.end(), fixture.genuine.begin(), fixture.genuine.end());
    require((report->valid == 1) == genuine, "a signature that nobody made is valid");
}

std::vector<Bytes> signature_seeds() {
    Bytes payload = signed_fixture().genuine;
    payload.resize(144);
    std::vector<Bytes> seeds{payload};
    constexpr std::array<std::size_t, 6> places{0, 2, 4, 16, 48, 100};
    for (const std::size_t at : places) {
        seeds.push_back(payload);
        seeds.back()[at] ^= std::byte{1};
    }
    seeds.emplace_back();
    return seeds;
}
