// SPDX-License-Identifier: MIT
// A disk that is slow, stands still or fails behind the queue: the game never waits, nothing that
// was taken is lost, and what could not be taken is counted and told of in the file.
#include "queued_sink.hpp"
#include "recording_support.hpp"
#include "test_random.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// A disk that stands still until it is let go, and then may fail.
class Gate {
public:
    void open(std::error_code then = {}) {
        const std::lock_guard lock(mutex_);
        open_ = true;
        then_ = then;
        wake_.notify_all();
    }

    std::error_code pass() {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return open_; });
        return then_;
    }

private:
    std::mutex mutex_;
    std::condition_variable wake_;
    bool open_ = false;
    std::error_code then_;
};

/// A real file behind a gate; counts what it is asked for.
class GatedFile final : public FileSink {
public:
    struct Counts {
        std::atomic<std::uint64_t> syncs{0};
        std::atomic<std::uint64_t> free_bytes{UINT64_MAX};
    };

    GatedFile(const std::string& path, Gate& gate, Counts& counts)
        : file_(std::move(*create_file(path)))
        , gate_(gate)
        , counts_(counts) {}

    std::size_t write(ByteView bytes, std::error_code& error) override {
        if (std::exchange(is_head_, false)) {
            return file_->write(bytes, error);
        }
        error = gate_.pass();
        return error ? 0 : file_->write(bytes, error);
    }

    std::error_code truncate(std::uint64_t size) override { return file_->truncate(size); }

    std::error_code sync() override {
        ++counts_.syncs;
        return {};
    }

    std::error_code close() override { return file_->close(); }

    std::optional<std::uint64_t> free_bytes() override { return counts_.free_bytes.load(); }

private:
    std::unique_ptr<FileSink> file_;
    bool is_head_ = true;
    Gate& gate_;
    Counts& counts_;
};

/// A toy session recorded through a queue into a file behind a gate.
struct Session {
    explicit Session(std::size_t queue_bytes = 1, QueuedSink::Options options = {}) {
        path = directory.file("a.twin");
        journal = journal_path(path, test_session());
        auto sink = std::make_unique<QueuedSink>(
            std::make_unique<GatedFile>(path, gate, counts),
            std::move(*Journal::create(journal, test_session(), queue_bytes)),
            options);
        simulation = toy_simulation(2);
        auto created = Recorder::create(std::move(sink), *simulation, {test_session(), {}});
        REQUIRE(created);
        recorder.emplace(std::move(*created));
        driver.emplace(*simulation, source);
        driver->add(*recorder);
    }

    Summary read() const {
        const auto summary = summarise(path);
        REQUIRE(summary);
        return *summary;
    }

    bool has_journal() const { return std::filesystem::exists(journal); }

    ScratchDirectory directory;
    std::string path;
    std::string journal;
    Gate gate;
    GatedFile::Counts counts;
    std::unique_ptr<Simulation> simulation;
    ToySource source{2};
    std::optional<Recorder> recorder;
    std::optional<Driver> driver;
};

constexpr std::chrono::hours an_hour{1};

/// Far longer than any of these tests takes and far shorter than the sleep of a queue that missed
/// what should have woken it.
class Deadline {
public:
    bool is_over() const { return std::chrono::steady_clock::now() > end_; }

private:
    std::chrono::steady_clock::time_point end_ =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
};

/// Whether a count gets that far, while another thread moves it.
bool arrives(const std::atomic<std::uint64_t>& count, std::uint64_t target) {
    const Deadline deadline;
    for (std::uint64_t looks = 1; count.load() < target && !deadline.is_over(); ++looks) {
        // Not at once: who yields comes back long after the other thread is done.
        if (looks % 1000 == 0) {
            std::this_thread::yield();
        }
    }
    return count.load() == target;
}

/// A disk that takes everything at once.
class CountingSink final : public FileSink {
public:
    struct Counts {
        std::atomic<std::uint64_t> bytes{0};
        std::atomic<std::uint64_t> synced_bytes{0};
    };

