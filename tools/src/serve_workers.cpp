// SPDX-License-Identifier: MIT
// The worker threads and their queues.
#include "serve_workers.hpp"

#include "twinstep/net/udp_port.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace twinstep::tools {

namespace {

constexpr std::chrono::milliseconds idle_heartbeat{200};

/// One thing to do, in order.
struct Work {
    enum class Kind : std::uint8_t { add, frame, snapshot, evidence, finish };

    Kind kind{};
    net::MatchId match = 0;
    Bytes frame;
    Tick tick;
    std::string path;
    std::unique_ptr<SimulatedMatch> simulation;
};

/// A match as its thread knows it.
struct Living {
    std::unique_ptr<SimulatedMatch> simulation;
    bool failed = false;
    bool recording_lost = false;
};

/// What all threads report to.
struct Out {
    std::mutex mutex;
    std::vector<WorkDone> done;
    std::function<void()> wake;

    void put(WorkDone item) {
        {
            const std::lock_guard lock(mutex);
            done.push_back(std::move(item));
            if (done.size() != 1) {
                return; // Whoever takes the first takes this one too.
            }
        }
        wake();
    }
};

class Worker {
public:
    explicit Worker(Out& out)
        : out_(out)
        , thread_([this] { run(); }) {}

    void push(Work work) {
        {
            const std::lock_guard lock(mutex_);
            queue_.push_back(std::move(work));
        }
        condition_.notify_one();
    }

    /// A buffer that a frame was in before, so that no memory is asked for per tick.
    Bytes buffer() {
        const std::lock_guard lock(mutex_);
        Bytes bytes;
        if (!spare_.empty()) {
            bytes = std::move(spare_.back());
            spare_.pop_back();
        }
        return bytes;
    }

    std::size_t frames_waiting(net::MatchId match) const {
        const std::lock_guard lock(mutex_);
        const auto found = waiting_.find(match);
        return found == waiting_.end() ? 0 : found->second;
    }

    void frame_added(net::MatchId match) {
        const std::lock_guard lock(mutex_);
        ++waiting_[match];
    }

    std::size_t waiting() const {
        const std::lock_guard lock(mutex_);
        return queue_.size();
    }

    net::Micros heartbeat() const { return {heartbeat_.load(std::memory_order_relaxed)}; }

    void ask_to_stop() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        condition_.notify_one();
    }

    bool stopped() const { return stopped_.load(); }

    void join() { thread_.join(); }

    void abandon() { thread_.detach(); }

    std::size_t matches = 0; ///< For whoever hands out matches.

private:
    void beat() { heartbeat_.store(net::monotonic_now().value, std::memory_order_relaxed); }

    void run() {
        Work work;
        while (next(work)) {
            beat();
            act(work);
            if (work.kind == Work::Kind::frame) {
                const std::lock_guard lock(mutex_);
                --waiting_[work.match];
                spare_.push_back(std::move(work.frame));
            }
            work = {};
        }
        for (auto& [match, living] : matches_) {
            close(match, living);
        }
        stopped_ = true;
    }

    bool next(Work& work) {
        std::unique_lock lock(mutex_);
        while (queue_.empty() && !stopping_) {
            beat();
            condition_.wait_for(lock, idle_heartbeat);
        }
        if (stopping_) {
            return false;
        }
        work = std::move(queue_.front());
        queue_.pop_front();
        return true;
    }

    void act(Work& work) {
        if (work.kind == Work::Kind::add) {
            matches_[work.match].simulation = std::move(work.simulation);
            return;
        }
        const auto found = matches_.find(work.match);
        if (found == matches_.end()) {
            return;
        }
        Living& living = found->second;
        if (work.kind == Work::Kind::frame) {
            step(work.match, living, work.frame);
        } else if (work.kind == Work::Kind::snapshot) {
            want_snapshot(work.match, living, work.tick);
        } else if (work.kind == Work::Kind::evidence) {
            write_evidence(work, living);
        } else {
            close(work.match, living);
            matches_.erase(found);
            const std::lock_guard lock(mutex_);
            waiting_.erase(work.match);
        }
    }

    void step(net::MatchId match, Living& living, ByteView frame) {
        if (living.failed) {
            return;
        }
        const net::Micros start = net::monotonic_now();
        Result<void> stepped;
        try {
            stepped = living.simulation->step(frame);
        } catch (const std::exception& exception) {
            stepped = fail(Error(SimErrc::limit_exceeded, "step", exception.what()));
        }
        if (!stepped) {
            living.failed = true;
            out_.put({WorkDone::Kind::failed, match, {}, {}, {}, stepped.error(), {}});
            return;
        }
        WorkDone done{WorkDone::Kind::stepped, match, {}, net::monotonic_now() - start, {}, {}, {}};
        if (living.simulation->wants_hashes()) {
            done.hashes = living.simulation->hashes();
        }
        out_.put(std::move(done));
        replay::Recorder* const recorder = living.simulation->recorder();
        if (recorder != nullptr && !living.recording_lost) {
            if (const auto error = recorder->status().error) {
                living.recording_lost = true;
                out_.put({WorkDone::Kind::recording_stopped, match, {}, {}, {}, *error, {}});
            }
        }
        give_snapshot(match, living);
    }

    void want_snapshot(net::MatchId match, Living& living, Tick tick) {
        if (!living.failed) {
            living.simulation->server().want_snapshot(tick);
            static_cast<void>(living.simulation->server().advance(0)); // It may be there already.
            give_snapshot(match, living);
        }
    }

