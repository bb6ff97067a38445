// SPDX-License-Identifier: MIT
// Signatures: known answers, what they cover, and that nothing else passes for one.
#include "compression.hpp"
#include "pack_support.hpp"
#include "record_pass.hpp"
#include "signature_crypto.hpp"
#include "signature_payload.hpp"

#include "twinstep/replay/signature.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

std::array<std::byte, 32> bytes32(const char* hex) {
    std::array<std::byte, 32> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(std::stoi(std::string(hex + 2 * i, 2), nullptr, 16));
    }
    return bytes;
}

SigningKey test_key(std::uint8_t number = 1) {
    std::array<std::byte, secret_seed_bytes> seed{};
    seed.fill(static_cast<std::byte>(number));
    auto key = SigningKey::from_seed(seed);
    REQUIRE(key);
    return std::move(*key);
}

Bytes sign_bytes(ByteView bytes,
                 const SigningKey& key,
                 const SignOptions& options = {},
                 SignReport* report = nullptr) {
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(bytes);
    REQUIRE(reader);
    const auto made = sign(std::move(*reader), std::make_unique<MemorySink>(plan), key, options);
    INFO((made ? std::string() : to_string(made.error())));
    REQUIRE(made);
    if (report != nullptr) {
        *report = *made;
    }
    return plan->file;
}

SignatureReport judge(ByteView bytes, const PublicKey& key) {
    auto reader = Reader::from_memory(bytes, ReadMode::prefix);
    REQUIRE(reader);
    auto report = check_signatures(std::move(*reader), key);
    REQUIRE(report);
    return *report;
}

struct Piece {
    std::uint8_t tag = 0;
    Bytes payload;
    Bytes record; ///< Whole, with its check.
};

/// A file as its head and its records.
std::vector<Piece> pieces_of(const Bytes& file, Bytes& head) {
    std::vector<Piece> pieces;
    auto reader = Reader::from_memory(file, ReadMode::strict);
    REQUIRE(reader);
    head.assign(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(reader->bytes()));
    for (auto record = reader->next(); record && record->kind != RecordKind::end;
         record = reader->next()) {
        const auto start = file.begin() + static_cast<std::ptrdiff_t>(record->offset);
        pieces.push_back({record->tag,
                          Bytes(record->payload.begin(), record->payload.end()),
                          Bytes(start, start + static_cast<std::ptrdiff_t>(record->size))});
    }
    return pieces;
}

bool is_signature(const Piece& piece) {
    return piece.tag == static_cast<std::uint8_t>(RecordTag::signature);
}

/// The frame's payload in `file`; there must be just one.
Bytes signature_of(const Bytes& file) {
    Bytes head;
    Bytes payload;
    for (const Piece& piece : pieces_of(file, head)) {
        if (is_signature(piece)) {
            REQUIRE(payload.empty());
            payload = piece.payload;
        }
    }
    REQUIRE(payload.size() == signature_payload_bytes);
    return payload;
}

/// `file` with its signatures replaced by one frame with `payload` after chunk end `boundary`, all
/// checks right: what somebody who can write files would make.
Bytes with_signature(const Bytes& file, ByteView payload, std::uint64_t boundary) {
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(file, ReadMode::strict);
    REQUIRE(reader);
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), reader->head());
    REQUIRE(writer);
    for (auto record = reader->next(); record && record->kind != RecordKind::end;
         record = reader->next()) {
        if (record->tag != 0x42) {
            REQUIRE(copy_record(*writer, *record));
        }
        if (record->kind == RecordKind::chunk_end && writer->chunks() == boundary) {
            REQUIRE(writer->write_frame(0x42, payload));
        }
    }
    REQUIRE(writer->close());
    return plan->file;
}

Bytes ten_chunks(SessionId session = test_session()) {
    return record_small_chunks(40, 4, 1, session);
}

} // namespace

