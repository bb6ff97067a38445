// SPDX-License-Identifier: MIT
// The reference game `marine`: Doom's movement rules in an arena with doors and monsters.
#pragma once

#include "marine/arena.hpp"
#include "marine/fixed.hpp"
#include "marine/state.hpp"

#include "twinstep/sim.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace twinstep::games {

/// Up to four players, 35 Hz, integers and 16.16 fixed point. The rules are on the page README.md
/// beside this file.
class Marine {
public:
    /// Doom's ticcmd.
    struct Input {
        std::int8_t forward = 0;  ///< Thrust ahead, 1/32 unit a tic per tic.
        std::int8_t side = 0;     ///< Thrust to the right, likewise.
        std::int16_t turn = 0;    ///< Added to the upper half of the angle: 2^16 is a full turn.
        std::uint8_t buttons = 0; ///< marine::Button.

        template <class Archive>
        void serialize(Archive& archive) {
            archive(CEREAL_NVP(forward), CEREAL_NVP(side), CEREAL_NVP(turn), CEREAL_NVP(buttons));
        }
    };

    static constexpr std::string_view id = "marine";
    static constexpr TickRate tick_rate{35};
    static constexpr std::uint32_t version = 1;
    static constexpr std::uint16_t slots_min = 1;
    static constexpr std::uint16_t slots_max = 4;
    /// Digest of the sources this build was made from.
    static const std::string_view source_digest;

    /// Checks the config: whole numbers `skill` 0..4, `episode` 1..9, `map` 1..99, `deathmatch`
    /// 0..2, `console_player` 0..3 and below the slots, and 0 or 1 for `respawn`, `fast` and
    /// `monsters`. Errors: bad_setup, with the key.
    static Result<void> check(const Setup& setup);

    /// Goes to the first state. Requires a set-up that check accepts.
    void reset(const Setup& setup);

    /// One tic.
    void step(const Step<Input>& step);

    /// An input to play with when nobody does: a function of the arguments only. `random` should be
    /// keyed by bot seed, tick and slot.
    static Input bot(Random& random, Tick tick, Slot slot);

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("world", CEREAL_NVP(doors_), CEREAL_NVP(pickups_)),
                section("players", CEREAL_NVP(players_)),
                section("monsters", CEREAL_NVP(monsters_)),
                section("projectiles", CEREAL_NVP(projectiles_)));
        if constexpr (Archive::is_loading::value) {
            require_valid();
        }
    }

    /// Views for tests, tools and pictures.
    const marine::Arena& arena() const { return arena_; }

    std::span<const marine::Player> players() const { return players_; }

    std::span<const marine::Monster> monsters() const { return monsters_; }

    std::span<const marine::Projectile> projectiles() const { return projectiles_; }

    std::span<const marine::Door> doors() const { return doors_; }

    std::span<const marine::Pickup> pickups() const { return pickups_; }

private:
    /// What Setup.config says, in numbers.
    struct Rules {
        std::uint32_t skill = 2;
        std::uint32_t episode = 1;
        std::uint32_t map = 1;
        std::uint32_t deathmatch = 0;
        std::uint32_t console_player = 0;
        std::uint32_t respawn = 0;
        std::uint32_t fast = 0;
        std::uint32_t monsters = 1;
    };

    /// What a shot meets: a player, a monster, or neither.
    struct Target {
        enum class Kind : std::uint8_t { none, player, monster };
        Kind kind = Kind::none;
        std::size_t index = 0;
    };

    /// A body while it moves.
    struct Body {
        marine::Vector place;
        marine::Fixed radius = 0;
        Target self;
    };

    static Result<Rules> read_rules(const Setup& setup);
    /// Throws cereal::Exception, which the loader turns into an error.
    void require_valid() const;

    void place_monsters();
    void place_pickups();
    void handle(const StepEvent& event, Random& random);

    // Moving; marine.cpp.
    bool cell_blocks(marine::Cell cell) const;
    bool place_is_free(marine::Vector place, marine::Fixed radius) const;
    bool body_in_the_way(const Body& body, marine::Vector to) const;
    bool can_move(const Body& body, marine::Vector to) const;
    /// Moves in pieces and slides along what is in the way; a momentum that met it becomes zero.
    void slide(Body& body, marine::Fixed& mom_x, marine::Fixed& mom_y) const;
    /// Length of the free line from `from`, at most `range`, in steps of eight units.
    marine::Fixed
    free_length(marine::Vector from, marine::Vector direction, marine::Fixed range) const;
    bool sees(marine::Vector from, marine::Vector to) const;
    void step_doors();
    void open_door(std::size_t door, std::uint8_t opener);
    bool door_is_blocked(std::size_t door) const;

    // Players; players.cpp.
    void spawn(std::size_t slot, Random& random);
    void step_player(std::size_t slot, const Input& input, Random& random);
    void use(std::size_t slot);
    bool use_towards(std::size_t slot, marine::Angle angle);
    void change_weapon(marine::Player& player, std::uint8_t buttons);
    void attack(std::size_t slot, Random& random);
    void step_pickups();
    bool take(marine::Player& player, marine::PickupKind kind);

    // Shots; shots.cpp.
    Target
    trace(marine::Vector from, marine::Vector direction, marine::Fixed range, Target shooter) const;
    marine::Vector aimed(marine::Vector from, marine::Angle angle) const;
    void launch(marine::ProjectileKind kind,
                marine::Vector from,
                marine::Vector direction,
                std::uint8_t owner);
    void hurt(Target target, std::int32_t amount, marine::Vector along, std::uint8_t attacker);
    void
    hurt_player(std::size_t slot, std::int32_t amount, marine::Vector push, std::uint8_t attacker);
    void hurt_monster(std::size_t index,
                      std::int32_t amount,
                      marine::Vector push,
                      std::uint8_t attacker);
    void step_projectiles(Random& random);
    bool fly(marine::Projectile& projectile, Random& random);
    Target touched(const marine::Projectile& projectile) const;
    void explode(const marine::Projectile& rocket);

    // Monsters; monsters.cpp.
    void step_monsters(Tick tick, Random& random);
    void find_flow();
    std::uint16_t flow_at(marine::Cell cell) const;
    void wake_near(marine::Vector place);
    void think(std::size_t index, Random& random);
    marine::Vector next_place(const marine::Monster& monster) const;
    void walk(std::size_t index);
    bool
    monster_attack(std::size_t index, marine::Vector prey, std::uint32_t apart, Random& random);
    void return_from_death(std::size_t index, Tick tick, Random& random);

    // Decided by reset alone.
    Rules rules_;
    marine::Arena arena_;
    std::size_t slots_ = 0;
    std::size_t monster_count_ = 0;

    // The state.
    std::vector<marine::Door> doors_;
    std::vector<marine::Pickup> pickups_;
    std::vector<marine::Player> players_;
    std::vector<marine::Monster> monsters_;
    std::vector<marine::Projectile> projectiles_;

    // Scratch, written anew before every use: cells to the nearest living player.
    std::vector<std::uint16_t> flow_;
    std::vector<std::uint16_t> queue_;
};

} // namespace twinstep::games
