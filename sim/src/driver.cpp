// SPDX-License-Identifier: MIT
// The one loop.
#include "twinstep/sim/driver.hpp"

#include "twinstep/sim/float_environment.hpp"

namespace twinstep {

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
            observer->before(begin);
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

Result<Advance> Driver::advance(std::uint64_t ticks_max) {
    Advance result;
    const FloatEnvironmentGuard guard;
    while (result.ticks < ticks_max) {
        const Tick tick = simulation_.tick();
        const Result<Supply> supply = source_.next(tick, offered_);
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
            return fail(std::move(taken.error()).in("tick " + std::to_string(tick.value)));
        }
        if (!observers_.empty()) {
            const StateHashes& hashes = simulation_.hash();
            for (Observer* observer : observers_) {
                observer->after(hashes);
            }
        }
        ++result.ticks;
    }
    return result;
}

} // namespace twinstep
