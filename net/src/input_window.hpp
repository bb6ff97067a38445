// SPDX-License-Identifier: MIT
// The inputs that the server has not acknowledged: never overwritten, never skipped.
#pragma once

#include "twinstep/net/wire.hpp"
#include "twinstep/sim/bytes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace twinstep::net {

/// Makes one input of two: every button that was pressed in either must be pressed in the result.
using InputMerge = std::function<void(ByteView earlier, ByteView later, Bytes& merged)>;

/// Inputs of consecutive ticks, at most 128, oldest first.
class InputWindow {
public:
    static constexpr std::size_t capacity = wire::window_ticks_max;

    /// Empties the window; the next input is for `first`, the last one was `neutral`.
    void start(std::uint64_t first, ByteView neutral);

    std::uint64_t first() const { return first_; }

    /// The tick that the next appended input is for.
    std::uint64_t next() const { return first_ + count_; }

    std::size_t count() const { return count_; }

    std::size_t room() const { return capacity - count_; }

    /// Appends an input. Requires room.
    void append(ByteView input);
    /// Appends the last input again, for ticks that are inserted. As far as there is room; returns
    /// how many it was.
    std::size_t repeat(std::size_t count);

    /// The server needs `tick` next: everything before is forgotten. A tick beyond next() is one
    /// that the server has closed without us: the window goes on from there. Returns by how many
    /// ticks it jumped.
    std::uint64_t acknowledge(std::uint64_t tick);

    /// The input of a tick in the window.
    ByteView at(std::uint64_t tick) const;

    /// Writes runs from `first` on into `target`, which keeps at most `bytes_max`; returns how many
    /// inputs they hold.
    std::size_t
    encode(std::uint64_t first, ByteView neutral, std::size_t bytes_max, Bytes& target) const;

private:
    std::array<wire::InputValue, capacity> values_{};
    wire::InputValue last_{};
    std::uint64_t first_ = 0;
    std::size_t count_ = 0;
};

/// Sets a value. Requires at most input_bytes_max bytes.
void assign(wire::InputValue& value, ByteView bytes);

} // namespace twinstep::net