TEST_CASE("Ed25519 gives the known answers of RFC 8032", "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const auto seed = bytes32("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    auto key = SigningKey::from_seed(seed);
    REQUIRE(key);
    CHECK(to_hex(key->public_key()) ==
          "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    const auto signature = key->sign({});
    CHECK(to_hex(signature) == "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb"
                               "8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b");
    const auto seed2 = bytes32("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
    auto key2 = SigningKey::from_seed(seed2);
    REQUIRE(key2);
    CHECK(to_hex(key2->sign(Bytes{std::byte{0x72}})) ==
          "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613"
          "d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
}

TEST_CASE("what is signed is BLAKE2b-256 behind a domain of 32 bytes",
          "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    // Computed with Python's hashlib: b"twinstep.signature".ljust(32, b"\0") + bytes(80) +
    // bytes(32).
    CHECK(to_hex(signature_message(Bytes(signature_statement_bytes), Digest256{})) ==
          "2fe204ecdcf2e4fa469343ea8817880211791fe69e73d7ad4fe265548c88c3ac");
}

TEST_CASE("a whole recording is signed to its end", "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const SigningKey key = test_key();
    const Bytes plain = ten_chunks();
    SignReport made;
    const Bytes file = sign_bytes(plain, key, {}, &made);
    CHECK(made.signatures == 1);
    CHECK(made.ticks == 40);
    CHECK(made.covered_ticks == 40);
    CHECK(made.ends);
    CHECK(made.bytes == file.size());
    CHECK(file.size() == plain.size() + signature_record_bytes);
    CHECK(chain_of(file) == chain_of(plain));
    const SignatureReport report = judge(file, key.public_key());
    CHECK(report.covers_all());
    CHECK(report.valid == 1);
    CHECK(report.covered_ticks == 40);
    CHECK(report.state == FileState::closed);
    REQUIRE(report.claims.size() == 1);
    CHECK(report.claims[0].key == key.public_key());
    CHECK(report.claims[0].chunks == 10);

    const SignatureReport other = judge(file, test_key(2).public_key());
    CHECK_FALSE(other.covers_all());
    CHECK(other.valid == 0);
    CHECK(other.others == 1);
    const SignatureReport stripped = judge(plain, key.public_key());
    CHECK(stripped.valid + stripped.invalid + stripped.others == 0);
    CHECK_FALSE(stripped.covers_all());
}

TEST_CASE("each flipped bit of a signed file is noticed", "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const SigningKey key = test_key();
    Bytes file = sign_bytes(record_small_chunks(4, 2), key);
    const std::size_t trailer = file.size() - 54;
    for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
        INFO("bit " << bit);
        file[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        if (auto reader = Reader::from_memory(file, ReadMode::prefix)) {
            const auto report = check_signatures(std::move(*reader), key.public_key());
            REQUIRE(report);
            // Behind the signature only the trailer stands.
            CHECK(report->state != FileState::closed);
            CHECK((report->valid == 0 || bit / 8 >= trailer));
        }
        file[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
}

TEST_CASE("each flipped bit of a signature is noticed though all checks are right",
          "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const SigningKey key = test_key();
    const Bytes file = sign_bytes(record_small_chunks(4, 2), key);
    Bytes payload = signature_of(file);
    REQUIRE(judge(with_signature(file, payload, 2), key.public_key()).covers_all());
    for (std::size_t bit = 0; bit < payload.size() * 8; ++bit) {
        INFO("bit " << bit);
        payload[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        const SignatureReport report = judge(with_signature(file, payload, 2), key.public_key());
        CHECK(report.state == FileState::closed);
        CHECK(report.valid == 0);
        CHECK(report.invalid + report.others == 1);
        payload[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
    payload.push_back(std::byte{0});
    CHECK(judge(with_signature(file, payload, 2), key.public_key()).others == 1);
    payload.resize(signature_payload_bytes - 1);
    CHECK(judge(with_signature(file, payload, 2), key.public_key()).others == 1);
}

TEST_CASE("a signature from another file or another place does not hold",
          "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const SigningKey key = test_key();
    const Bytes file = ten_chunks();
    const Bytes other_session = sign_bytes(ten_chunks(test_session(9)), key);
    const SignatureReport copied =
        judge(with_signature(file, signature_of(other_session), 10), key.public_key());
    CHECK(copied.valid == 0);
    CHECK(copied.invalid == 1);

    const Bytes payload = signature_of(sign_bytes(file, key, {0, Tick{20}}));
    const SignatureReport there = judge(with_signature(file, payload, 5), key.public_key());
    CHECK(there.valid == 1);
    CHECK(there.covered_ticks == 20);
    for (const std::uint64_t boundary : {1U, 4U, 6U, 10U}) {
        const SignatureReport moved =
            judge(with_signature(file, payload, boundary), key.public_key());
        CHECK(moved.valid == 0);
        CHECK(moved.invalid == 1);
    }
}

TEST_CASE("a signature covers the recording's bytes, not only its chain",
          "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    // XXH3 is no wall: who can find two recordings with one chain must still not find two with one
    // digest. Here the claim alone is right and the bytes are not.
    const SigningKey key = test_key();
    const Bytes file = record_small_chunks(4, 2);
    auto changed_head = Reader::from_memory(file)->head();
    ContentDigest one(changed_head);
    changed_head.manifest["record.note"] = "x";
    ContentDigest two(changed_head);
    CHECK(one.value() != two.value());
    const Digest256 before = one.value();
    one.add(ByteView(file).first(1));
    CHECK(one.value() != before);

    Bytes payload = signature_of(sign_bytes(file, key));
    const Digest256 wrong =
        signature_message(ByteView(payload).first(signature_statement_bytes), two.value());
    const auto forged = key.sign(wrong);
    std::copy(forged.begin(),
              forged.end(),
              payload.begin() + static_cast<std::ptrdiff_t>(signature_statement_bytes));
    CHECK(judge(with_signature(file, payload, 2), key.public_key()).invalid == 1);
}

TEST_CASE("the digest of a recording covers every record of its chunks, whole",
          "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    TestRecording recording;
    TickFrame frame;
    frame.reset(Tick{0}, 1);
    recording.tick(frame);
    REQUIRE(recording.writer->write_record(0x80, Bytes(200, std::byte{5}))); // an application's
    recording.end_chunk();
    const Bytes file = recording.close();
    using Change = void (*)(Record&);
    constexpr std::size_t none = SIZE_MAX;
    // With record `index` changed, or left out.
    const auto digest = [&file](std::size_t index, Change change) {
        auto reader = Reader::from_memory(file, ReadMode::strict);
        REQUIRE(reader);
        ContentDigest content(reader->head());
        for (std::size_t i = 0; i < 3; ++i) {
            auto record = reader->next();
            REQUIRE(record);
            if (i != index || change != nullptr) {
                if (i == index) {
                    change(*record);
                }
                content.add(*record);
            }
        }
        return content.value();
    };
    const Digest256 whole = digest(none, nullptr);
    for (std::size_t index = 0; index < 3; ++index) {
        INFO("record " << index);
        CHECK(digest(index, nullptr) != whole);
        CHECK(digest(index, [](Record& it) { it.tag ^= 0x10; }) != whole);
        CHECK(digest(index, [](Record& it) { it.check ^= 0x80000000; }) != whole);
        CHECK(digest(index, [](Record& it) {
                  it.payload = it.payload.first(it.payload.size() - 1);
              }) != whole);
    }
    // The bytes as a recorder sees them, after the head and before the trailer, are the same.
    auto reader = Reader::from_memory(file, ReadMode::strict);
    REQUIRE(reader);
    ContentDigest content(reader->head());
    Bytes head;
    for (const Piece& piece : pieces_of(file, head)) {
        if (piece.tag != 3) {
            content.add(piece.record);
        }
    }
    CHECK(content.value() == whole);
}

TEST_CASE("what a signature says of its place must be so, whoever signed it",
          "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    // Signed by the key's owner over the right bytes: nothing but the statement is wrong.
    const SigningKey key = test_key();
    const Bytes file = record_small_chunks(4, 2);
    auto reader = Reader::from_memory(file);
    REQUIRE(reader);
    ContentDigest content(reader->head());
    for (auto record = reader->next(); record && record->kind != RecordKind::end;
         record = reader->next()) {
        content.add(*record);
    }
    const auto judged = [&](const SignatureStatement& statement) {
        Bytes payload;
        encode_statement(statement, payload);
        const auto signature = key.sign(signature_message(payload, content.value()));
        payload.insert(payload.end(), signature.begin(), signature.end());
        return judge(with_signature(file, payload, 2), key.public_key());
    };
    const Result<SignaturePayload> made = decode_signature(signature_of(sign_bytes(file, key)));
    REQUIRE(made);
    const SignatureStatement good = made->statement;
    CHECK(judged(good).covers_all());
    using Change = void (*)(SignatureStatement&);
    for (const Change change : std::initializer_list<Change>{
             [](SignatureStatement& it) { ++it.chunks; },
             [](SignatureStatement& it) { --it.chunks; },
             [](SignatureStatement& it) { ++it.first.value; },
             [](SignatureStatement& it) { ++it.ticks; },
             [](SignatureStatement& it) { --it.ticks; },
             [](SignatureStatement& it) { ++it.lost_ticks; },
             [](SignatureStatement& it) { it.chain.low ^= 1; },
             [](SignatureStatement& it) { it.chain.high ^= 1; },
         }) {
        SignatureStatement statement = good;
        change(statement);
        const SignatureReport report = judged(statement);
        CHECK(report.valid == 0);
        CHECK(report.invalid == 1);
        CHECK(report.covered_ticks == 0);
    }
}

TEST_CASE("a signature of a form that is not known is neither valid nor held against the key",
          "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const SigningKey key = test_key();
    const Bytes file = sign_bytes(record_small_chunks(4, 2), key);
    const Bytes good = signature_of(file);

    struct Form {
        const char* what;
        std::size_t at;
        std::vector<int> bytes;
    };

    const std::vector<Form> forms{
        {"a later version", 0, {2}},
        {"another algorithm", 1, {2}},
        {"an end that is neither yes nor no", 2, {2}},
        {"something in the reserved byte", 3, {1}},
        {"no chunks", 4, {0, 0, 0, 0}},
        {"no ticks", 16, {0, 0, 0, 0, 0, 0, 0, 0}},
        {"a loss without an end", 2, {0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                      0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1}},
    };
    for (const Form& form : forms) {
        INFO(form.what);
        Bytes payload = good;
        for (std::size_t i = 0; i < form.bytes.size(); ++i) {
            payload[form.at + i] = static_cast<std::byte>(form.bytes[i]);
        }
        const SignatureReport report = judge(with_signature(file, payload, 2), key.public_key());
        CHECK(report.valid == 0);
        CHECK(report.invalid == 0);
        CHECK(report.others == 1);
        REQUIRE(report.claims.size() == 1);
        CHECK(report.claims[0].verdict == SignatureVerdict::unknown);
    }
}

TEST_CASE("cut at any byte, a file keeps its last valid signature", "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const SigningKey key = test_key();
    const Bytes file = sign_bytes(ten_chunks(), key, {3, {}});
    std::vector<std::pair<std::size_t, std::uint64_t>> ends;
    Outcome whole = read_all(file);
    std::uint64_t ticks = 0;
    for (const Record& record : whole.records) {
        ticks += record.kind == RecordKind::tick ? 1U : 0U;
        if (record.tag == 0x42) {
            ends.emplace_back(static_cast<std::size_t>(record.offset + record.size), ticks);
        }
    }
    REQUIRE(ends.size() == 4);
    CHECK(ends[0].second == 12);
    for (std::size_t size = static_cast<std::size_t>(whole.records[0].offset); size < file.size();
         ++size) {
        std::uint64_t expected = 0;
        for (const auto& [end, covered] : ends) {
            expected = size >= end ? covered : expected;
        }
        const SignatureReport report = judge(ByteView(file).first(size), key.public_key());
        CHECK(report.invalid == 0);
        CHECK(report.covered_ticks == expected);
        CHECK(report.state != FileState::closed);
    }
    CHECK(judge(file, key.public_key()).covers_all());
}

TEST_CASE("a recording cut at a signed place and closed again has no signed end",
          "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const SigningKey key = test_key();
    const Bytes all = sign_bytes(ten_chunks(), key, {5, {}});
    // What an attacker makes of it: the first half, and a trailer that fits.
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(all);
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), reader->head());
    while (writer->chunks() < 5) {
        REQUIRE(copy_record(*writer, *reader->next()));
    }
    REQUIRE(writer->write_frame(0x42, reader->next()->payload));
    REQUIRE(writer->write_trailer());
    REQUIRE(writer->close());
    const SignatureReport report = judge(plan->file, key.public_key());
    CHECK(report.state == FileState::closed);
    CHECK(report.valid == 1);
    CHECK(report.covered_ticks == report.ticks);
    CHECK_FALSE(report.ends);
    CHECK_FALSE(report.covers_all());
}

TEST_CASE("ticks or a loss behind a signed end are told", "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const SigningKey key = test_key();
    const Bytes half = sign_bytes(record_small_chunks(20, 4), key);
    const Bytes more = with_signature(ten_chunks(), signature_of(half), 5);
    const SignatureReport report = judge(more, key.public_key());
    // The manifest and the first 20 ticks of both are the same.
    CHECK(report.valid == 1);
    CHECK(report.covered_ticks == 20);
    CHECK(report.continued);
    CHECK_FALSE(report.ends);
    CHECK_FALSE(report.covers_all());

    // A loss frame behind the end.
    Bytes head;
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(half);
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), reader->head());
    for (auto record = reader->next(); record->kind != RecordKind::end; record = reader->next()) {
        if (record->kind != RecordKind::trailer) {
            REQUIRE(copy_record(*writer, *record));
        }
    }
    REQUIRE(writer->write_frame(0x43, Bytes{std::byte{20}, std::byte{7}, std::byte{1}}));
    REQUIRE(writer->write_trailer());
    REQUIRE(writer->close());
    const SignatureReport lossy = judge(plan->file, key.public_key());
    CHECK(lossy.valid == 1);
    CHECK(lossy.continued);
    CHECK_FALSE(lossy.covers_all());

    // Signed anew, the loss belongs to what is vouched for, and cannot be taken away.
    const Bytes honest = sign_bytes(plan->file, test_key(3));
    CHECK(judge(honest, test_key(3).public_key()).covers_all());
    const Bytes payload = signature_of(sign_bytes(with_signature(plan->file, {}, 99), key));
    CHECK(judge(with_signature(half, payload, 5), key.public_key()).invalid == 1);
}

TEST_CASE("an invalid signature of the key spoils all, and costs one check however many there are",
          "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const SigningKey key = test_key();
    const Bytes file = sign_bytes(ten_chunks(), key);
    Bytes payload = signature_of(file);
    payload.back() ^= std::byte{1};
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(file);
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), reader->head());
    for (auto record = reader->next(); record->kind != RecordKind::end; record = reader->next()) {
        if (record->kind == RecordKind::frame) {
            for (int i = 0; i < 3; ++i) {
                REQUIRE(writer->write_frame(record->tag, record->payload));
            }
            for (int i = 0; i < 2000; ++i) {
                REQUIRE(writer->write_frame(record->tag, payload));
            }
        } else {
            REQUIRE(copy_record(*writer, *record));
        }
    }
    REQUIRE(writer->close());
    const SignatureReport report = judge(plan->file, key.public_key());
    CHECK(report.valid == 3);
    CHECK(report.invalid == 2000);
    CHECK(report.claims.size() == signature_claims_max);
    CHECK(report.claims[3].verdict == SignatureVerdict::invalid);
    CHECK(report.claims[4].verdict == SignatureVerdict::unchecked);
    CHECK_FALSE(report.covers_all());
}

TEST_CASE("packing and unpacking keep signatures", "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const SigningKey key = test_key();
    const Bytes file = sign_bytes(ten_chunks(), key, {2, {}});
    for (const int level : {0, 19}) {
        const Bytes packed = pack_bytes(file, {level, true});
        const SignatureReport report = judge(packed, key.public_key());
        CHECK(report.valid == 5);
        CHECK(report.covers_all());
        CHECK(unpack_bytes(packed) == file);
    }
    PackReport dropped;
    const Bytes without = pack_bytes(file, {0, false}, &dropped);
    CHECK(dropped.signatures_dropped == 5);
    CHECK(judge(without, key.public_key()).claims.empty());

    auto reader = Reader::from_memory(pack_bytes(file, {0, true}));
    auto plan = std::make_shared<SinkPlan>();
    const auto refused = sign(std::move(*reader), std::make_unique<MemorySink>(plan), key);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::unsupported_version);
    CHECK(plan->file.empty());
}

TEST_CASE("several people sign one recording", "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const Bytes both = sign_bytes(sign_bytes(ten_chunks(), test_key(1)), test_key(2));
    CHECK(judge(both, test_key(1).public_key()).covers_all());
    const SignatureReport second = judge(both, test_key(2).public_key());
    CHECK(second.covers_all());
    CHECK(second.others == 1);
}

TEST_CASE("only a place where a chunk ends can be signed", "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const SigningKey key = test_key();
    const Bytes file = ten_chunks();
    for (const std::uint64_t tick : {1U, 3U, 5U, 41U}) {
        auto reader = Reader::from_memory(file);
        auto plan = std::make_shared<SinkPlan>();
        const auto refused =
            sign(std::move(*reader), std::make_unique<MemorySink>(plan), key, {0, Tick{tick}});
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == Errc::wrong_tick);
        CHECK(plan->file.empty());
    }
    SignReport report;
    const Bytes open = sign_bytes(record_toy({.ticks = 650, .close = false}), key, {}, &report);
    CHECK(report.ticks == 650);
    CHECK(report.covered_ticks == 600);
    CHECK_FALSE(report.ends);
    CHECK(judge(open, key.public_key()).covered_ticks == 600);
    CHECK(judge(open, key.public_key()).ticks == 650);

    sign_bytes(record_toy({.ticks = 0}), key, {}, &report);
    CHECK(report.signatures == 0);
    sign_bytes(record_toy({.ticks = 5, .close = false}), key, {}, &report);
    CHECK(report.signatures == 0);
}

