// SPDX-License-Identifier: MIT
// A small game whose large lists are tracked vectors: one keeps its size, one grows and shrinks,
// its elements lying across the borders of chunks.
#pragma once

#include "toy_game.hpp"

#include "twinstep/sim.hpp"
#include "twinstep/sim/tracked.hpp"

#include <cstdint>

/// 24 bytes: 170 2/3 of them make a chunk.
struct TrackedBody {
    std::int64_t x = 0;
    std::int64_t y = 0;
    std::uint32_t angle = 0;
    std::uint16_t health = 0;
    std::uint16_t kind = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(x), CEREAL_NVP(y), CEREAL_NVP(angle));
        archive(CEREAL_NVP(health), CEREAL_NVP(kind));
    }

    bool operator==(const TrackedBody&) const = default;
};

template <>
inline constexpr bool twinstep::contiguous<TrackedBody> = true;

class TrackedGame {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "tracked";
    static constexpr twinstep::TickRate tick_rate{50};
    static constexpr std::uint16_t slots_min = 1;
    static constexpr std::uint16_t slots_max = 4;

    void reset(const twinstep::Setup& setup) { cells_.assign(5000, setup.slots); }

    void step(const twinstep::Step<Input>& step) {
        for (int i = 0; i < 3; ++i) {
            const std::uint32_t cell = step.random.below(5000);
            cells_.write(cell) += cell;
        }
        for (const auto& player : step.players) {
            turns_ += player.input.turn;
            if (player.input.fire) {
                const std::uint32_t count = step.random.below(40);
                for (std::uint32_t i = 0; i < count; ++i) {
                    bodies_.push_back({player.input.dx, turns_, i, 100, 1});
                }
            }
        }
        if (bodies_.size() > 400) {
            bodies_.resize(step.random.below(400));
        }
        if (!bodies_.empty()) {
            const std::uint32_t first =
                step.random.below(static_cast<std::uint32_t>(bodies_.size()));
            for (TrackedBody& body : bodies_.write_range(first, bodies_.size())) {
                --body.health;
            }
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(twinstep::section("cells", CEREAL_NVP(cells_)),
                twinstep::section("turns", CEREAL_NVP(turns_)),
                twinstep::section("bodies", CEREAL_NVP(bodies_)));
    }

    const twinstep::TrackedVector<std::uint32_t>& cells() const { return cells_; }

    const twinstep::TrackedVector<TrackedBody>& bodies() const { return bodies_; }

private:
    twinstep::TrackedVector<std::uint32_t> cells_;
    std::int64_t turns_ = 0;
    twinstep::TrackedVector<TrackedBody> bodies_;
};
