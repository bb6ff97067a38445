// SPDX-License-Identifier: MIT
// A loss of power at every write: whatever a disk kept, dropped, reordered or tore of what was not
// synced, what is read afterwards is a true prefix with everything that was synced.
#include "recording_support.hpp"
#include "test_random.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// What a disk was asked to do, in order.
struct DiskLog {
    struct Write {
        std::uint64_t offset = 0;
        Bytes bytes;
    };

    std::vector<Write> writes;
    std::vector<std::size_t> synced; ///< Writes that each sync made safe, ascending.
};

/// Keeps the log and nothing else.
class LoggingSink final : public FileSink {
public:
    explicit LoggingSink(std::shared_ptr<DiskLog> log)
        : log_(std::move(log)) {}

    std::size_t write(ByteView bytes, std::error_code&) override {
        log_->writes.push_back({size_, {bytes.begin(), bytes.end()}});
        size_ += bytes.size();
        return bytes.size();
    }

    std::error_code truncate(std::uint64_t) override { return {}; }

    std::error_code sync() override {
        log_->synced.push_back(log_->writes.size());
        return {};
    }

    std::error_code close() override { return {}; }

private:
    std::shared_ptr<DiskLog> log_;
    std::uint64_t size_ = 0;
};

/// A session whose chunks are synced as they end.
DiskLog record_with_syncs(std::uint64_t ticks, std::uint64_t chunk) {
    auto log = std::make_shared<DiskLog>();
    const Bytes file = record_small_chunks(ticks, chunk, 2);
    auto reader = Reader::from_memory(file);
    REQUIRE(reader);
    auto writer = Writer::create(std::make_unique<LoggingSink>(log), reader->head());
    REQUIRE(writer);
    for (auto record = reader->next(); record && record->kind != RecordKind::end;
         record = reader->next()) {
        if (record->kind == RecordKind::tick) {
            REQUIRE(writer->write_tick(
                record->tick.hash, record->tick.section_bytes, record->tick.encoded));
        } else if (record->kind == RecordKind::chunk_end) {
            REQUIRE(writer->write_chunk_end(record->chunk_end.state, record->chunk_end.sections));
            REQUIRE(writer->sync());
        } else {
            REQUIRE(writer->write_trailer());
        }
    }
    return *log;
}

void put(Bytes& image, std::uint64_t offset, ByteView bytes) {
    const auto at = static_cast<std::size_t>(offset);
    image.resize(std::max(image.size(), at + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), image.begin() + static_cast<std::ptrdiff_t>(at));
}

/// What is on the disk when power fails after `count` writes. Blocks are small, so that records of
/// a few bytes are torn too.
Bytes survivor(const DiskLog& log, std::size_t count, std::size_t safe, TestRandom& random) {
    constexpr std::size_t block_bytes = 16;
    Bytes image;
    for (std::size_t i = 0; i < count; ++i) {
        const DiskLog::Write& write = log.writes[i];
        if (i < safe) {
            put(image, write.offset, write.bytes);
            continue;
        }
        const std::size_t fate = random.below(4);
        for (std::size_t at = 0; at < write.bytes.size(); at += block_bytes) {
            const std::size_t size = std::min(block_bytes, write.bytes.size() - at);
            Bytes block(write.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                        write.bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
            const std::size_t what = fate < 3 ? fate : random.below(3);
            if (what == 1) {
                continue; // Never written: a hole of zeros if something after it was.
            }
            if (what == 2) {
                for (std::byte& byte : block) {
                    byte = static_cast<std::byte>(random.bits());
                }
            }
            put(image, write.offset + at, block);
        }
    }
    return image;
}

struct Expected {
    std::vector<Bytes> frames;
    std::vector<std::uint64_t> ticks_after; ///< Ticks in the file after so many writes.
};

Expected expected_of(const DiskLog& log) {
    Bytes whole;
    Expected expected;
    for (const DiskLog::Write& write : log.writes) {
        put(whole, write.offset, write.bytes);
        expected.ticks_after.push_back(read_all(whole).ticks);
    }
    auto reader = Reader::from_memory(whole);
    for (auto record = reader->next(); record->kind != RecordKind::end; record = reader->next()) {
        if (record->kind == RecordKind::tick) {
            expected.frames.emplace_back(record->tick.encoded.begin(), record->tick.encoded.end());
        }
    }
    return expected;
}

/// The ticks of an image, each of which must be the one that was recorded.
std::uint64_t true_ticks(ByteView image, const Expected& expected) {
    auto reader = Reader::from_memory(image, ReadMode::prefix);
    if (!reader) {
        return 0;
    }
    for (auto record = reader->next(); record->kind != RecordKind::end; record = reader->next()) {
        REQUIRE(record);
        if (record->kind == RecordKind::tick) {
            const auto tick = static_cast<std::size_t>(record->tick.tick.value);
            REQUIRE(tick < expected.frames.size());
            REQUIRE(std::equal(record->tick.encoded.begin(),
                               record->tick.encoded.end(),
                               expected.frames[tick].begin(),
                               expected.frames[tick].end()));
        }
    }
    return reader->ticks();
}

} // namespace

TEST_CASE("power lost after any write leaves a true prefix with all that was synced",
          "[replay][fault]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const DiskLog log = record_with_syncs(60, 7);
    const Expected expected = expected_of(log);
    REQUIRE(expected.frames.size() == 60);
    std::uint64_t shorter = 0;
    for (std::size_t count = 0; count <= log.writes.size(); ++count) {
        std::size_t safe = 0;
        for (const std::size_t synced : log.synced) {
            safe = synced <= count ? synced : safe;
        }
        for (int round = 0; round < 40; ++round) {
            const Bytes image = survivor(log, count, safe, random);
            const std::uint64_t ticks = true_ticks(image, expected);
            REQUIRE(ticks >= (safe == 0 ? 0 : expected.ticks_after[safe - 1]));
            REQUIRE(ticks <= (count == 0 ? 0 : expected.ticks_after[count - 1]));
            shorter += count > 0 && ticks < expected.ticks_after[count - 1] ? 1U : 0U;
        }
    }
    CHECK(shorter > 500); // Or the disk of this test would have lost nothing.
}