TEST_CASE("a reader that has begun to read signs nothing", "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const Bytes file = ten_chunks();
    auto reader = Reader::from_memory(file);
    REQUIRE(reader);
    REQUIRE(reader->next());
    auto plan = std::make_shared<SinkPlan>();
    const auto refused = sign(std::move(*reader), std::make_unique<MemorySink>(plan), test_key());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::wrong_tick);
    CHECK(plan->file.empty());
}

TEST_CASE("a recording of version 1.0 is not signed, whatever records it holds",
          "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    auto plain = std::make_shared<SinkPlan>();
    Head head;
    head.session = test_session();
    head.incompatible = 0;
    head.manifest = {{sections_key, "s"}};
    auto writer = Writer::create(std::make_unique<MemorySink>(plain), head);
    REQUIRE(writer);
    TickFrame frame;
    frame.reset(Tick{0}, 1);
    Bytes encoded;
    encode_frame(frame, encoded);
    REQUIRE(writer->write_tick(1, Bytes(1), encoded));
    // Its tag was free to be used for data then.
    REQUIRE(writer->write_record(0x42,
                                 signature_of(sign_bytes(record_small_chunks(4, 2), test_key()))));
    REQUIRE(writer->write_chunk_end({1, 2}, std::vector<Hash128>{{3, 4}}));
    REQUIRE(writer->write_trailer());
    REQUIRE(writer->close());
    CHECK(judge(plain->file, test_key().public_key()).claims.empty());
    auto signed_copy = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(plain->file, ReadMode::strict);
    REQUIRE(reader);
    const auto refused =
        sign(std::move(*reader), std::make_unique<MemorySink>(signed_copy), test_key());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::unsupported_version);
    CHECK(signed_copy->file.empty());
}

