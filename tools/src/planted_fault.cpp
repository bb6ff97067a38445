// SPDX-License-Identifier: MIT
// Flips one bit of a state.
#include "planted_fault.hpp"

#include "twinstep/sim/hash.hpp"

namespace twinstep::tools {

void PlantedFault::step() {
    inner_->step();
    if (inner_->tick() != tick_) {
        return;
    }
    const Hash128 right = inner_->hash().state;
    Bytes snapshot;
    inner_->save(snapshot);
    // Most states end with lists that may be empty, and some bits make a state that is refused: the
    // last bit that gives another valid state is taken.
    for (std::size_t i = snapshot.size(); i-- > 0;) {
        snapshot[i] ^= std::byte{1};
        if (inner_->load(snapshot) && inner_->tick() == tick_ && inner_->hash().state != right) {
            return;
        }
        snapshot[i] ^= std::byte{1};
    }
    static_cast<void>(inner_->load(snapshot));
}

} // namespace twinstep::tools
