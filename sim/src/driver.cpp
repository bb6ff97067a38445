// SPDX-License-Identifier: MIT
// The one loop.
#include "twinstep/sim/driver.hpp"

#include "twinstep/sim/float_environment.hpp"

namespace twinstep {

namespace {

Error at_tick(Error error, Tick tick) {
    return std::move(error).in("tick " + std::to_string(tick.value));
}

} // namespace

/// Calls somebody who must not change the state, and looks whether he has, if it is time to.
template <class Called, class Work>
Result<void> Driver::call(const Called& called, Tick tick, const Work& work) {
    if (watch_ticks_ != 0 && tick.value % watch_ticks_ == 0) {
        return guard_.call(called.name(), work);
    }
    work();
    return {};
}

Result<void> Driver::take(TickFrame& frame, const FloatEnvironmentGuard& guard) {
    // What the step consumes is what was recorded or sent: the encoded form, decoded again.
    encoded_.clear();
    encode_frame(frame, encoded_);
    if (Result<void> decoded = decode_frame(encoded_, decoded_); !decoded) {
        return decoded;
    }
    if (Result<void> prepared = simulation_.prepare(decoded_); !prepared) {
        return prepared;
    }
    if (!observers_.empty()) {
        const TickBegin begin{decoded_.tick(), decoded_, encoded_, simulation_.hash()};
        for (Observer* observer : observers_) {
            const auto called = call(*observer, begin.tick, [&] { observer->before(begin); });
            if (!called) {
                return called;
            }
        }
        guard.enforce();
    }
    simulation_.step();
    if (!guard.intact() || !simulation_.workers().intact()) {
        return fail(
            Error(SimErrc::bad_float_environment, "control register", "changed inside the step"));
    }
    return {};
}

Result<void> Driver::show(const StateHashes& hashes) {
    for (Observer* observer : observers_) {
        const auto called = call(*observer, hashes.tick, [&] { observer->after(hashes); });
        if (!called) {
            return called;
        }
    }
    return {};
}

Result<Advance> Driver::advance(std::uint64_t ticks_max) {
    Advance result;
    const FloatEnvironmentGuard guard;
    while (result.ticks < ticks_max) {
        const Tick tick = simulation_.tick();
        Result<Supply> supply;
        const auto called = call(source_, tick, [&] { supply = source_.next(tick, offered_); });
        if (!called) {
            return fail(at_tick(called.error(), tick));
        }
        if (!supply) {
            return fail(supply.error());
        }
        if (*supply != Supply::ready) {
            result.state = *supply == Supply::end ? DriverState::ended : DriverState::waiting;
            return result;
        }
        // A source may run a driver's or a plugin's code; its mode is not the step's.
        guard.enforce();
        if (Result<void> taken = take(offered_, guard); !taken) {
            return fail(at_tick(std::move(taken.error()), tick));
        }
        if (!observers_.empty()) {
            if (Result<void> shown = show(simulation_.hash()); !shown) {
                return fail(at_tick(std::move(shown.error()), tick + 1));
            }
        }
        ++result.ticks;
    }
    return result;
}

} // namespace twinstep