TEST_CASE("the keyframe of a late start is signed with what follows", "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const SigningKey key = test_key();
    const auto make = [](std::byte state) {
        auto plan = std::make_shared<SinkPlan>();
        Head head;
        head.session = test_session();
        head.incompatible = feature::changes | feature::late_start;
        head.manifest = {{sections_key, "s"}, {first_tick_key, "250"}};
        auto writer = Writer::create(std::make_unique<MemorySink>(plan), head);
        Bytes keyframe(64 + 1);
        keyframe[0] = std::byte{250};
        keyframe[16] = keyframe[24] = keyframe[36] = std::byte{1};
        keyframe[64] = state;
        REQUIRE(writer->write_frame(0x41, keyframe));
        TickFrame frame;
        frame.reset(Tick{250}, 1);
        Bytes encoded;
        encode_frame(frame, encoded);
        REQUIRE(writer->write_tick(1, Bytes(1), encoded));
        REQUIRE(writer->write_chunk_end({1, 2}, std::vector<Hash128>{{3, 4}}));
        // A later keyframe can be made again at any time and is nobody's word.
        keyframe[0] = std::byte{251};
        REQUIRE(writer->write_frame(0x41, keyframe));
        REQUIRE(writer->write_trailer());
        REQUIRE(writer->close());
        return plan->file;
    };
    const Bytes file = sign_bytes(make(std::byte{7}), key);
    CHECK(judge(file, key.public_key()).covers_all());
    const Bytes other = with_signature(make(std::byte{8}), signature_of(file), 1);
    CHECK(chain_of(other) == chain_of(file));
    CHECK(judge(other, key.public_key()).invalid == 1);
}