    explicit CountingSink(Counts& counts)
        : counts_(counts) {}

    std::size_t write(ByteView bytes, std::error_code& error) override {
        error.clear();
        counts_.bytes += bytes.size();
        return bytes.size();
    }

    std::error_code truncate(std::uint64_t) override { return {}; }

    std::error_code sync() override {
        counts_.synced_bytes = counts_.bytes.load();
        return {};
    }

    std::error_code close() override { return {}; }

private:
    Counts& counts_;
};

/// A queue whose thread sleeps for an hour unless it is woken: a lost wake-up is seen at once.
struct SleepyQueue {
    static constexpr std::size_t head_bytes = 100;

    explicit SleepyQueue(QueuedSink::Options options = {.gather_time = an_hour})
        : sink(std::make_unique<CountingSink>(counts),
               std::move(*Journal::create(directory.file("a.journal"), test_session(), 1)),
               options) {
        write(Bytes(head_bytes));
    }

    void write(const Bytes& bytes) {
        std::error_code error;
        REQUIRE(sink.write(bytes, error) == bytes.size());
        REQUIRE_FALSE(error);
        written += bytes.size();
    }

    ScratchDirectory directory;
    CountingSink::Counts counts;
    std::uint64_t written = 0;
    QueuedSink sink;
};

} // namespace

TEST_CASE("a disk that stands still holds up nobody, and nothing is lost", "[replay][fault]") {
    Session session;
    // Whoever waited for the disk would wait for ever: it goes on only after these ticks.
    REQUIRE(session.driver->advance(2000)->ticks == 2000);
    CHECK(session.recorder->status().ticks == 2000);
    const std::uint64_t head_bytes = Reader::open(session.path)->bytes();
    CHECK(std::filesystem::file_size(session.path) == head_bytes);
    CHECK(session.read().ticks == 2000); // Anybody who reads it now finds them in the journal.
    session.gate.open();
    REQUIRE(session.recorder->close());
    CHECK_FALSE(session.has_journal());
    const Summary summary = session.read();
    CHECK(summary.state == FileState::closed);
    CHECK(summary.ticks == 2000);
    auto simulation = make_simulation<ToyGame>();
    const auto report = verify_file(*simulation, session.path, {.mode = ReadMode::strict});
    REQUIRE(report);
    CHECK_FALSE(report->divergence);
}

