// SPDX-License-Identifier: MIT
// A loop of a step in parts of a fixed size, which several threads may take at the same time.
#pragma once

#include "twinstep/sim/result.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace twinstep {

/// Takes the parts of loops. The parts depend on the loop alone, never on how many workers there
/// are, and neither may the outcome: a part writes what no other part reads or writes, and what is
/// to be added up is kept for each part and added in their order afterwards.
/// Thread: one loop at a time, by the owner of the simulation.
class Workers {
public:
    virtual ~Workers() = default;
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    /// How many threads take parts, the caller's among them: at least 1.
    virtual std::uint32_t count() const noexcept = 0;

    /// False once a part has changed the floating-point mode of a thread that is not the caller's.
    virtual bool intact() const noexcept { return true; }

    /// Calls `body(begin, end)` for the parts of 0 to `items` that have `part_size` items each,
    /// the last perhaps fewer, and comes back when all are done. Nothing is allocated.
    /// Requires: `part_size` at least 1; `body` does not throw and starts no other loop.
    /// Determinism: the parts are the same for any count; their order is not.
    template <class Body>
    void parallel_for(std::uint32_t items, std::uint32_t part_size, Body&& body) {
        struct Loop {
            std::remove_reference_t<Body>* body;
            std::uint32_t items;
            std::uint32_t part_size;
        } loop{&body, items, part_size};

        const std::uint32_t parts = items / part_size + (items % part_size != 0 ? 1U : 0U);
        run({&loop,
             [](const void* context, std::uint32_t part) noexcept {
                 const auto& of = *static_cast<const Loop*>(context);
                 const std::uint32_t begin = part * of.part_size;
                 (*of.body)(begin, begin + std::min(of.part_size, of.items - begin));
             },
             parts});
    }

protected:
    /// What is to be done for each of the parts 0 to `parts` - 1.
    struct Job {
        const void* context = nullptr;
        void (*take)(const void* context, std::uint32_t part) noexcept = nullptr;
        std::uint32_t parts = 0;
    };

    Workers() = default;

    virtual void run(const Job& job) noexcept = 0;
};

/// The caller takes all parts, in their order. Every simulation has these until others are set.
class SerialWorkers final : public Workers {
public:
    std::uint32_t count() const noexcept override { return 1; }

private:
    void run(const Job& job) noexcept override {
        for (std::uint32_t part = 0; part < job.parts; ++part) {
            job.take(job.context, part);
        }
    }
};

/// Threads that wait for loops: a few microseconds without sleeping, then until they are woken.
/// They run under the same floating-point mode as a step.
class WorkerPool final : public Workers {
public:
    static constexpr std::uint32_t count_max = 64;

    /// Starts `count` - 1 threads. Errors: limit_exceeded unless `count` is 1 to count_max;
    /// the system's, if it has no thread to give.
    static Result<std::unique_ptr<WorkerPool>> start(std::uint32_t count);

    ~WorkerPool() override;

    std::uint32_t count() const noexcept override;
    bool intact() const noexcept override;

private:
    struct Shared;

    explicit WorkerPool(std::unique_ptr<Shared> shared);
    void run(const Job& job) noexcept override;

    std::unique_ptr<Shared> shared_;
};

} // namespace twinstep
