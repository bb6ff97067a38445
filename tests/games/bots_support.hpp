// SPDX-License-Identifier: MIT
// Sessions of a game's bots, recorded into memory.
#pragma once

#include "twinstep/replay.hpp"
#include "twinstep/sim.hpp"

#include <cstddef>
#include <cstdint>
#include <system_error>

namespace twinstep {

/// Bots in every slot.
template <class G>
class Bots final : public Source {
public:
    Bots(std::uint64_t seed, std::uint16_t slots)
        : seed_(seed)
        , slots_(slots) {}

    Result<Supply> next(Tick tick, TickFrame& frame) override {
        frame.reset(tick, slots_);
        for (std::uint16_t slot = 0; slot < slots_; ++slot) {
            Random random(seed_, tick, 1000U + slot);
            bytes_.clear();
            encode_input(G::bot(random, tick, Slot{slot}), bytes_);
            frame.set_input(Slot{slot}, bytes_);
        }
        return Supply::ready;
    }

private:
    std::uint64_t seed_;
    std::uint16_t slots_;
    Bytes bytes_;
};

/// A file in memory whose room is there from the start.
class RoomySink final : public replay::FileSink {
public:
    explicit RoomySink(Bytes& file)
        : file_(file) {
        file_.reserve(std::size_t{1} << 20);
    }

    std::size_t write(ByteView bytes, std::error_code&) override {
        file_.insert(file_.end(), bytes.begin(), bytes.end());
        return bytes.size();
    }

    std::error_code truncate(std::uint64_t size) override {
        file_.resize(static_cast<std::size_t>(size));
        return {};
    }

    std::error_code sync() override { return {}; }

    std::error_code close() override { return {}; }

private:
    Bytes& file_;
};

} // namespace twinstep
