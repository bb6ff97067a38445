// SPDX-License-Identifier: MIT
// What is kept of damaged recordings, and that nothing wrong ever is.
#include "pack_support.hpp"
#include "recording_support.hpp"
#include "test_random.hpp"

#include "twinstep/replay/recover.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace twinstep::replay {

namespace {

constexpr std::uint64_t chunk_ticks = 4;
constexpr std::uint64_t all_ticks = 10 * chunk_ticks;

/// Ten chunks with a keyframe between any two, every other one a difference from the one before.
Bytes recording_with_keyframes(SessionId session = test_session(), std::uint64_t seed = 7) {
    const Bytes plain = record_small_chunks(all_ticks, chunk_ticks, 2, session, seed);
    auto plan = std::make_shared<SinkPlan>();
    auto simulation = toy_simulation(2, seed);
    const auto added = add_keyframes(*simulation,
                                     *Reader::from_memory(plain),
                                     std::make_unique<MemorySink>(plan),
                                     {chunk_ticks, {KeyframeCodec::zero_runs, 2}, true});
    REQUIRE(added);
    REQUIRE(added->keyframes >= 9);
    return plan->file;
}

/// A tick as a recording has it.
struct KnownTick {
    std::uint32_t hash = 0;
    Bytes encoded;

    bool operator==(const KnownTick&) const = default;
};

std::map<Tick, KnownTick> ticks_of(ByteView bytes) {
    std::map<Tick, KnownTick> ticks;
    auto reader = Reader::from_memory(bytes, ReadMode::prefix);
    REQUIRE(reader);
    for (auto record = reader->next(); record && record->kind != RecordKind::end;
         record = reader->next()) {
        if (record->kind == RecordKind::tick) {
            ticks[record->tick.tick] = {record->tick.hash,
                                        {record->tick.encoded.begin(), record->tick.encoded.end()}};
        }
    }
    return ticks;
}

struct Recovered {
    RecoverReport report;
    std::map<Tick, Bytes> files; ///< By first tick; also those that hold nothing.
};

Recovered recovered(ByteView bytes, bool later_parts = true, ByteView side_bytes = {}) {
    Recovered result;
    std::map<Tick, std::shared_ptr<SinkPlan>> plans;
    std::uint8_t session = 100;
    RecoverOptions options;
    options.later_parts = later_parts;
    options.side_bytes = side_bytes;
    options.sessions = [&session]() -> Result<SessionId> { return test_session(++session); };
    const auto report = recover(
        bytes,
        [&plans](std::size_t, Tick first) -> Result<std::unique_ptr<FileSink>> {
            plans[first] = std::make_shared<SinkPlan>();
            return std::make_unique<MemorySink>(plans[first]);
        },
        options);
    INFO((report ? std::string() : to_string(report.error())));
    REQUIRE(report);
    result.report = *report;
    for (const auto& [first, plan] : plans) {
        result.files[first] = plan->file;
    }
    return result;
}

/// Every kept tick is one of the straight run, every kept file reads back as it was reported and
/// plays without a divergence. Returns the kept ticks.
std::map<Tick, KnownTick> judge(const Recovered& result,
                                const std::map<Tick, KnownTick>& straight) {
    std::map<Tick, KnownTick> kept;
    for (const RecoveredPart& part : result.report.parts) {
        const Bytes& file = result.files.at(part.first);
        INFO("part from tick " << part.first.value << " of " << part.ticks);
        const auto proved = prove(file);
        REQUIRE(proved);
        REQUIRE(proved->defects.empty());
        REQUIRE(proved->state == part.state);
        REQUIRE(proved->ticks == part.ticks);
        REQUIRE(proved->bytes == part.bytes);
        const auto summary = summarise(file);
        REQUIRE(summary);
        REQUIRE(summary->state == part.state);
        REQUIRE(summary->ticks == part.ticks);
        auto simulation = toy_simulation(2);
        const auto report = verify(*simulation, *Reader::from_memory(file, ReadMode::strict));
        INFO((report ? std::string() : to_string(report.error())));
        REQUIRE(report);
        REQUIRE_FALSE(report->divergence);
        REQUIRE(report->ticks == part.ticks);
        for (auto& [tick, known] : ticks_of(file)) {
            REQUIRE(straight.contains(tick));
            REQUIRE(straight.at(tick) == known);
            REQUIRE_FALSE(kept.contains(tick));
            kept[tick] = known;
        }
    }
    REQUIRE(kept.size() == result.report.kept_ticks);
    return kept;
}

/// Where the records of chunk `number` and its end are.
struct ChunkBytes {
    std::size_t begin = 0; ///< Of the first data record, behind the frames.
    std::size_t end = 0;   ///< Behind the chunk end.
};

std::vector<ChunkBytes> chunks_of(ByteView file) {
    std::vector<ChunkBytes> chunks;
    const Outcome outcome = read_all(file);
    std::size_t begin = 0;
    for (const Record& record : outcome.records) {
        const bool is_data = record.kind == RecordKind::tick || record.kind == RecordKind::unknown;
        if (is_data && begin == 0) {
            begin = static_cast<std::size_t>(record.offset);
        }
        if (record.kind == RecordKind::chunk_end) {
            chunks.push_back({begin, static_cast<std::size_t>(record.offset + record.size)});
            begin = 0;
        }
    }
    return chunks;
}

void erase(Bytes& bytes, std::size_t from, std::size_t size) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(from);
    bytes.erase(begin, begin + static_cast<std::ptrdiff_t>(size));
}