TEST_CASE("of frames only the keyframe that a late start begins with is in the digest",
          "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const auto frame_of = [](std::uint8_t tick) {
        Bytes payload(8);
        payload[0] = static_cast<std::byte>(tick);
        return payload;
    };
    const Bytes first = frame_of(250);
    const Bytes later = frame_of(251);
    const auto record = [](RecordKind kind, std::uint8_t tag, const Bytes& payload) {
        Record made;
        made.kind = kind;
        made.tag = tag;
        made.payload = payload;
        return made;
    };
    const Record start = record(RecordKind::frame, 0x41, first);
    const Record other = record(RecordKind::frame, 0x41, later);
    const Record no_keyframe = record(RecordKind::frame, 0x42, first);
    const Record tick = record(RecordKind::tick, 0x01, later);
    const auto digest = [](const std::vector<Record>& records, bool is_late = true) {
        Head head;
        head.session = test_session();
        head.incompatible = feature::changes | (is_late ? feature::late_start : 0);
        head.manifest = {{sections_key, "s"}};
        if (is_late) {
            head.manifest[first_tick_key] = "250";
        }
        ContentDigest content(head);
        for (const Record& each : records) {
            content.add(each);
        }
        return content.value();
    };
    const Digest256 without = digest({tick});
    const Digest256 with = digest({start, tick});
    CHECK(with != without);
    CHECK(digest({start, start, tick}) != with); // in two parts
    CHECK(digest({other, tick}) == without);
    CHECK(digest({no_keyframe, tick}) == without);
    CHECK(digest({other, start, tick}) == without);
    CHECK(digest({start, tick, start}) == with);
    CHECK(digest({start, tick}, false) == digest({tick}, false));
}

