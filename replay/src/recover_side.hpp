// SPDX-License-Identifier: MIT
// Keyframes of a side file, for parts behind damage of the recording.
#pragma once

#include "keyframe_side_file.hpp"

#include "twinstep/replay/keyframes.hpp"
#include "twinstep/replay/recover.hpp"

#include <map>
#include <optional>

namespace twinstep::replay {

/// What a side file holds of each tick, found in one pass; each a claim. Thread: one owner.
class SideKeyframes {
public:
    /// Nothing if there is no side file, or one of another session. What is wrong with it ends it.
    static std::optional<SideKeyframes> open(const RecoverOptions& options,
                                             const SessionId& session);

    /// The snapshot of a tick's keyframe, if it can be read. Its hash was not looked at.
    std::optional<Bytes> snapshot(Tick tick);

    /// What the keyframe says of itself. Requires that snapshot() gave something.
    const KeyframeInfo& info(Tick tick) const { return found_.at(tick).info; }

private:
    struct Found {
        KeyframeInfo info;
        SideFileReader::At at;
    };

    explicit SideKeyframes(SideFileReader reader)
        : reader_(std::move(reader)) {}

    std::optional<Bytes> stored(const Found& found);

    SideFileReader reader_;
    std::map<Tick, Found> found_;
};

} // namespace twinstep::replay
