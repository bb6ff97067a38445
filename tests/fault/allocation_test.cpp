// SPDX-License-Identifier: MIT
// Allocations are counted: none per tick while recording, few and small on hostile files.
#include "recording_support.hpp"

#include "twinstep/sim/hash.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// A header in front of every block holds its size, so that the bytes in use are known.
constexpr std::size_t header_bytes = 2 * alignof(std::max_align_t);
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::size_t> bytes_in_use{0};
std::atomic<std::size_t> bytes_peak{0};

void* counted_new(std::size_t size) {
    void* block = std::malloc(size + header_bytes);
    if (block == nullptr) {
        throw std::bad_alloc();
    }
    ++allocations;
    const std::size_t now = bytes_in_use += size;
    std::size_t peak = bytes_peak.load();
    while (now > peak && !bytes_peak.compare_exchange_weak(peak, now)) {
    }
    *static_cast<std::size_t*>(block) = size;
    return static_cast<std::byte*>(block) + header_bytes;
}

void counted_delete(void* pointer) noexcept {
    if (pointer != nullptr) {
        void* block = static_cast<std::byte*>(pointer) - header_bytes;
        bytes_in_use -= *static_cast<std::size_t*>(block);
        std::free(block);
    }
}

} // namespace

void* operator new(std::size_t size) {
    return counted_new(size);
}

void* operator new[](std::size_t size) {
    return counted_new(size);
}

// A sanitizer's runtime has nothrow versions of its own, which would not go through the above.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return counted_new(size);
}

void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return counted_new(size);
}

void operator delete(void* pointer) noexcept {
    counted_delete(pointer);
}

void operator delete[](void* pointer) noexcept {
    counted_delete(pointer);
}

void operator delete(void* pointer, std::size_t) noexcept {
    counted_delete(pointer);
}

void operator delete[](void* pointer, std::size_t) noexcept {
    counted_delete(pointer);
}

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// The most bytes in use at once while `work` ran, beyond those in use before.
template <class Work>
std::size_t peak_of(const Work& work) {
    const std::size_t before = bytes_in_use.load();
    bytes_peak.store(before);
    work();
    return bytes_peak.load() - before;
}

void put_u32(Bytes& file, std::size_t offset, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) {
        file[offset + i] = static_cast<std::byte>(value >> (8 * i));
    }
}

/// A game whose own step allocates nothing, unlike the toy's log of events.
class PlainSource final : public Source {
public:
    Result<Supply> next(Tick tick, TickFrame& frame) override {
        const std::array<std::byte, 5> input{static_cast<std::byte>(tick.value & 0x3FU)};
        frame.reset(tick, 1);
        frame.set_input(Slot{0}, input);
        return Supply::ready;
    }
};

} // namespace

TEST_CASE("recording allocates nothing per tick in the steady state, however durable",
          "[replay][fault]") {
    const auto durability = GENERATE(Durability::process, Durability::chunk, Durability::tick);
    const auto when_full = GENERATE(WhenFull::lose, WhenFull::wait);
    CAPTURE(static_cast<int>(durability), static_cast<int>(when_full));
    const ScratchDirectory directory;
    auto simulation = toy_simulation();
    auto recorder = Recorder::create(
        directory.file("a.twin"), *simulation, {.durability = durability, .when_full = when_full});
    REQUIRE(recorder);
    REQUIRE(recorder->status().queued);
    PlainSource source;
    Driver driver(*simulation, source);
    driver.add(*recorder);
    REQUIRE(driver.advance(1000)); // beyond the first chunk end, and every buffer has grown
    const std::uint64_t before = allocations.load();
    const auto advance = driver.advance(5000);
    const std::uint64_t after = allocations.load();
    REQUIRE(advance);
    CHECK(advance->ticks == 5000);
    CHECK(after - before == 0);
    CHECK(recorder->status().ticks == 6000);
}

TEST_CASE("the allocation counter counts", "[replay][fault]") {
    const std::uint64_t before = allocations.load();
    const std::size_t peak = peak_of([] { Bytes bytes(100'000); });
    CHECK(allocations.load() - before == 1);
    CHECK(peak == 100'000);
}

TEST_CASE("verifying allocates nothing per tick in the steady state", "[replay][fault]") {
    auto plan = std::make_shared<SinkPlan>();
    {
        auto simulation = toy_simulation();
        auto recorder = Recorder::create(std::make_unique<MemorySink>(plan), *simulation);
        PlainSource source;
        Driver driver(*simulation, source);
        driver.add(*recorder);
        REQUIRE(driver.advance(5000));
    }
    auto simulation = toy_simulation();
    Playback playback(*Reader::from_memory(plan->file));
    Driver driver(*simulation, playback.source());
    driver.add(playback.verifier());
    REQUIRE(driver.advance(700)); // beyond the first chunk end
    const std::uint64_t before = allocations.load();
    const auto advance = driver.advance(4000);
    const std::uint64_t after = allocations.load();
    REQUIRE(advance);
    CHECK(advance->ticks == 4000);
    CHECK(after - before == 0);
}

TEST_CASE("a hostile manifest length allocates for no more than the bytes that are there",
          "[replay][fault]") {
    Bytes file = record_small_chunks(3, 3);
    for (const std::uint32_t length : {0xFFFFFFFFU, 0x00100001U, 0x00100000U, 0x000FFFFFU}) {
        put_u32(file, 64, length);
        const std::size_t peak = peak_of([&file] { CHECK_FALSE(Reader::from_memory(file)); });
        CHECK(peak < 400'000);
    }
}

TEST_CASE("no file makes a reader hold more than twice the chunk limit", "[replay][fault]") {
    // The largest manifest, then records of the largest size without any chunk end.
    auto plan = std::make_shared<SinkPlan>();
    {
        Head head;
        head.manifest[sections_key] = "a";
        for (int i = 0; i < 4000; ++i) {
            head.manifest["record." + std::to_string(i)] = std::string(240, 'x');
        }
        auto writer = Writer::create(std::make_unique<MemorySink>(plan), head);
        REQUIRE(writer);
        while (writer->write_record(0x30, Bytes(record_payload_bytes_max))) {
        }
    }
    REQUIRE(plan->file.size() > chunk_bytes_max + 900'000);
    const std::size_t peak =
        peak_of([&plan] { CHECK(summarise(plan->file)->state == FileState::open); });
    CHECK(peak > 0);
    CHECK(peak <= 2 * chunk_bytes_max);
}

TEST_CASE("reading a long recording takes no more memory than a short one", "[replay][fault]") {
    const Bytes shorter = record_toy({.ticks = 700});
    const Bytes longer = record_toy({.ticks = 20'000});
    const auto read = [](const Bytes& file) {
        return peak_of([&file] { CHECK(summarise(file)); });
    };
    CHECK(read(longer) <= read(shorter) + 1000);
}