TEST_CASE("a recorder signs each chunk and the end", "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const auto key = std::make_shared<const SigningKey>(test_key());
    const auto record = [&key](std::uint64_t ticks, bool signs) {
        auto plan = std::make_shared<SinkPlan>();
        auto simulation = toy_simulation();
        ToySource source(1, ticks);
        Driver driver(*simulation, source);
        RecorderOptions options;
        options.session = test_session();
        options.signing_key = signs ? key : nullptr;
        auto recorder = Recorder::create(std::make_unique<MemorySink>(plan), *simulation, options);
        REQUIRE(recorder);
        driver.add(*recorder);
        REQUIRE(driver.advance(UINT64_MAX));
        REQUIRE(recorder->close());
        return plan->file;
    };
    const Bytes file = record(1300, true);
    const SignatureReport report = judge(file, key->public_key());
    CHECK(report.valid == 3);
    CHECK(report.covers_all());
    // The same as signing afterwards, but for the frames' number.
    CHECK(chain_of(file) == chain_of(record(1300, false)));
    CHECK(sign_bytes(record(1300, false), *key, {1, {}}) == file);
    CHECK(judge(record(600, true), key->public_key()).covers_all());
    CHECK(judge(record(0, true), key->public_key()).valid == 0);
}

TEST_CASE("without libsodium nothing is signed and no signature is judged",
          "[replay][unit][signature]") {
    if (has_signatures()) {
        return;
    }
    const std::array<std::byte, secret_seed_bytes> seed{};
    const auto key = SigningKey::from_seed(seed);
    REQUIRE_FALSE(key);
    CHECK(key.error().code == Errc::unsupported_version);
    const auto report = check_signatures(std::move(*Reader::from_memory(ten_chunks())), {});
    REQUIRE_FALSE(report);
    CHECK(report.error().code == Errc::unsupported_version);
}