void insert(Bytes& bytes, std::size_t at, ByteView more) {
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
}

Bytes piece(ByteView bytes, const ChunkBytes& chunk) {
    const ByteView part = bytes.subspan(chunk.begin, chunk.end - chunk.begin);
    return {part.begin(), part.end()};
}

/// One accident.
std::string hurt(Bytes& file, const Bytes& other, TestRandom& random) {
    const std::vector<ChunkBytes> chunks = chunks_of(file);
    const std::size_t at = random.below(file.size());
    switch (random.below(9)) {
    case 0:
        file[at] ^= static_cast<std::byte>(1U << random.below(8));
        return "flip at " + std::to_string(at);
    case 1:
        file.resize(at);
        return "cut at " + std::to_string(at);
    case 2: {
        const std::size_t size = std::min(file.size() - at, 1 + random.below(300));
        const Bytes noise = random_bytes(random, size);
        std::copy(noise.begin(), noise.end(), file.begin() + static_cast<std::ptrdiff_t>(at));
        return "overwrite at " + std::to_string(at);
    }
    case 3:
        insert(file, at, random_bytes(random, 1 + random.below(500)));
        return "insert at " + std::to_string(at);
    case 4:
        erase(file, at, std::min(file.size() - at, 1 + random.below(500)));
        return "erase at " + std::to_string(at);
    case 5:
        if (!chunks.empty()) {
            const ChunkBytes& chunk = chunks[random.below(chunks.size())];
            insert(file, chunk.end, piece(file, chunk));
        }
        return "duplicate a chunk";
    case 6:
        if (chunks.size() > 1) {
            const std::size_t first = random.below(chunks.size() - 1);
            const ChunkBytes& second = chunks[first + 1];
            const Bytes moved = piece(file, second);
            erase(file, second.begin, second.end - second.begin);
            insert(file, chunks[first].begin, moved);
        }
        return "reorder chunks";
    case 7: {
        const std::vector<ChunkBytes> others = chunks_of(other);
        if (!chunks.empty() && !others.empty()) {
            const std::size_t number = random.below(std::min(chunks.size(), others.size()));
            const ChunkBytes& chunk = chunks[number];
            const Bytes stranger = piece(other, others[number]);
            erase(file, chunk.begin, chunk.end - chunk.begin);
            insert(file, chunk.begin, stranger);
        }
        return "splice another session's chunk";
    }
    default:
        if (at < other.size()) {
            file.resize(at);
            insert(file, at, ByteView(other).subspan(at));
        }
        return "stale tail from " + std::to_string(at);
    }
}