    void give_snapshot(net::MatchId match, Living& living) {
        net::ServerSimulation& server = living.simulation->server();
        if (const std::optional<Tick> tick = server.snapshot_tick()) {
            out_.put({WorkDone::Kind::snapshot,
                      match,
                      {*tick, {}, {}},
                      {},
                      server.take_snapshot(),
                      {},
                      {}});
        }
    }

    void write_evidence(const Work& work, const Living& living) {
        WorkDone done{WorkDone::Kind::evidence, work.match, {}, {}, {}, {}, work.path};
        const EvidenceRing* const evidence = living.simulation->evidence();
        const Result<void> written =
            evidence == nullptr ? fail(Error(SimErrc::wrong_tick, "tick", "no states are kept"))
                                : evidence->write(work.path, work.tick);
        if (!written) {
            done.error = written.error();
        }
        out_.put(std::move(done));
    }

    void close(net::MatchId match, Living& living) {
        const StateHashes& last = living.simulation->hashes();
        WorkDone done{WorkDone::Kind::finished, match, {last.tick, last.state, {}}, {}, {}, {}, {}};
        if (replay::Recorder* const recorder = living.simulation->recorder()) {
            if (Result<void> closed = recorder->close(); !closed) {
                done.error = closed.error();
            }
        }
        out_.put(std::move(done));
    }

    Out& out_;
    mutable std::mutex mutex_;
    std::condition_variable condition_;
    std::deque<Work> queue_;
    std::vector<Bytes> spare_;
    std::map<net::MatchId, std::size_t> waiting_;
    bool stopping_ = false;
    std::atomic<bool> stopped_ = false;
    std::atomic<std::int64_t> heartbeat_{net::monotonic_now().value};
    std::map<net::MatchId, Living> matches_; ///< The thread's own.
    std::thread thread_;
};

} // namespace

struct Workers::Impl {
    Out out;
    std::vector<std::unique_ptr<Worker>> workers;
    std::map<net::MatchId, Worker*> homes;
};

Workers::Workers(std::uint32_t threads, std::function<void()> wake)
    : impl_(std::make_unique<Impl>()) {
    impl_->out.wake = std::move(wake);
    for (std::uint32_t i = 0; i < threads; ++i) {
        impl_->workers.push_back(std::make_unique<Worker>(impl_->out));
    }
}

Workers::~Workers() {
    for (const auto& worker : impl_->workers) {
        worker->ask_to_stop();
    }
    for (const auto& worker : impl_->workers) {
        worker->join();
    }
}

void Workers::add(net::MatchId match, std::unique_ptr<SimulatedMatch> simulation) {
    Worker& home =
        **std::min_element(impl_->workers.begin(),
                           impl_->workers.end(),
                           [](const auto& a, const auto& b) { return a->matches < b->matches; });
    ++home.matches;
    impl_->homes[match] = &home;
    Work work;
    work.kind = Work::Kind::add;
    work.match = match;
    work.simulation = std::move(simulation);
    home.push(std::move(work));
}

bool Workers::push(net::MatchId match, ByteView frame) {
    const auto home = impl_->homes.find(match);
    if (home == impl_->homes.end() || home->second->frames_waiting(match) >= frames_waiting_max) {
        return false;
    }
    Work work;
    work.kind = Work::Kind::frame;
    work.match = match;
    work.frame = home->second->buffer();
    work.frame.assign(frame.begin(), frame.end());
    home->second->frame_added(match);
    home->second->push(std::move(work));
    return true;
}

void Workers::want_snapshot(net::MatchId match, Tick tick) {
    if (const auto home = impl_->homes.find(match); home != impl_->homes.end()) {
        Work work;
        work.kind = Work::Kind::snapshot;
        work.match = match;
        work.tick = tick;
        home->second->push(std::move(work));
    }
}

void Workers::write_evidence(net::MatchId match, Tick tick, std::string path) {
    if (const auto home = impl_->homes.find(match); home != impl_->homes.end()) {
        Work work;
        work.kind = Work::Kind::evidence;
        work.match = match;
        work.tick = tick;
        work.path = std::move(path);
        home->second->push(std::move(work));
    }
}

void Workers::finish(net::MatchId match) {
    if (const auto home = impl_->homes.find(match); home != impl_->homes.end()) {
        Work work;
        work.kind = Work::Kind::finish;
        work.match = match;
        home->second->push(std::move(work));
        --home->second->matches;
        impl_->homes.erase(home);
    }
}

void Workers::take(std::vector<WorkDone>& target) {
    const std::lock_guard lock(impl_->out.mutex);
    target.insert(target.end(),
                  std::make_move_iterator(impl_->out.done.begin()),
                  std::make_move_iterator(impl_->out.done.end()));
    impl_->out.done.clear();
}

std::size_t Workers::waiting() const {
    std::size_t sum = 0;
    for (const auto& worker : impl_->workers) {
        sum += worker->waiting();
    }
    return sum;
}

net::Micros Workers::heartbeat_age(net::Micros now) const {
    net::Micros oldest = now;
    for (const auto& worker : impl_->workers) {
        oldest = std::min(oldest, worker->heartbeat());
    }
    return now - oldest;
}

bool Workers::stop(net::Micros patience) {
    for (const auto& worker : impl_->workers) {
        worker->ask_to_stop();
    }
    const net::Micros end = net::monotonic_now() + patience;
    const auto all_stopped = [this] {
        return std::all_of(impl_->workers.begin(), impl_->workers.end(), [](const auto& worker) {
            return worker->stopped();
        });
    };
    while (!all_stopped()) {
        if (net::monotonic_now() >= end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

} // namespace twinstep::tools
