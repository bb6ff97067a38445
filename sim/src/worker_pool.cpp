// SPDX-License-Identifier: MIT
// Threads that take the parts of loops.
#include "twinstep/sim/float_environment.hpp"
#include "twinstep/sim/workers.hpp"

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

constexpr int loop_shift = 32;
/// Instead of a part's number, while a loop is described: no part can be taken.
constexpr std::uint64_t closed = 0xFFFFFFFF;

} // namespace

// A loop is published by its number. Whoever takes a part counts it in the same word, so that a
// thread which comes late can neither take a part of a loop that is over nor see half of a new one.
struct WorkerPool::Shared {
    std::atomic<std::uint64_t> next{0}; ///< Number of the loop times 2^32, and its next part.
    std::atomic<std::uint32_t> done{0}; ///< Parts.
    std::atomic<const void*> context{nullptr};
    std::atomic<void (*)(const void*, std::uint32_t) noexcept> take{nullptr};
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

    void publish(const Job& job) {
        const std::uint64_t loop = (next.load(std::memory_order_relaxed) >> loop_shift) + 1;
        // Closed first: whoever sees anything of this loop while it is described, and takes it for
        // the loop before, finds that the word has changed.
        next.store(loop << loop_shift | closed, std::memory_order_relaxed);
        context.store(job.context, std::memory_order_release);
        take.store(job.take, std::memory_order_release);
        parts.store(job.parts, std::memory_order_release);
        done.store(0, std::memory_order_release);
        next.store(loop << loop_shift, std::memory_order_release);
        ring();
    }

    /// Takes the next part, if there is one.
    bool take_one() {
        std::uint64_t now = next.load(std::memory_order_acquire);
        const auto part = static_cast<std::uint32_t>(now);
        if (part >= parts.load(std::memory_order_acquire)) {
            return false;
        }
        const void* const of = context.load(std::memory_order_acquire);
        const auto call = take.load(std::memory_order_acquire);
        // If the word is what it was, what was just read belongs to its loop.
        if (next.compare_exchange_strong(now, now + 1, std::memory_order_acq_rel)) {
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
            if (take_one()) {
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
    if (job.parts == 0) {
        return;
    }
    shared_->publish(job);
    while (shared_->take_one()) {
    }
    std::uint32_t looks = 0;
    while (shared_->done.load(std::memory_order_acquire) != job.parts) {
        rest(++looks);
    }
}

} // namespace twinstep
