// SPDX-License-Identifier: MIT
// A thread that works when it is told to: what it runs finds the caches as it left them.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace bench {

/// Keeps the calling thread on one processor, if there are several.
inline void stay_on(unsigned processor) {
    const unsigned count = std::thread::hardware_concurrency();
    if (count > 1) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(processor % count, &set);
        pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    }
}

/// Runs one call at a time on a processor of its own, while the caller waits.
class Worker {
public:
    Worker()
        : thread_([this] { loop(); }) {}

    ~Worker() {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    /// Returns when the call has returned.
    void run(std::function<void()> call) {
        std::unique_lock lock(mutex_);
        call_ = std::move(call);
        changed_.notify_all();
        changed_.wait(lock, [this] { return !call_; });
    }

private:
    void loop() {
        stay_on(1);
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return stop_ || call_; });
            if (stop_) {
                return;
            }
            call_();
            call_ = nullptr;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> call_;
    bool stop_ = false;
    std::thread thread_;
};

} // namespace bench
