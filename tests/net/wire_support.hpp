// SPDX-License-Identifier: MIT
// Random inputs and frames for tests of the codec.
#pragma once

#include "test_random.hpp"

#include "twinstep/net/wire.hpp"
#include "twinstep/sim/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

/// The next input of somebody who plays: mostly the same again, or a few bytes of it changed.
inline void play_on(TestRandom& random, twinstep::Bytes& value) {
    const std::size_t what = random.below(10);
    if (what < 5) {
        return;
    }
    if (what < 9 && !value.empty()) {
        value[random.below(value.size())] = static_cast<std::byte>(random.bits());
    } else {
        value = random_bytes(random, random.below(random.below(8) == 0 ? 257 : 12));
    }
}

inline std::vector<twinstep::Bytes> random_values(TestRandom& random, std::size_t count) {
    std::vector<twinstep::Bytes> values;
    twinstep::Bytes value;
    for (std::size_t i = 0; i < count; ++i) {
        play_on(random, value);
        values.push_back(value);
    }
    return values;
}

/// Encoded frames of consecutive ticks; `unrest` of 8 says how often shapes and events occur.
inline std::vector<twinstep::Bytes> random_frames(TestRandom& random,
                                                  std::uint64_t first,
                                                  std::uint16_t slots,
                                                  std::size_t count,
                                                  std::size_t unrest) {
    using twinstep::Bytes;
    using twinstep::EventKind;
    using twinstep::Slot;
    using twinstep::Tick;
    using twinstep::TickFrame;
    std::vector<Bytes> frames;
    std::vector<Bytes> inputs(slots);
    std::vector<int> kinds(slots, 0); // 0 present, 1 substituted, 2 absent
    TickFrame frame;
    for (std::size_t i = 0; i < count; ++i) {
        frame.reset(Tick{first + i}, slots);
        if (random.below(64) < unrest) {
            const Bytes payload = random_bytes(random, random.below(20));
            frame.add_event(static_cast<EventKind>(1 + random.below(255)), payload);
            frame.add_event(EventKind::leave, Slot{static_cast<std::uint16_t>(random.below(4096))});
        }
        for (std::uint16_t slot = 0; slot < slots; ++slot) {
            if (random.below(128) < unrest) {
                kinds[slot] = static_cast<int>(random.below(3));
            }
            play_on(random, inputs[slot]);
            if (kinds[slot] != 2) {
                frame.set_input(Slot{slot}, inputs[slot], kinds[slot] == 1);
            }
        }
        Bytes& encoded = frames.emplace_back();
        encode_frame(frame, encoded);
    }
    return frames;
}
