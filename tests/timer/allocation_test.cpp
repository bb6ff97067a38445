// SPDX-License-Identifier: MIT
// Counts heap allocations: a timer and a ledger that exist allocate no more.
#include <twinstep/timer/count_stream.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> allocations{0};

void* counted_or_null(std::size_t bytes) noexcept {
    allocations.fetch_add(1, std::memory_order_relaxed);
    return std::malloc(bytes != 0 ? bytes : 1);
}

void* counted(std::size_t bytes) {
    if (void* const memory = counted_or_null(bytes)) {
        return memory;
    }
    throw std::bad_alloc();
}

} // namespace

void* operator new(std::size_t bytes) {
    return counted(bytes);
}

void* operator new[](std::size_t bytes) {
    return counted(bytes);
}

void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
    return counted_or_null(bytes);
}

void* operator new[](std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
    return counted_or_null(bytes);
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete[](void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
    std::free(memory);
}

void operator delete[](void* memory, std::size_t /*bytes*/) noexcept {
    std::free(memory);
}

using namespace twinstep::timer;

TEST_CASE("frames, pauses and resets allocate nothing", "[timer][unit]") {
    ManualCounter counter(10'000'000);
    GameTimer timer(counter);
    FixedStepConfig config;
    config.frequency_hz = 10'000'000;
    auto step = FixedStep::create(config);
    REQUIRE(step);
    CountPlayer player(*step);

    const std::uint64_t before = allocations.load();
    std::int64_t steps = 0;
    for (int i = 0; i < 10'000; ++i) {
        counter.advance(166'667);
        timer.tick();
        steps += step->advance(timer.raw_delta_counts()).steps;
        steps += player.play({CountOp::tick, 166'667})->steps;
        if (i % 100 == 0) {
            timer.stop();
            timer.start();
            timer.rebase(RebaseReason::loading);
            static_cast<void>(step->set_time_scale(1.0));
        }
    }
    timer.reset();
    step->reset();
    const std::uint64_t after = allocations.load();
    CHECK(after == before);
    CHECK(steps == 20'000);

    // The counter itself works. A call, because a compiler may leave out a new-expression.
    ::operator delete(::operator new(4));
    CHECK(allocations.load() > after);
}
