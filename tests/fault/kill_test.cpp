// SPDX-License-Identifier: MIT
// SIGKILL at any moment loses no tick whose step had begun.
#include "recording_support.hpp"
#include "slow_file.hpp"
#include "test_random.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <new>
#include <random>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// Publishes in shared memory how many steps have begun; added after the recorder.
class Publisher final : public Observer {
public:
    explicit Publisher(std::atomic<std::uint64_t>& begun)
        : begun_(begun) {}

    void before(const TickBegin& begin) override { begun_.store(begin.tick.value + 1); }

private:
    std::atomic<std::uint64_t>& begun_;
};

enum class Disk : std::uint8_t { as_it_is, slow };

Result<Recorder> record(const std::string& path, Simulation& simulation, Disk disk) {
    if (disk == Disk::as_it_is) {
        return Recorder::create(path, simulation);
    }
    RecorderOptions options;
    options.when_full = WhenFull::wait; // Nothing may be lost, however fast the child is.
    auto file = std::make_unique<SlowFile>(std::move(*create_file(path)));
    return Recorder::create(std::move(file), path, simulation, options);
}

[[noreturn]] void
record_until_killed(const std::string& path, Disk disk, std::atomic<std::uint64_t>& begun) {
    auto simulation = toy_simulation(2);
    ToySource source(2);
    Driver driver(*simulation, source);
    auto recorder = record(path, *simulation, disk);
    if (!recorder) {
        ::_exit(1);
    }
    Publisher publisher(begun);
    driver.add(*recorder);
    driver.add(publisher);
    static_cast<void>(driver.advance(UINT64_MAX));
    ::_exit(2);
}

} // namespace

TEST_CASE("a recorder that is killed has every tick whose step had begun", "[replay][fault]") {
    const std::uint64_t seed = test_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const ScratchDirectory directory;
    void* shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared != MAP_FAILED);
    auto* begun = new (shared) std::atomic<std::uint64_t>(0);
    constexpr int kills = 1000;
    std::uint64_t ticks_seen = 0;
    int without_journal = 0;
    for (int i = 0; i < kills; ++i) {
        begun->store(0);
        const Disk disk = i % 2 == 0 ? Disk::as_it_is : Disk::slow;
        const std::string path = directory.file(std::to_string(i) + ".twin");
        const ::pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            record_until_killed(path, disk, *begun);
        }
        int early = 0;
        while (begun->load() == 0) {
            REQUIRE(::waitpid(child, &early, WNOHANG) == 0);
            ::usleep(100);
        }
        ::usleep(static_cast<::useconds_t>(random() % 6000));
        REQUIRE(::kill(child, SIGKILL) == 0);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WIFSIGNALED(status));
        const auto summary = summarise(path);
        REQUIRE(summary);
        REQUIRE(summary->state == FileState::open);
        REQUIRE(summary->ticks >= begun->load());
        REQUIRE(summary->ticks <= begun->load() + 1);
        auto simulation = make_simulation<ToyGame>();
        const auto report = verify_file(*simulation, path);
        REQUIRE(report);
        REQUIRE_FALSE(report->divergence);
        REQUIRE(report->hashes_checked >= report->ticks);
        ticks_seen += summary->ticks;
        const bool needed = std::filesystem::file_size(path) < summary->bytes;
        without_journal += disk == Disk::slow && needed ? 1 : 0;
        for (const auto& entry : std::filesystem::directory_iterator(directory.file(""))) {
            std::filesystem::remove(entry.path());
        }
    }
    CHECK(ticks_seen > kills);
    // Or the journal was not needed and not tested. On a fast disk it depends on how busy the
    // machine is whether the file has everything when its writer dies.
    constexpr int slow_kills = kills / 2;
    CHECK(without_journal > slow_kills * 9 / 10);
    ::munmap(shared, 4096);
}
