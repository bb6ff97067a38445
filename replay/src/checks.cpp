// SPDX-License-Identifier: MIT
// A companion under other circumstances; going back and taking the same steps again.
#include "twinstep/replay/checks.hpp"

#include "twinstep/replay/difference.hpp"
#include "twinstep/sim/float_environment.hpp"
#include "twinstep/sim/random.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::replay {

namespace {

/// A circumstance for the time of a scope.
class Within {
public:
    explicit Within(Circumstance* circumstance)
        : circumstance_(circumstance) {
        if (circumstance_ != nullptr) {
            circumstance_->enter();
        }
    }

    ~Within() {
        if (circumstance_ != nullptr) {
            circumstance_->leave();
        }
    }

    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

private:
    Circumstance* circumstance_;
};

/// Stream of the depths: no game draws from it.
constexpr std::uint32_t depth_stream = 0x7E57'0001;

} // namespace

Companion::Companion(Simulation& first, const CompanionOptions& options)
    : first_(first)
    , options_(options) {}

Result<void> Companion::start(bool load) {
    if (!second_) {
        second_ = first_.make_another();
        second_->set_workers(options_.workers);
    }
    if (Result<void> reset = second_->reset(first_.setup()); !reset) {
        return reset;
    }
    return load ? second_->load(snapshot_) : Result<void>();
}

void Companion::before(const TickBegin& begin) {
    if (found_ || error_) {
        return;
    }
    const bool reload = options_.reload_every != 0 && begin.tick.value % options_.reload_every == 0;
    const bool fresh = !started_ || reload;
    const bool load = reload || (!started_ && begin.tick != Tick{0});
    if (load) {
        first_.save(snapshot_);
    }
    if (fresh && !keep([&] { return start(load); })) {
        return;
    }
    if (fresh) {
        started_ = true;
        compare(begin.hashes);
    }
    // Two scopes: what a circumstance does to memory, it does again right before the step.
    if (!found_ && keep([&] { return second_->prepare(begin.frame); })) {
        keep([&] {
            second_->step();
            return Result<void>();
        });
    }
}

/// Does a part of the companion's work under its circumstance. False if it was refused.
template <class Work>
bool Companion::keep(const Work& work) {
    const Within within(options_.circumstance);
    // A driver's steps run under this guard as well.
    const FloatEnvironmentGuard guard;
    if (Result<void> done = work(); !done) {
        error_ = std::move(done.error());
        return false;
    }
    return true;
}

void Companion::after(const StateHashes& hashes) {
    if (started_ && !found_ && !error_) {
        compare(hashes);
    }
}

void Companion::compare(const StateHashes& hashes) {
    if (second_->hash().state != hashes.state) {
        found_ = compare_states(first_, *second_);
    }
}

RollbackCheck::RollbackCheck(Simulation& simulation, const RollbackOptions& options)
    : simulation_(simulation)
    , options_(options) {
    TWINSTEP_ASSERT(options.every >= 1 && options.depth_max >= 1);
}

std::uint64_t RollbackCheck::ticks_to_next() const {
    const std::uint64_t tick = simulation_.tick().value;
    return open_ ? first_.value + depth_ - tick : options_.every - tick % options_.every;
}

Result<std::optional<Divergence>> RollbackCheck::arrive(bool at_end) {
    const Tick tick = simulation_.tick();
    if (open_ && (at_end || tick.value - first_.value >= depth_)) {
        open_ = false;
        auto found = go_back();
        if (!found || *found) {
            return found;
        }
    }
    if (!open_ && !at_end && tick.value % options_.every == 0) {
        begin_window();
    }
    return std::nullopt;
}

void RollbackCheck::begin_window() {
    open_ = true;
    first_ = simulation_.tick();
    Random random(options_.seed, first_, depth_stream);
    depth_ = 1 + random.below(options_.depth_max);
    simulation_.save(start_);
    start_hash_ = simulation_.hash().state;
    count_ = 0;
}

void RollbackCheck::before(const TickBegin& begin) {
    if (!open_) {
        return;
    }
    if (count_ == past_.size()) {
        past_.emplace_back();
    }
    past_[count_].frame.assign(begin.encoded.begin(), begin.encoded.end());
}

void RollbackCheck::after(const StateHashes& hashes) {
    if (open_) {
        Past& past = past_[count_++];
        past.hash = hashes.state;
        simulation_.save(past.state);
    }
}

Result<std::optional<Divergence>> RollbackCheck::go_back() {
    const FloatEnvironmentGuard guard;
    if (Result<void> loaded = simulation_.load(start_); !loaded) {
        return fail(loaded.error());
    }
    auto found = compare(start_, start_hash_);
    TickFrame frame;
    for (std::size_t i = 0; i < count_ && found && !*found; ++i) {
        if (Result<void> decoded = decode_frame(past_[i].frame, frame); !decoded) {
            return fail(decoded.error());
        }
        if (Result<void> prepared = simulation_.prepare(frame); !prepared) {
            return fail(prepared.error());
        }
        simulation_.step();
        ++ticks_again_;
        found = compare(past_[i].state, past_[i].hash);
    }
    return found;
}

/// The state now against what it was the first time. That one is loaded into a third simulation to
/// name the field; where what was saved says nothing of it, the hashes are the answer.
Result<std::optional<Divergence>> RollbackCheck::compare(const Bytes& state, const Hash128& hash) {
    const Hash128 now = simulation_.hash().state;
    if (now == hash) {
        return std::nullopt;
    }
    const std::unique_ptr<Simulation> past = simulation_.make_another();
    if (Result<void> reset = past->reset(simulation_.setup()); !reset) {
        return fail(reset.error());
    }
    if (Result<void> loaded = past->load(state); !loaded) {
        return fail(loaded.error());
    }
    if (auto found = compare_states(*past, simulation_)) {
        return found;
    }
    return Divergence{simulation_.tick(), {}, {}, to_hex(hash), to_hex(now)};
}

} // namespace twinstep::replay
