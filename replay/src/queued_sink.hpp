// SPDX-License-Identifier: MIT
// A sink that never waits for a disk: bytes go into a journal, a thread of its own carries them on.
#pragma once

#include "journal.hpp"

#include "twinstep/replay/file_sink.hpp"
#include "twinstep/replay/recorder.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace twinstep::replay {

/// Takes whole records and returns at once; only the first write, a recording's head, goes straight
/// to the target, because without it neither file nor journal is anything. What the target refuses
/// stays in the journal, whose file is removed only when everything has arrived.
/// In a child of a fork it does nothing: file, journal and thread belong to the parent.
/// Thread: the recorder's; the target is used by the sink's own thread alone.
class QueuedSink final : public FileSink {
public:
    struct Options {
        WhenFull when_full = WhenFull::lose;
        std::uint64_t free_bytes_min = 0; ///< Stop when the disk has less room.
        /// How long records that nobody wants synced gather before they are carried on. They
        /// survive a kill all the same; what a shorter time would gain is only how far a copy of
        /// the file alone lags behind.
        std::chrono::milliseconds gather_time{10};
        /// How often the thread looks by itself for a sync that was asked for, so that nobody has
        /// to wake it, which is a call of the system; 0: each sync wakes it.
        std::chrono::milliseconds look_time{0};
        /// Looks in vain after which it sleeps until it is woken.
        int looks_max = 1000;
    };

    QueuedSink(std::unique_ptr<FileSink> target, Journal journal, const Options& options);
    /// Waits as close() does.
    ~QueuedSink() override;

    /// Takes all of `bytes` or, with no_buffer_space, nothing. A failure of the target is answered
    /// to every write after it.
    std::size_t write(ByteView bytes, std::error_code& error) override;
    /// Does nothing after the first write: the thread cuts the target back by itself.
    std::error_code truncate(std::uint64_t size) override;
    /// Has what was written so far carried on and then synced, at once or when the thread looks
    /// next; does not wait for either.
    std::error_code sync() override;
    /// Waits until everything has arrived and is synced. Errors: the target's.
    std::error_code close() override;
    std::size_t room() const override;

private:
    /// Where the two threads meet. A child of a fork can destroy nothing of it: a condition that
    /// somebody waits for is destroyed only when he has gone.
    struct Meeting {
        std::mutex mutex;
        std::condition_variable wake;    ///< For the thread: there is work.
        std::condition_variable arrived; ///< For who waits for room.
        std::thread thread;
    };

    std::size_t write_head(ByteView bytes, std::error_code& error);
    std::error_code abandon();

    bool half_full() const { return journal_.room() < journal_.size() / 2; }

    void wake();
    void run();
    bool gather();
    bool carry();
    bool put(ByteView bytes);
    void fail(std::error_code error);
    bool enough_free_bytes();
    std::error_code failure() const;

    std::unique_ptr<FileSink> target_;
    Journal journal_;
    Options options_;
    std::unique_ptr<Meeting> meeting_;
    std::error_code failure_;
    bool started_ = false;
    bool closing_ = false;
    bool closed_ = false;
    bool kicked_ = false;
    std::atomic<bool> failed_{false};
    std::atomic<bool> sleeping_{false};      ///< The thread has looked for work or is about to.
    std::atomic<bool> looking_{false};       ///< It will look for syncs by itself.
    std::atomic<std::uint64_t> sync_end_{0}; ///< Offset up to which a sync was asked for.
    int looks_in_vain_ = 0;
    std::uint64_t head_bytes_ = 0;
    std::uint64_t synced_end_ = 0;
    std::uint64_t checked_free_at_ = 0;
    std::uint64_t forks_ = 0;
};

} // namespace twinstep::replay
