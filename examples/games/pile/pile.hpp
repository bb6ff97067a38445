// SPDX-License-Identifier: MIT
// The reference game `pile`: float32 rigid bodies that a player throws and pulls about.
#pragma once

#include "pile_collide.hpp"
#include "pile_solver.hpp"

#include "twinstep/sim.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace twinstep::games {

/// What the player does at a tick.
struct PileInput {
    static constexpr std::uint8_t button_throw = 1;
    static constexpr std::uint8_t button_pull = 2;

    std::int16_t aim_x = 0;   ///< Left wall to right wall over the whole range.
    std::int16_t aim_y = 0;   ///< Floor to ceiling over the whole range.
    std::uint8_t buttons = 0; ///< button_throw and button_pull; other bits mean nothing.

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(aim_x), CEREAL_NVP(aim_y), CEREAL_NVP(buttons));
    }
};

/// All bodies, one list a field, so that each list is encoded as one run.
struct PileBodies {
    std::vector<float> x; ///< Centre, in metres from the left wall.
    std::vector<float> y; ///< Centre, in metres above the floor.
    std::vector<float> cosine;
    std::vector<float> sine;
    std::vector<float> velocity_x; ///< Metres a second.
    std::vector<float> velocity_y;
    std::vector<float> spin;   ///< Radians a second.
    std::vector<float> half_x; ///< Half extents in metres; the radius twice for a circle.
    std::vector<float> half_y;
    std::vector<std::uint8_t> box;  ///< 1: a box, 0: a circle.
    std::vector<std::uint8_t> rest; ///< Ticks at rest so far; rest_asleep: asleep.

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(x), CEREAL_NVP(y), CEREAL_NVP(cosine), CEREAL_NVP(sine));
        archive(CEREAL_NVP(velocity_x), CEREAL_NVP(velocity_y), CEREAL_NVP(spin));
        archive(CEREAL_NVP(half_x), CEREAL_NVP(half_y), CEREAL_NVP(box), CEREAL_NVP(rest));
    }
};

/// The contact points of the last tick with the impulses the next tick starts from. Strictly
/// ascending by pair, then feature.
struct PileContacts {
    std::vector<std::uint32_t> pair;   ///< First body * 65536 + second body or wall.
    std::vector<std::uint8_t> feature; ///< Which corner or face touches.
    std::vector<float> normal;         ///< Impulses, in kilogram metres a second.
    std::vector<float> tangent;

    void reserve(std::size_t count);
    void clear();
    void add(std::uint32_t pair_key, std::uint8_t feature_id, float normal_n, float tangent_n);

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(pair), CEREAL_NVP(feature), CEREAL_NVP(normal), CEREAL_NVP(tangent));
    }
};

/// The player's part of the state.
struct PilePlayer {
    float aim_x = 0.0F; ///< Metres.
    float aim_y = 0.0F;
    std::uint32_t next = 0;    ///< The body that is thrown next.
    std::uint32_t thrown = 0;  ///< Throws so far; wraps.
    std::uint8_t cooldown = 0; ///< Ticks until the next throw.

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(aim_x),
                CEREAL_NVP(aim_y),
                CEREAL_NVP(next),
                CEREAL_NVP(thrown),
                CEREAL_NVP(cooldown));
    }
};

/// Circles and boxes under gravity between four walls. Setup.config: "bodies", 10 to 5000.
/// Determinism: float32 with + - * / and square root only, in one fixed order; see README.md.
class Pile {
public:
    using Input = PileInput;
    static constexpr std::string_view id = "pile";
    static constexpr std::uint32_t version = 1;
    /// Digest of the sources this build was made from.
    static const std::string_view source_digest;
    static constexpr TickRate tick_rate{60};
    static constexpr std::uint16_t slots_min = 1;
    static constexpr std::uint16_t slots_max = 1;

    static constexpr std::uint32_t bodies_default = 1000;
    static constexpr std::uint32_t bodies_min = 10;
    static constexpr std::uint32_t bodies_max = 5000;
    static constexpr std::uint8_t rest_asleep = 255; ///< Mark of a sleeper in PileBodies::rest.

    /// Refuses unknown config keys and bad values. Errors: bad_setup, with the key as field.
    static Result<void> check(const Setup& setup);

    /// A player who throws, pulls, and pauses in turn. Determinism: pure in its arguments.
    static Input bot(Random& random, Tick tick, Slot slot);

    /// Requires a set-up that check() accepts.
    void reset(const Setup& setup);

    void step(const Step<Input>& step);

    /// Loading refuses a state that a step could not work on.
    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("bodies", cereal::make_nvp("bodies", bodies_)),
                section("contacts", cereal::make_nvp("contacts", contacts_)),
                section("player", cereal::make_nvp("player", player_)));
        if constexpr (std::same_as<Archive, InArchive>) {
            if (archive.ok()) {
                require_possible();
            }
        }
    }

    const PileBodies& bodies() const { return bodies_; }

    const PileContacts& contacts() const { return contacts_; }

    const PilePlayer& player() const { return player_; }

    /// Width and height of the room, in metres.
    std::int32_t room() const { return room_; }

private:
    /// What the broad phase looks at, sorted by cell, then body.
    struct GridEntry {
        float x;
        float y;
        float reach_x;
        float reach_y;
        std::uint32_t body;
        std::uint32_t asleep;
    };

    std::uint32_t count() const { return static_cast<std::uint32_t>(bodies_.x.size()); }

    bool asleep(std::size_t body) const { return bodies_.rest[body] == rest_asleep; }

    pile_detail::Shape shape(std::size_t body) const;
    void make_bodies(std::uint64_t seed, std::uint32_t count);
    /// Throws std::out_of_range if a step could not work on the loaded state.
    void require_possible() const;

    void act(const Step<Input>& step);
    void throw_body(Random& random);
    void pull_bodies();
    void start_motions();
    void limit_motions();
    void move_bodies();
    void store();
    void wake_and_rest();
    void join_islands();

    // pile_contacts.cpp
    void find_contacts();
    void fill_grid();
    void find_candidates(std::uint32_t body);
    void match(std::uint32_t body);
    void touch(std::uint32_t a, std::uint32_t b);
    void add_point(std::uint32_t a,
                   std::uint32_t b,
                   const pile_detail::Manifold& manifold,
                   const pile_detail::Touch& touch);
    void keep_sleeping(std::uint32_t a, std::uint32_t below);

    std::int32_t room_ = 0; ///< Follows from the set-up.

    PileBodies bodies_;
    PileContacts contacts_;
    PilePlayer player_;

    // Working memory of a step: filled before it is read in every step, so it is not state.
    std::vector<pile_detail::Motion> motions_;
    std::vector<pile_detail::Joint> joints_;
    PileContacts old_contacts_;
    std::size_t old_next_ = 0; ///< First old contact point that is not matched yet.
    std::vector<GridEntry> grid_;
    std::vector<std::uint32_t> cell_starts_;
    std::vector<std::uint32_t> candidates_;
    std::vector<std::uint32_t> islands_; ///< A body of the same island; the root names itself.
    std::vector<std::uint8_t> island_rest_;
};

} // namespace twinstep::games