/// Recovers, requires that every tick a reader gets to is kept, and adds up how many are.
void count_kept(const Bytes& damaged,
                const std::map<Tick, KnownTick>& straight,
                std::uint64_t& kept_ticks,
                std::uint64_t& prefix_ticks) {
    const auto kept = judge(recovered(damaged), straight);
    const std::uint64_t prefix = read_all(damaged).ticks;
    for (std::uint64_t tick = 0; tick < prefix; ++tick) {
        REQUIRE(kept.contains(Tick{tick}));
    }
    kept_ticks += kept.size();
    prefix_ticks += prefix;
}

} // namespace

TEST_CASE("a whole recording is copied byte for byte", "[replay][recover][unit]") {
    const Bytes file = recording_with_keyframes();
    const Recovered result = recovered(file);
    CHECK(result.report.state == FileState::closed);
    CHECK(result.report.defects.empty());
    CHECK(result.report.lost_bytes == 0);
    REQUIRE(result.report.parts.size() == 1);
    CHECK(result.report.parts[0].state == FileState::closed);
    CHECK(result.files.at(Tick{0}) == file);
}

TEST_CASE("proving a file by its chunks says what reading every record does",
          "[replay][recover][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const Bytes other = recording_with_keyframes(test_session(9));
    for (int round = 0; round < 400; ++round) {
        Bytes file = round % 3 == 0 ? random_recording(random) : recording_with_keyframes();
        const std::string what = round % 2 == 0 ? hurt(file, other, random) : "nothing";
        INFO("round " << round << ": " << what);
        const auto read = summarise(file);
        const auto proved = prove(file);
        REQUIRE(read.has_value() == proved.has_value());
        if (!read) {
            CHECK(read.error().code == proved.error().code);
            continue;
        }
        CHECK(read->state == proved->state);
        CHECK(read->ticks == proved->ticks);
        CHECK(read->good_bytes == proved->good_bytes);
        CHECK(read->chunks == proved->chunks);
        CHECK(read->chain == proved->chain);
        REQUIRE(read->defects.size() == proved->defects.size());
        if (!read->defects.empty()) {
            CHECK(to_string(read->defects[0]) == to_string(proved->defects[0]));
        }
    }
}

TEST_CASE("cut anywhere, a recording keeps exactly its whole ticks", "[replay][recover][fault]") {
    const Bytes file = recording_with_keyframes();
    const auto straight = ticks_of(file);
    const std::size_t first = chunks_of(file)[0].begin;
    for (std::size_t size = first; size < file.size(); size += 7) {
        INFO("cut at " << size);
        const ByteView cut = ByteView(file).first(size);
        const Recovered result = recovered(cut);
        const std::uint64_t whole = read_all(cut).ticks;
        REQUIRE(result.report.kept_ticks == whole);
        if (whole > 0) {
            REQUIRE(result.report.parts.size() == 1);
            REQUIRE(result.report.parts[0].state == FileState::open);
            const Bytes& kept = result.files.at(Tick{0});
            REQUIRE(std::equal(kept.begin(), kept.end(), file.begin()));
            REQUIRE(result.report.lost_bytes == size - kept.size());
        } else {
            REQUIRE(result.report.parts.size() == (result.report.defects.empty() ? 1 : 0));
        }
    }
}

TEST_CASE("damage inside a chunk costs that chunk only, where keyframes follow",
          "[replay][recover][fault]") {
    const Bytes file = recording_with_keyframes();
    const auto straight = ticks_of(file);
    const auto chunks = chunks_of(file);
    for (std::size_t number = 0; number + 1 < chunks.size(); ++number) {
        INFO("chunk " << number);
        Bytes damaged = file;
        damaged[chunks[number].begin + 20] ^= std::byte{4};
        const Recovered result = recovered(damaged);
        const auto kept = judge(result, straight);
        CHECK(kept.size() >= all_ticks - chunk_ticks);
        CHECK(result.report.state == FileState::damaged);
        REQUIRE_FALSE(result.report.defects.empty());
        CHECK(result.report.defects[0].chunk == number);
        // The last part ends where the recording did.
        CHECK(result.report.parts.back().state == FileState::closed);
        CHECK(result.report.parts.size() == (kept.contains(Tick{0}) ? 2 : 1));
        const Bytes& last = result.files.at(result.report.parts.back().first);
        const auto reader = Reader::from_memory(last);
        REQUIRE(reader);
        CHECK(reader->head().session != test_session());
        CHECK(reader->manifest().at(recovered_from_key).starts_with(to_hex(test_session())));
        // Without looking behind the damage, the prefix is all there is.
        CHECK(recovered(damaged, false).report.kept_ticks == read_all(damaged).ticks);
    }
}