TEST_CASE("a disk that stands still for too long costs ticks that are counted in the file",
          "[replay][fault]") {
    Session session;
    REQUIRE(session.driver->advance(20'000)->ticks == 20'000);
    const RecorderStatus status = session.recorder->status();
    CHECK(status.lost_ticks > 0);
    CHECK(status.ticks > 2000);
    CHECK(status.ticks + status.lost_ticks == 20'000);
    session.gate.open();
    REQUIRE(session.driver->advance(100)->ticks == 100);
    REQUIRE(session.recorder->close());
    const Summary summary = session.read();
    CHECK(summary.state == FileState::closed);
    CHECK(summary.ticks == status.ticks);
    REQUIRE(summary.loss);
    CHECK(summary.loss->first == Tick{status.ticks});
    CHECK(summary.loss->ticks == status.lost_ticks + 100);
    CHECK(summary.loss->reason == LossReason::slow_disk);
    auto simulation = make_simulation<ToyGame>();
    const auto report = verify_file(*simulation, session.path, {.mode = ReadMode::strict});
    REQUIRE(report);
    CHECK(report->ticks == status.ticks);
    CHECK_FALSE(report->divergence);
    CHECK(*from_text(*to_text(*read_file(session.path))) == *read_file(session.path));
}

TEST_CASE("who may wait for room loses nothing", "[replay][fault]") {
    Session session(1, {WhenFull::wait});
    session.gate.open();
    REQUIRE(session.driver->advance(50'000)->ticks == 50'000);
    REQUIRE(session.recorder->close());
    CHECK(session.read().ticks == 50'000);
    CHECK(session.read().state == FileState::closed);
}

TEST_CASE("what a failing disk refuses stays in the journal", "[replay][fault]") {
    Session session;
    REQUIRE(session.driver->advance(1000));
    session.gate.open(std::make_error_code(std::errc::no_space_on_device));
    CHECK_FALSE(session.recorder->close());
    const RecorderStatus status = session.recorder->status();
    REQUIRE(status.error);
    CHECK(status.error->code == Errc::io_error);
    CHECK(session.has_journal());
    const Summary summary = session.read();
    CHECK(summary.ticks == 1000);
    CHECK(summary.defects.empty());
}

TEST_CASE("a reader finds in the journal what has not arrived in the file", "[replay][fault]") {
    Session session;
    REQUIRE(session.driver->advance(1000));
    const auto head_bytes = static_cast<std::size_t>(std::filesystem::file_size(session.path));
    const auto journal = read_journal(session.journal, test_session(), head_bytes);
    REQUIRE(journal);
    session.gate.open();
    REQUIRE(session.recorder->close());
    const Bytes whole = *read_file(session.path);
    const std::size_t end = head_bytes + journal->size();
    REQUIRE(std::equal(
        journal->begin(), journal->end(), whole.begin() + static_cast<std::ptrdiff_t>(head_bytes)));

    // As a kill leaves it: a part of the file, and all of it in the journal.
    const ScratchDirectory other;
    const std::string path = other.file("b.twin");
    const auto write = [&path](ByteView bytes) {
        std::ofstream stream(path, std::ios::binary);
        stream.write(reinterpret_cast<const char*>(bytes.data()),
                     static_cast<std::streamsize>(bytes.size()));
    };
    auto left = Journal::create(journal_path(path, test_session()), test_session(), 1);
    REQUIRE(left);
    left->start_at(head_bytes);
    left->append(*journal);
    for (const std::size_t size : {head_bytes, head_bytes + 1, end / 2, end - 1, end}) {
        write(ByteView(whole).first(size));
        const auto summary = summarise(path);
        REQUIRE(summary);
        CHECK(summary->ticks == 1000);
        CHECK(summary->state == FileState::open);
        CHECK(summary->bytes == end);
    }
    // A file that has more than the journal knows of is read as it is.
    write(whole);
    CHECK(summarise(path)->state == FileState::closed);
}

TEST_CASE("a journal that is damaged, cut, or somebody else's is as good as none",
          "[replay][fault]") {
    const ScratchDirectory directory;
    const std::string path = directory.file("a.twin");
    const std::string file = journal_path(path, test_session());
    {
        auto journal = Journal::create(file, test_session(), 1);
        REQUIRE(journal);
        journal->append(Bytes(5000, std::byte{7}));
        journal->drain(100);
    }
    const Bytes good = *read_file(file);
    const auto read_as = [&file](const Bytes& bytes, std::uint64_t file_bytes, std::uint8_t who) {
        std::ofstream(file, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
        return read_journal(file, test_session(who), file_bytes);
    };
    CHECK(read_as(good, 100, 1)->size() == 4900);
    CHECK(read_as(good, 4999, 1)->size() == 1);
    CHECK_FALSE(read_as(good, 5000, 1));
    CHECK_FALSE(read_as(good, 99, 1)); // The file was cut: what lies between is gone.
    CHECK_FALSE(read_as(good, 100, 2));
    for (const std::size_t size : {0U, 1U, 63U, 4095U, 4096U, 10'000U}) {
        CHECK_FALSE(
            read_as(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)), 100, 1));
    }
    for (std::size_t bit = 0; bit < 40 * 8; ++bit) {
        Bytes damaged = good;
        damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        CHECK_FALSE(read_as(damaged, 100, 1));
    }
    Bytes huge = good;
    std::fill(huge.begin() + 64, huge.begin() + 72, std::byte{0xFF});
    CHECK_FALSE(read_as(huge, 100, 1));
}

TEST_CASE("recording stops before the disk is full", "[replay][fault]") {
    Session session(1, {.free_bytes_min = 1000});
    session.gate.open();
    session.counts.free_bytes = 999;
    static_cast<void>(session.driver->advance(1000));
    const auto closed = session.recorder->close();
    REQUIRE_FALSE(closed);
    CHECK(session.simulation->tick() == Tick{1000});
    CHECK(to_string(closed.error()).find("less room is left") != std::string::npos);
}

TEST_CASE("a sync that was asked for comes after the bytes it is for", "[replay][fault]") {
    Session session;
    session.gate.open();
    REQUIRE(session.driver->advance(100));
    REQUIRE(session.recorder->close());
    CHECK(session.counts.syncs == 1);
}

TEST_CASE("no sync waits for the end of the queue's sleep", "[replay][fault]") {
    SleepyQueue queue;
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const Bytes record(40, std::byte{7});
    for (std::uint64_t i = 1; i <= 500'000; ++i) {
        queue.write(record);
        REQUIRE_FALSE(queue.sink.sync());
        // The file's thread is anywhere between its work and its sleep when the next one comes.
        for (std::uint64_t spin = random.below(400); spin > 0; --spin) {
            static_cast<void>(queue.counts.synced_bytes.load());
        }
        if (random.below(4) > 0) {
            REQUIRE(arrives(queue.counts.synced_bytes, queue.written));
        }
    }
}

TEST_CASE("a thread that looks for syncs by itself is not woken for them", "[replay][fault]") {
    SleepyQueue queue({.gather_time = an_hour, .look_time = an_hour});
    // The first may come before the thread has begun to wait.
    const Deadline deadline;
    while (queue.counts.bytes == queue.written) {
        REQUIRE_FALSE(deadline.is_over());
        queue.write(Bytes(40, std::byte{7}));
        REQUIRE_FALSE(queue.sink.sync());
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    REQUIRE_FALSE(queue.sink.close());
    CHECK(queue.counts.synced_bytes == queue.written);
}

TEST_CASE("a thread that has looked in vain for long sleeps until a sync wakes it",
          "[replay][fault]") {
    SleepyQueue queue(
        {.gather_time = an_hour, .look_time = std::chrono::milliseconds(1), .looks_max = 2});
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const Bytes record(40, std::byte{7});
    for (int i = 0; i < 500; ++i) {
        queue.write(record);
        REQUIRE_FALSE(queue.sink.sync());
        REQUIRE(arrives(queue.counts.synced_bytes, queue.written));
        // It falls asleep some 3 ms from now; the next sync comes anywhere around that.
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(6000)));
    }
    // While it looks, it carries on what it finds, asked for or not.
    const Deadline deadline;
    while (queue.counts.bytes == queue.written) {
        REQUIRE_FALSE(deadline.is_over());
        queue.write(record);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

TEST_CASE("a queue that is half full is carried on before its sleep ends", "[replay][fault]") {
    SleepyQueue queue;
    const Bytes record(1000, std::byte{7});
    while (queue.written < journal_ring_bytes_min / 3) {
        queue.write(record);
    }
    CHECK(queue.counts.bytes == SleepyQueue::head_bytes);
    while (queue.written < 200 * journal_ring_bytes_min) {
        const Deadline deadline;
        while (queue.sink.room() < record.size()) {
            REQUIRE_FALSE(deadline.is_over());
            std::this_thread::yield();
        }
        queue.write(record);
    }
}

TEST_CASE("who waits for room does not wait for the end of the queue's sleep", "[replay][fault]") {
    SleepyQueue queue({.when_full = WhenFull::wait, .gather_time = an_hour});
    // Two of them never fit, and one alone leaves more than half of the room.
    const Bytes small(journal_ring_bytes_min / 3, std::byte{7});
    const Bytes large(journal_ring_bytes_min - 1000, std::byte{7});
    const Deadline deadline;
    for (int round = 0; round < 200; ++round) {
        queue.write(small);
        queue.write(large);
    }
    CHECK_FALSE(deadline.is_over());
    REQUIRE_FALSE(queue.sink.close());
    CHECK(queue.counts.bytes == queue.written);
}
