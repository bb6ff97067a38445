// SPDX-License-Identifier: MIT
// One slot's inputs of a source.
#include "join_inputs.hpp"

#include <utility>

namespace twinstep::tools {

JoinInputs::JoinInputs(Bytes neutral)
    : neutral_(std::move(neutral))
    , ended_(true) {}

JoinInputs::JoinInputs(OpenedSource opened, Slot slot, Bytes neutral)
    : opened_(std::move(opened))
    , slot_(slot)
    , neutral_(std::move(neutral)) {}

Result<ByteView> JoinInputs::sample(Tick tick) {
    // A source goes one way, tick by tick; the ticks before the first sample are nobody's.
    while (!ended_ && next_ <= tick.value) {
        const Result<Supply> supply = opened_.source->next(Tick{next_}, frame_);
        if (!supply) {
            return fail(supply.error());
        }
        ended_ = *supply != Supply::ready;
        ++next_;
    }
    if (ended_ || next_ != tick.value + 1) {
        return ByteView(neutral_);
    }
    const Slot slot = frame_.slot_count() == 1 ? Slot{0} : slot_;
    if (slot.value >= frame_.slot_count() || !frame_.at(slot).present) {
        return ByteView(neutral_);
    }
    return frame_.input(slot);
}

} // namespace twinstep::tools