TEST_CASE("keyframes of a side file start later parts too", "[replay][recover][fault]") {
    const Bytes file = record_small_chunks(all_ticks, chunk_ticks, 2);
    const auto straight = ticks_of(file);
    const auto side_file = [](SessionId session, std::uint64_t seed) {
        auto plan = std::make_shared<SinkPlan>();
        auto simulation = toy_simulation(2, seed);
        const Bytes source = record_small_chunks(all_ticks, chunk_ticks, 2, session, seed);
        REQUIRE(write_side_file(*simulation,
                                *Reader::from_memory(source),
                                std::make_unique<MemorySink>(plan),
                                {chunk_ticks, {KeyframeCodec::zero_runs, 3}, true}));
        return plan->file;
    };
    const Bytes side = side_file(test_session(), 7);
    Bytes damaged = file;
    damaged[chunks_of(file)[3].begin + 20] ^= std::byte{4};
    const Recovered result = recovered(damaged, true, side);
    CHECK(judge(result, straight).size() >= all_ticks - chunk_ticks);
    CHECK(result.report.parts.size() == 2);
    // Not one of another session, nor the states of another game.
    CHECK(recovered(damaged, true, side_file(test_session(9), 7)).report.parts.size() == 1);
    CHECK(recovered(damaged, true, side_file(test_session(), 8)).report.parts.size() == 1);
    CHECK(recovered(damaged, true, Bytes(100)).report.parts.size() == 1);
}

TEST_CASE("a recovered part that is damaged again is recovered again", "[replay][recover][fault]") {
    const Bytes file = recording_with_keyframes();
    const auto straight = ticks_of(file);
    Bytes damaged = file;
    damaged[chunks_of(file)[1].begin + 20] ^= std::byte{4};
    const Recovered once = recovered(damaged);
    REQUIRE(once.report.parts.size() == 2);
    const Bytes late = once.files.at(once.report.parts[1].first);
    REQUIRE(once.report.parts[1].first == Tick{2 * chunk_ticks});
    damaged = late;
    damaged[chunks_of(late)[2].begin + 20] ^= std::byte{4};
    const Recovered twice = recovered(damaged);
    CHECK(judge(twice, straight).size() >= 7 * chunk_ticks);
    CHECK(twice.report.parts.size() == 2);
    // Without the state that it starts from, its first ticks mean nothing.
    damaged = late;
    damaged[chunks_of(late)[0].begin - 20] ^= std::byte{4};
    const Recovered thrice = recovered(damaged);
    const auto kept = judge(thrice, straight);
    CHECK_FALSE(kept.contains(Tick{2 * chunk_ticks}));
    CHECK(kept.size() == 7 * chunk_ticks);
}

TEST_CASE("damage between chunks costs no tick", "[replay][recover][fault]") {
    const Bytes file = recording_with_keyframes();
    const auto straight = ticks_of(file);
    const auto chunks = chunks_of(file);
    for (std::size_t number = 0; number + 1 < chunks.size(); ++number) {
        INFO("behind chunk " << number);
        // In the keyframe.
        Bytes damaged = file;
        damaged[chunks[number].end + 30] ^= std::byte{1};
        Recovered result = recovered(damaged);
        CHECK(judge(result, straight).size() == all_ticks);
        CHECK(result.report.parts.size() == 1);
        CHECK(result.report.parts[0].state == FileState::closed);
        CHECK(result.report.lost_bytes > 0);
        // Foreign bytes, and a chunk twice.
        for (const Bytes& more : {Bytes(777, std::byte{0xF6}), piece(file, chunks[number])}) {
            damaged = file;
            insert(damaged, chunks[number].end, more);
            result = recovered(damaged);
            CHECK(judge(result, straight).size() == all_ticks);
            CHECK(result.report.parts.size() == 1);
            // Keyframes behind a gap no longer have the place that their checks cover.
            CHECK(result.report.lost_bytes >= more.size());
        }
    }
}

