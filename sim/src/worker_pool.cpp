// SPDX-License-Identifier: MIT
// Threads that take the parts of loops.
#include "twinstep/sim/float_environment.hpp"
#include "twinstep/sim/workers.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <system_error>
#include <thread>
#include <vector>
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#endif

namespace twinstep {

namespace {

/// How often a thread looks for work before it sleeps: some 0.3 ms, so that the loops of one step,
/// and steps that follow each other at once, find it awake.
constexpr std::uint32_t looks_max = 8192;
constexpr std::uint32_t looks_between_yields = 64;

/// Lets the other thread of the core run, or another program where there are too few cores.
void rest(std::uint32_t looks) {
    if (looks % looks_between_yields == looks_between_yields - 1) {
        std::this_thread::yield();
        return;
    }
#if defined(__SSE2__) || defined(_M_X64)
    _mm_pause();
#endif
}

/// How many parts of a loop were taken, from both ends, and of which loop, in one word.
struct Taken {
    static constexpr std::uint32_t parts_max = 0xFFFF;

    std::uint32_t loop = 0;
    std::uint32_t front = 0;
    std::uint32_t back = 0;

    static Taken from(std::uint64_t word) {
        return {static_cast<std::uint32_t>(word >> 32U),
                static_cast<std::uint32_t>(word >> 16U) & parts_max,
                static_cast<std::uint32_t>(word) & parts_max};
    }

    std::uint64_t word() const {
        return std::uint64_t{loop} << 32U | std::uint64_t{front} << 16U | back;
    }
};

} // namespace

// A loop is published by its number. Whoever takes a part counts it in the same word, so that a
// thread which comes late can neither take a part of a loop that is over nor see half of a new one.
struct WorkerPool::Shared {
    /// Which end of a loop a thread takes its parts from. The caller takes the front, the others
    /// the back, and they meet in the middle: of loops over the same things, each has the same ones
    /// each time as far as it goes, and finds them in its own cache.
    enum class End : std::uint8_t { front, back };

    std::atomic<std::uint64_t> taken{0}; ///< See Taken.
    std::atomic<std::uint32_t> done{0};  ///< Parts.
    std::atomic<const void*> context{nullptr};
    std::atomic<void (*)(const void*, std::uint32_t) noexcept> take{nullptr};
    std::atomic<std::uint32_t> first{0}; ///< Number of the first part.
    std::atomic<std::uint32_t> parts{0};
    std::atomic<std::uint32_t> bell{0}; ///< Changes with each loop; what sleepers wait for.
    std::atomic<bool> stopping{false};
    std::atomic<bool> intact{true};
    std::vector<std::thread> threads;

    ~Shared() {
        stopping.store(true);
        ring();
        for (std::thread& thread : threads) {
            thread.join();
        }
    }

    void ring() {
        bell.fetch_add(1);
        bell.notify_all();
    }

    /// Publishes the parts from `from` on, at most parts_max of them; how many.
    std::uint32_t publish(const Job& job, std::uint32_t from) {
        const std::uint32_t count = std::min(job.parts - from, Taken::parts_max);
        const std::uint32_t loop = Taken::from(taken.load(std::memory_order_relaxed)).loop + 1;
        // Closed first: whoever sees anything of this loop while it is described, and takes it for
        // the loop before, finds that the word has changed.
        const Taken closed{loop, Taken::parts_max, Taken::parts_max};
        taken.store(closed.word(), std::memory_order_relaxed);
        context.store(job.context, std::memory_order_release);
        take.store(job.take, std::memory_order_release);
        first.store(from, std::memory_order_release);
        parts.store(count, std::memory_order_release);
        done.store(0, std::memory_order_release);
        taken.store(Taken{loop, 0, 0}.word(), std::memory_order_release);
        ring();
        return count;
    }

    /// Takes the next part at this end, if there is one.
    bool take_one(End end) {
        std::uint64_t word = taken.load(std::memory_order_acquire);
        Taken now = Taken::from(word);
        const std::uint32_t count = parts.load(std::memory_order_acquire);
        if (now.front + now.back >= count) {
            return false;
        }
        const void* const of = context.load(std::memory_order_acquire);
        const auto call = take.load(std::memory_order_acquire);
        std::uint32_t part = first.load(std::memory_order_acquire);
        part += end == End::front ? now.front++ : count - 1 - now.back++;
        // If the word is what it was, what was just read belongs to its loop.
        if (taken.compare_exchange_strong(word, now.word(), std::memory_order_acq_rel)) {
            call(of, part);
            done.fetch_add(1, std::memory_order_release);
        }
        return true;
    }

    void work() {
        const FloatEnvironmentGuard guard;
        std::uint32_t looks = 0;
        while (!stopping.load(std::memory_order_relaxed)) {
            const std::uint32_t rung = bell.load();
            if (take_one(End::back)) {
                looks = 0;
                if (!guard.intact()) {
                    intact.store(false, std::memory_order_relaxed);
                    guard.enforce();
                }
            } else if (++looks < looks_max) {
                rest(looks);
            } else {
                bell.wait(rung);
                looks = 0;
            }
        }
    }
};

WorkerPool::WorkerPool(std::unique_ptr<Shared> shared)
    : shared_(std::move(shared)) {}

WorkerPool::~WorkerPool() = default;

Result<std::unique_ptr<WorkerPool>> WorkerPool::start(std::uint32_t count) {
    if (count == 0 || count > count_max) {
        return fail(Error(SimErrc::limit_exceeded,
                          "workers",
                          "expected 1 to " + std::to_string(count_max) + ", found " +
                              std::to_string(count)));
    }
    auto shared = std::make_unique<Shared>();
    shared->threads.reserve(count - 1);
    try {
        for (std::uint32_t i = 1; i < count; ++i) {
            shared->threads.emplace_back([&of = *shared] { of.work(); });
        }
    } catch (const std::system_error& error) {
        return fail(Error(error.code(), "workers", "take fewer"));
    }
    return std::unique_ptr<WorkerPool>(new WorkerPool(std::move(shared)));
}

std::uint32_t WorkerPool::count() const noexcept {
    return static_cast<std::uint32_t>(shared_->threads.size()) + 1;
}

bool WorkerPool::intact() const noexcept {
    return shared_->intact.load(std::memory_order_relaxed);
}

void WorkerPool::run(const Job& job) noexcept {
    for (std::uint32_t first = 0; first < job.parts;) {
        const std::uint32_t count = shared_->publish(job, first);
        while (shared_->take_one(Shared::End::front)) {
        }
        std::uint32_t looks = 0;
        while (shared_->done.load(std::memory_order_acquire) != count) {
            rest(++looks);
        }
        first += count;
    }
}

} // namespace twinstep
