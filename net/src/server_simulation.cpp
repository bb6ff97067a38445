// SPDX-License-Identifier: MIT
// Queue, driver and results of the server's simulation.
#include "twinstep/net/server_simulation.hpp"

#include "twinstep/net/errc.hpp"
#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/frame.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace twinstep::net {

namespace {

/// Frames that wait, oldest first; buffers are used again.
class FrameQueue final : public Source {
public:
    FrameQueue(std::size_t frames_max, std::size_t bytes_max)
        : frames_max_(frames_max)
        , bytes_max_(bytes_max)
        , places_(std::min<std::size_t>(frames_max, 64)) {}

    bool push(ByteView frame) {
        if (count_ == frames_max_ || bytes_ + frame.size() > bytes_max_) {
            return false;
        }
        if (count_ == places_.size()) {
            grow();
        }
        Bytes& place = places_[(head_ + count_) % places_.size()];
        place.assign(frame.begin(), frame.end());
        bytes_ += frame.size();
        ++count_;
        return true;
    }

    Result<Supply> next(Tick, TickFrame& frame) override {
        if (count_ == 0) {
            return Supply::not_yet;
        }
        const Bytes& place = places_[head_];
        if (auto decoded = decode_frame(place, frame); !decoded) {
            return fail(decoded.error());
        }
        bytes_ -= place.size();
        head_ = (head_ + 1) % places_.size();
        --count_;
        return Supply::ready;
    }

    std::string_view waiting_for() const override { return "the next closed tick"; }

    std::size_t size() const { return count_; }

    std::size_t memory_bytes() const {
        std::size_t bytes = places_.capacity() * sizeof(Bytes);
        for (const Bytes& place : places_) {
            bytes += place.capacity();
        }
        return bytes;
    }

private:
    void grow() {
        std::vector<Bytes> larger(std::min(frames_max_, places_.size() * 2));
        for (std::size_t i = 0; i < count_; ++i) {
            larger[i] = std::move(places_[(head_ + i) % places_.size()]);
        }
        places_ = std::move(larger);
        head_ = 0;
    }

    std::size_t frames_max_;
    std::size_t bytes_max_;
    std::vector<Bytes> places_;
    std::size_t head_ = 0;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
};

/// Results that wait, oldest first; their memory is used again.
class HashQueue final : public Observer {
public:
    explicit HashQueue(std::size_t size)
        : places_(std::max<std::size_t>(size, 2)) {}

    void after(const StateHashes& hashes) override {
        TWINSTEP_ASSERT(!full());
        places_[(head_ + count_) % places_.size()] = hashes;
        ++count_;
    }

    bool full() const { return count_ == places_.size(); }

    const StateHashes* front() const { return count_ == 0 ? nullptr : &places_[head_]; }

    void pop() {
        TWINSTEP_ASSERT(count_ != 0);
        head_ = (head_ + 1) % places_.size();
        --count_;
    }

private:
    std::vector<StateHashes> places_;
    std::size_t head_ = 0;
    std::size_t count_ = 0;
};

} // namespace

struct ServerSimulation::Impl {
    Impl(std::unique_ptr<Simulation> own, Simulation& simulation, const Limits& limits)
        : owned(std::move(own))
        , queue(limits.frames_max, limits.frame_bytes_max)
        , results(limits.hashes_max)
        , driver(simulation, queue)
        , offered(simulation.tick()) {
        driver.add(results);
        results.after(simulation.hash());
    }

    void save_if_wanted() {
        Simulation& simulation = driver.simulation();
        if (wanted && simulation.tick() >= *wanted) {
            simulation.save(snapshot);
            snapshot_at = simulation.tick();
            wanted.reset();
        }
    }

    std::unique_ptr<Simulation> owned;
    FrameQueue queue;
    HashQueue results;
    Driver driver;
    Tick offered; ///< The tick that is queued next.
    bool broken = false;
    std::optional<Tick> wanted;
    std::optional<Tick> snapshot_at;
    Bytes snapshot;
};

ServerSimulation::ServerSimulation(std::unique_ptr<Simulation> simulation)
    : ServerSimulation(std::move(simulation), Limits{}) {}

ServerSimulation::ServerSimulation(std::unique_ptr<Simulation> simulation, Limits limits) {
    TWINSTEP_ASSERT(simulation != nullptr);
    Simulation& borrowed = *simulation;
    impl_ = std::make_unique<Impl>(std::move(simulation), borrowed, limits);
}

ServerSimulation::ServerSimulation(Simulation& simulation)
    : ServerSimulation(simulation, Limits{}) {}

ServerSimulation::ServerSimulation(Simulation& simulation, Limits limits)
    : impl_(std::make_unique<Impl>(nullptr, simulation, limits)) {}

ServerSimulation::ServerSimulation(ServerSimulation&&) noexcept = default;
ServerSimulation& ServerSimulation::operator=(ServerSimulation&&) noexcept = default;
ServerSimulation::~ServerSimulation() = default;

void ServerSimulation::add(Observer& observer) {
    impl_->driver.add(observer);
}

bool ServerSimulation::offer(Tick tick, ByteView frame) {
    if (impl_->broken) {
        return false;
    }
    if (tick != impl_->offered || !impl_->queue.push(frame)) {
        impl_->broken = true;
        return false;
    }
    impl_->offered = impl_->offered + 1;
    return true;
}

void ServerSimulation::want_snapshot(Tick tick) {
    impl_->wanted = tick;
    impl_->snapshot_at.reset();
}

Result<Advance> ServerSimulation::advance(std::uint64_t ticks_max) {
    Advance all{0, DriverState::running};
    impl_->save_if_wanted();
    while (all.ticks < ticks_max) {
        // A result without a place would be lost: the owner takes some first.
        if (impl_->broken || impl_->results.full()) {
            all.state = DriverState::waiting;
            return all;
        }
        auto one = impl_->driver.advance(1);
        if (!one) {
            impl_->broken = true;
            return fail(std::move(one.error()));
        }
        if (one->ticks == 0) {
            all.state = one->state;
            return all;
        }
        ++all.ticks;
        impl_->save_if_wanted();
    }
    return all;
}

const StateHashes* ServerSimulation::hashes() const {
    return impl_->results.front();
}

void ServerSimulation::take_hashes() {
    impl_->results.pop();
}

std::optional<Tick> ServerSimulation::snapshot_tick() const {
    return impl_->snapshot_at;
}

ByteView ServerSimulation::snapshot() const {
    TWINSTEP_ASSERT(impl_->snapshot_at.has_value());
    return impl_->snapshot;
}

Bytes ServerSimulation::take_snapshot() {
    impl_->snapshot_at.reset();
    return std::exchange(impl_->snapshot, {});
}

bool ServerSimulation::broken() const {
    return impl_->broken;
}

std::size_t ServerSimulation::backlog() const {
    return impl_->queue.size();
}

Tick ServerSimulation::tick() const {
    return impl_->driver.simulation().tick();
}

Simulation& ServerSimulation::simulation() {
    return impl_->driver.simulation();
}

std::size_t ServerSimulation::memory_bytes() const {
    return sizeof(Impl) + impl_->queue.memory_bytes() + impl_->snapshot.capacity();
}

} // namespace twinstep::net