TEST_CASE("chunks out of order are put back in order", "[replay][recover][fault]") {
    const Bytes file = recording_with_keyframes();
    const auto chunks = chunks_of(file);
    Bytes damaged = file;
    const Bytes moved = piece(file, chunks[6]);
    erase(damaged, chunks[6].begin, moved.size());
    insert(damaged, chunks[5].begin, moved);
    const Recovered result = recovered(damaged);
    CHECK(judge(result, ticks_of(file)).size() == all_ticks);
    CHECK(result.report.parts.size() == 1);
}

TEST_CASE("a damaged trailer leaves an open recording with every tick",
          "[replay][recover][fault]") {
    Bytes file = recording_with_keyframes();
    const auto straight = ticks_of(file);
    file[file.size() - 20] ^= std::byte{1};
    const Recovered result = recovered(file);
    CHECK(judge(result, straight).size() == all_ticks);
    CHECK(result.report.parts[0].state == FileState::open);
    CHECK(result.report.lost_bytes == 54);
}

TEST_CASE("whatever happens to a recording, nothing wrong is kept and no good prefix is lost",
          "[replay][recover][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const Bytes file = recording_with_keyframes();
    const Bytes other = recording_with_keyframes(test_session(9));
    const auto straight = ticks_of(file);
    std::uint64_t kept_ticks = 0;
    std::uint64_t prefix_ticks = 0;
    for (int round = 0; round < 1500; ++round) {
        Bytes damaged = file;
        std::string what = hurt(damaged, other, random);
        for (std::size_t more = random.below(3); more > 0 && !damaged.empty(); --more) {
            what += ", " + hurt(damaged, other, random);
        }
        INFO("round " << round << ": " << what);
        const auto opened = Reader::from_memory(damaged);
        if (!opened || opened->head().session != test_session()) {
            continue; // The head is gone, or it is the other recording as a whole.
        }
        count_kept(damaged, straight, kept_ticks, prefix_ticks);
    }
    // Seen to keep far more than prefixes do.
    CHECK(kept_ticks > prefix_ticks + prefix_ticks / 2);
}

TEST_CASE("a chunk of another history of the same session is not taken for the next",
          "[replay][recover][fault]") {
    // Same session, same places, right digests; only the link is another.
    const Bytes file = recording_with_keyframes();
    const Bytes other = recording_with_keyframes(test_session(), 8);
    const auto straight = ticks_of(file);
    const auto chunks = chunks_of(file);
    const auto others = chunks_of(other);
    for (std::size_t number = 1; number < chunks.size(); ++number) {
        INFO("chunk " << number);
        Bytes damaged = file;
        erase(damaged, chunks[number].begin, chunks[number].end - chunks[number].begin);
        insert(damaged, chunks[number].begin, piece(other, others[number]));
        const Recovered result = recovered(damaged);
        const auto kept = judge(result, straight);
        CHECK_FALSE(kept.contains(Tick{number * chunk_ticks + 1}));
        CHECK(kept.size() >= all_ticks - 2 * chunk_ticks);
    }
}

TEST_CASE("a keyframe that does not fit what the chunk end recorded starts no part",
          "[replay][recover][fault]") {
    // Keyframes of another game of the same session: right in themselves, in frames with right
    // checks.
    const Bytes other = recording_with_keyframes(test_session(), 8);
    std::map<std::uint64_t, std::vector<Bytes>> wrong; // By chunk.
    auto strange = Reader::from_memory(other);
    REQUIRE(strange);
    for (auto record = strange->next(); record && record->kind != RecordKind::end;
         record = strange->next()) {
        if (record->kind == RecordKind::frame) {
            wrong[strange->chunks()].emplace_back(record->payload.begin(), record->payload.end());
        }
    }
    const Bytes plain = record_small_chunks(all_ticks, chunk_ticks, 2);
    auto reader = Reader::from_memory(plain);
    REQUIRE(reader);
    auto plan = std::make_shared<SinkPlan>();
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), reader->head());
    REQUIRE(writer);
    for (auto record = reader->next(); record && record->kind != RecordKind::end;
         record = reader->next()) {
        if (record->kind == RecordKind::tick) {
            REQUIRE(writer->write_tick(
                record->tick.hash, record->tick.section_bytes, record->tick.encoded));
        } else if (record->kind == RecordKind::chunk_end) {
            REQUIRE(writer->write_chunk_end(record->chunk_end.state, record->chunk_end.sections));
            for (const Bytes& payload : wrong[writer->chunks()]) {
                REQUIRE(writer->write_frame(0x41, payload));
            }
        } else if (record->kind == RecordKind::trailer) {
            REQUIRE(writer->write_trailer());
        }
    }
    Bytes damaged = plan->file;
    REQUIRE(summarise(damaged)->state == FileState::closed);
    damaged[chunks_of(damaged)[4].begin + 20] ^= std::byte{1};
    const Recovered result = recovered(damaged);
    CHECK(result.report.parts.size() == 1);
    CHECK(result.report.kept_ticks == read_all(damaged).ticks);
}

