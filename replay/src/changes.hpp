// SPDX-License-Identifier: MIT
// A tick as what differs from the tick before: computed from, and turned back into, frame
// encodings.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/types.hpp"

namespace twinstep::replay {

/// Appends what differs in `frame` from `before`: nothing, or a bit a slot and the inputs of the
/// slots whose bit is set. False, and nothing appended, if the frame has events or another number
/// of slots. Requires two encodings of encode_frame. Determinism: pure.
bool encode_changes(ByteView before, ByteView frame, Bytes& target);

/// True if encode_changes would do.
bool is_change(ByteView before, ByteView frame);

/// Replaces `frame` with the encoding of tick `tick` that `changes` makes of `before`. Requires an
/// encoding in `before`; checks how `changes` is built, not what the inputs in it are: that is
/// decode_frame's. Errors: corrupt_record, at an offset in `changes`.
Result<void> apply_changes(ByteView before, Tick tick, ByteView changes, Bytes& frame);

} // namespace twinstep::replay
