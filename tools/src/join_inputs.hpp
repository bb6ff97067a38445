// SPDX-License-Identifier: MIT
// What a joined player presses: somebody's recorded inputs, or a bot.
#pragma once

#include "command.hpp"

#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/frame.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace twinstep::tools {

/// Hands out one slot's inputs of a source, tick by tick.
class JoinInputs {
public:
    /// Nobody presses anything.
    explicit JoinInputs(Bytes neutral);
    /// The inputs of a source: those of the slot, or of slot 0 if the source has one slot only.
    JoinInputs(OpenedSource opened, Slot slot, Bytes neutral);

    /// The input for a tick; neutral where the source has none, and after its end. Ticks are asked
    /// for in order; one may be asked for again, and some may be left out. The view is valid until
    /// the next call. Errors: the source's.
    Result<ByteView> sample(Tick tick);

    /// The source's length, where it has one.
    std::optional<std::uint64_t> ticks() const { return opened_.ticks; }

    /// What could not be read of the source, for people; or empty.
    const std::string& loss() const { return opened_.loss; }

private:
    OpenedSource opened_;
    Slot slot_;
    Bytes neutral_;
    TickFrame frame_;
    std::uint64_t next_ = 0; ///< The tick the source hands out next.
    bool ended_ = false;
};

} // namespace twinstep::tools