TEST_CASE("a packed recording keeps whole packed frames and starts again behind damage",
          "[replay][recover][fault]") {
    if (!has_compression()) {
        return;
    }
    const Bytes open = recording_with_keyframes();
    const auto straight = ticks_of(open);
    const Bytes file = pack_bytes(open);
    const Recovered whole = recovered(file);
    CHECK(whole.files.at(Tick{0}) == file);
    CHECK(whole.report.state == FileState::closed);
    CHECK(whole.report.kept_ticks == all_ticks);
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    std::uint64_t kept_ticks = 0;
    std::uint64_t prefix_ticks = 0;
    for (int round = 0; round < 600; ++round) {
        Bytes damaged = file;
        const std::size_t at = random.below(file.size());
        INFO("round " << round << " at " << at);
        switch (random.below(4)) {
        case 0:
            damaged.resize(at);
            break;
        case 1:
            insert(damaged, at, random_bytes(random, 1 + random.below(100)));
            break;
        case 2:
            erase(damaged, at, std::min(file.size() - at, 1 + random.below(100)));
            break;
        default:
            damaged[at] ^= static_cast<std::byte>(1U << random.below(8));
        }
        const auto opened = Reader::from_memory(damaged);
        if (!opened) {
            continue;
        }
        count_kept(damaged, straight, kept_ticks, prefix_ticks);
    }
    // A quarter of the rounds only cut, and keyframes that are differences need their base.
    CHECK(kept_ticks > prefix_ticks + prefix_ticks / 3);
}

TEST_CASE("recovering holds little of a large file and of a hostile one",
          "[replay][recover][unit]") {
    // Markers everywhere: linear, and nothing is found.
    Bytes file = record_small_chunks(40, 4);
    const std::size_t good = file.size();
    Bytes noise;
    for (int i = 0; i < 300'000; ++i) {
        for (const int byte : {0x02, 0x90, 0x01, 0xF6, 0x43, 0x48, 0x45}) {
            noise.push_back(static_cast<std::byte>(byte));
        }
    }
    file.insert(file.end(), noise.begin(), noise.end());
    const Recovered result = recovered(file);
    CHECK(result.report.kept_ticks == 40);
    CHECK(result.report.lost_bytes == file.size() - good);
    CHECK(result.report.state == FileState::damaged);
}

TEST_CASE("defects say which chunk is corrupt and at which tick a file is cut",
          "[replay][recover][unit]") {
    const Bytes file = record_small_chunks(12, 3);
    Bytes damaged = file;
    damaged[chunks_of(file)[2].begin + 5] ^= std::byte{1};
    const auto corrupt = summarise(damaged);
    REQUIRE(corrupt);
    REQUIRE(corrupt->defects.size() == 1);
    CHECK(verdict(corrupt->defects[0]) == "corrupt chunk 2");
    CHECK(corrupt->defects[0].tick == Tick{6});
    const auto cut = summarise(ByteView(file).first(chunks_of(file)[2].begin + 5));
    REQUIRE(cut);
    REQUIRE(cut->defects.size() == 1);
    CHECK(verdict(cut->defects[0]) == "truncated at tick 6");
}

} // namespace twinstep::replay
