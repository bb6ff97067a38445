// SPDX-License-Identifier: MIT
// The thread between a recorder and a disk.
#include "queued_sink.hpp"

#include "forks.hpp"

#include "twinstep/replay/errc.hpp"

#include <chrono>
#include <vector>

#if !defined(_WIN32)
#include <signal.h>
#endif

namespace twinstep::replay {

namespace {

/// Kept for the end of a recording, so that a full queue can still be told of in the file: chunk
/// end, loss and trailer.
constexpr std::size_t reserve_bytes = 16 * 1024;
/// Free room is asked for again after this many bytes.
constexpr std::uint64_t free_check_bytes = std::uint64_t{1} << 20;

#if defined(_WIN32)

class NoSignals {};

#else

/// A thread that is started meanwhile gets no signals: the game's handlers run in the game's own
/// threads, and a file that reaches the largest size allowed is an error of a write, not the end of
/// the process.
class NoSignals {
public:
    NoSignals() {
        ::sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }

    ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    NoSignals(const NoSignals&) = delete;
    NoSignals& operator=(const NoSignals&) = delete;

private:
    ::sigset_t before_{};
};

#endif

} // namespace

QueuedSink::QueuedSink(std::unique_ptr<FileSink> target, Journal journal, const Options& options)
    : target_(std::move(target))
    , journal_(std::move(journal))
    , options_(options)
    , meeting_(std::make_unique<Meeting>())
    , forks_(fork_count()) {}

QueuedSink::~QueuedSink() {
    static_cast<void>(close());
}

std::size_t QueuedSink::room() const {
    if (options_.when_full == WhenFull::wait) {
        return SIZE_MAX;
    }
    const std::size_t room = journal_.room();
    return room > reserve_bytes ? room - reserve_bytes : 0;
}

std::error_code QueuedSink::failure() const {
    const std::lock_guard lock(meeting_->mutex);
    return failure_;
}

std::size_t QueuedSink::write_head(ByteView bytes, std::error_code& error) {
    const std::size_t written = target_->write(bytes, error);
    head_bytes_ += written;
    if (!error && written == bytes.size()) {
        journal_.start_at(head_bytes_);
        started_ = true;
        [[maybe_unused]] const NoSignals guard;
        meeting_->thread = std::thread([this] { run(); });
    }
    return written;
}

std::size_t QueuedSink::write(ByteView bytes, std::error_code& error) {
    if (fork_count() != forks_) {
        error = std::make_error_code(std::errc::operation_not_permitted);
        return 0;
    }
    if (!started_) {
        return write_head(bytes, error);
    }
    if (failed_.load(std::memory_order_acquire)) {
        error = failure();
        return 0;
    }
    if (journal_.room() < bytes.size() && options_.when_full == WhenFull::wait) {
        std::unique_lock lock(meeting_->mutex);
        kicked_ = true;
        meeting_->wake.notify_one();
        meeting_->arrived.wait(lock, [&] {
            return failure_ || journal_.room() >= std::min(bytes.size(), journal_.size());
        });
    }
    if (journal_.room() < bytes.size()) {
        error = failed_.load() ? failure() : std::make_error_code(std::errc::no_buffer_space);
        return 0;
    }
    journal_.append(bytes);
    if (half_full()) {
        wake();
    }
    return bytes.size();
}

std::error_code QueuedSink::truncate(std::uint64_t size) {
    return started_ ? std::error_code{} : target_->truncate(size);
}

std::error_code QueuedSink::sync() {
    if (fork_count() == forks_) {
        // One order of all threads for these two and what gather() does with them: either this
        // sees that the thread has given up looking, or the thread sees what is asked for.
        sync_end_.store(journal_.written(), std::memory_order_seq_cst);
        if (!looking_.load(std::memory_order_seq_cst)) {
            wake();
        }
    }
    return {};
}

/// Wakes the thread if it sleeps; one that is at work sees what there is by itself.
/// No wake-up is lost: this and the thread in going to sleep exchange the same flag, so one of the
/// two is first. If it is the thread, the flag is found set here. If it is this, the thread finds
/// what was done before, and the mutex keeps it from waiting between its look and its wait.
void QueuedSink::wake() {
    if (!sleeping_.exchange(false, std::memory_order_acq_rel)) {
        return;
    }
    { const std::lock_guard lock(meeting_->mutex); }
    meeting_->wake.notify_one();
}

/// In a child of a fork: the thread is not there, its mutex may be locked for ever, and the journal
/// is the parent's. What the two shared stays where it is.
std::error_code QueuedSink::abandon() {
    if (closed_) {
        return {};
    }
    closed_ = true;
    static auto* const abandoned = new std::vector<std::unique_ptr<Meeting>>;
    abandoned->push_back(std::move(meeting_));
    return target_->close();
}

std::error_code QueuedSink::close() {
    if (fork_count() != forks_) {
        return abandon();
    }
    {
        const std::lock_guard lock(meeting_->mutex);
        closing_ = true;
        meeting_->wake.notify_one();
    }
    if (meeting_->thread.joinable()) {
        meeting_->thread.join();
    }
    if (!closed_) {
        closed_ = true;
        const std::error_code closed = target_->close();
        if (closed && !failure_) {
            failure_ = closed;
        }
        if (!failure_) {
            journal_.remove();
        }
    }
    return failure_;
}

// --- the thread ---

void QueuedSink::run() {
    while (true) {
        const bool last = gather();
        const std::uint64_t before = journal_.drained();
        const bool good = carry();
        looks_in_vain_ = journal_.drained() == before ? looks_in_vain_ + 1 : 0;
        {
            // Under the lock, or who has just found no room would miss it.
            const std::lock_guard lock(meeting_->mutex);
            meeting_->arrived.notify_all();
        }
        if (!good || last) {
            return;
        }
        journal_.make_writable();
    }
}

/// Waits until there is work or records have gathered for long enough; true when closing.
bool QueuedSink::gather() {
    std::unique_lock lock(meeting_->mutex);
    const bool looks = options_.look_time.count() > 0 && looks_in_vain_ < options_.looks_max;
    looking_.store(looks, std::memory_order_seq_cst);
    meeting_->wake.wait_for(lock, looks ? options_.look_time : options_.gather_time, [this] {
        // Before every look, not only the first: who wakes it clears the flag, also for work that
        // was done already, after which it waits again.
        sleeping_.exchange(true, std::memory_order_acq_rel);
        return kicked_ || closing_ || half_full() || sync_end_.load() > synced_end_;
    });
    sleeping_.store(false, std::memory_order_relaxed);
    kicked_ = false;
    return closing_;
}

/// Carries on what waits and syncs where that was asked for; false after a failure.
bool QueuedSink::carry() {
    constexpr std::size_t piece_bytes = std::size_t{256} * 1024;
    while (true) {
        const std::uint64_t sync_end = sync_end_.load(std::memory_order_acquire);
        const ByteView piece = journal_.waiting(piece_bytes);
        if (!piece.empty() && (!enough_free_bytes() || !put(piece))) {
            return false;
        }
        if (sync_end > synced_end_ && journal_.drained() >= sync_end) {
            synced_end_ = journal_.drained();
            if (const std::error_code error = target_->sync()) {
                fail(error);
                return false;
            }
        }
        if (piece.empty()) {
            return true;
        }
        const std::lock_guard lock(meeting_->mutex);
        meeting_->arrived.notify_all();
    }
}

bool QueuedSink::put(ByteView bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        std::error_code error;
        const std::size_t written = target_->write(bytes.subspan(done), error);
        const bool interrupted = error == std::errc::interrupted;
        if ((!error && written == 0) || written > bytes.size() - done) {
            error = std::make_error_code(std::errc::io_error);
        }
        if (error && !interrupted) {
            fail(error);
            return false;
        }
        done += written;
    }
    journal_.drain(bytes.size());
    return true;
}

bool QueuedSink::enough_free_bytes() {
    if (options_.free_bytes_min == 0 || journal_.drained() < checked_free_at_) {
        return true;
    }
    checked_free_at_ = journal_.drained() + free_check_bytes;
    const std::optional<std::uint64_t> free = target_->free_bytes();
    if (!free || *free >= options_.free_bytes_min) {
        return true;
    }
    fail(make_error_code(Errc::disk_almost_full));
    return false;
}

/// Stops. The target is cut back to where the last piece began, which is where a write began too;
/// what was taken and has not arrived stays in the journal.
void QueuedSink::fail(std::error_code error) {
    static_cast<void>(target_->truncate(journal_.drained()));
    const std::lock_guard lock(meeting_->mutex);
    failure_ = error;
    failed_.store(true, std::memory_order_release);
}

} // namespace twinstep::replay
