// SPDX-License-Identifier: MIT
// The reference game `swarm`: real-time strategy with thousands of units, integers only.
#pragma once

#include "swarm/swarm_near.hpp"

#include "twinstep/sim.hpp"

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace twinstep::games {

/// What a squad is told to do. A number beyond `muster` is no order.
enum class SwarmOrder : std::uint8_t {
    none = 0,    ///< No order. As a squad's state: stand, and chase what comes into sight.
    move,        ///< Go to the place, shooting on the way but never stopping for it.
    attack_move, ///< Go to the place, and chase every enemy in sight.
    hold,        ///< Stand and shoot.
    spread,      ///< Stand, shoot, and keep `radius` apart where there is room.
    muster,      ///< The player's units within `radius` of the place join the squad.
};

/// One order a tick. Places and lengths are fractions of the map's side (65536 is the whole side),
/// so an input means the same on every map and each of its values is valid.
struct SwarmInput {
    SwarmOrder kind = SwarmOrder::none;
    std::uint8_t squad = 0; ///< Which of the player's 16 squads, modulo 16.
    std::uint16_t x = 0;
    std::uint16_t y = 0;
    std::uint16_t radius = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(
            CEREAL_NVP(kind), CEREAL_NVP(squad), CEREAL_NVP(x), CEREAL_NVP(y), CEREAL_NVP(radius));
    }
};

/// One unit, alive or waiting to come back. Lengths are in 1/1024 of a cell.
struct SwarmUnit {
    std::int32_t x = 0;
    std::int32_t y = 0;
    std::int16_t vx = 0; ///< Per tick.
    std::int16_t vy = 0;
    std::int16_t health = 0;    ///< 0: dead, waits for a wave.
    std::uint16_t cooldown = 0; ///< Ticks until the next shot.
    std::uint32_t target = 0;   ///< Index of the enemy aimed at, or Swarm::nobody.
    std::uint8_t owner = 0;
    std::uint8_t squad = 0;
    std::uint8_t kind = 0;    ///< Index of the unit type; README.md has the table.
    std::uint8_t reached = 0; ///< 1: stands where its squad was sent.
    std::uint16_t lives = 0;  ///< How often it came in, modulo 65536.
    std::uint16_t kills = 0;  ///< Modulo 65536.
    std::uint32_t damage = 0; ///< Dealt in all lives, modulo 2^32.

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(x),
                CEREAL_NVP(y),
                CEREAL_NVP(vx),
                CEREAL_NVP(vy),
                CEREAL_NVP(health),
                CEREAL_NVP(cooldown),
                CEREAL_NVP(target),
                CEREAL_NVP(owner),
                CEREAL_NVP(squad),
                CEREAL_NVP(kind),
                CEREAL_NVP(reached),
                CEREAL_NVP(lives),
                CEREAL_NVP(kills),
                CEREAL_NVP(damage));
    }
};

/// How far a squad's flow field is.
enum class SwarmField : std::uint8_t {
    absent,   ///< Never needed.
    waiting,  ///< Ordered; its turn has not come. Units walk straight at the goal.
    building, ///< Grows from the goal outwards, a number of cells a tick.
    ready,
};

/// One squad of a player.
struct SwarmSquad {
    SwarmOrder order = SwarmOrder::none;
    SwarmField field = SwarmField::absent;
    std::uint16_t radius = 0;  ///< Of the order, in 1/1024 of a cell, at most 65535.
    std::uint32_t goal = 0;    ///< Cell.
    std::uint32_t members = 0; ///< Alive.
    std::uint32_t reached = 0; ///< Alive and where they were sent.

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(order),
                CEREAL_NVP(field),
                CEREAL_NVP(radius),
                CEREAL_NVP(goal),
                CEREAL_NVP(members),
                CEREAL_NVP(reached));
    }
};

/// One player's base and score; every count is modulo 2^32.
struct SwarmPlayer {
    std::uint32_t base = 0; ///< Cell.
    std::uint32_t alive = 0;
    std::uint32_t kills = 0;
    std::uint32_t losses = 0;
    std::uint32_t shots = 0;
    std::uint32_t orders = 0;
    std::uint32_t reinforced = 0; ///< Units that waves brought.
    std::uint32_t wave_ticks = 0; ///< Until the next wave.

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(base),
                CEREAL_NVP(alive),
                CEREAL_NVP(kills),
                CEREAL_NVP(losses),
                CEREAL_NVP(shots),
                CEREAL_NVP(orders),
                CEREAL_NVP(reinforced),
                CEREAL_NVP(wave_ticks));
    }
};

/// The field that is being built, and whose turn is next.
struct SwarmPlanner {
    std::uint32_t job = 0;      ///< Squad whose field is being built, or Swarm::nobody.
    std::uint32_t cursor = 0;   ///< Squad to look at first for the next job.
    std::uint32_t distance = 0; ///< Cells nearer to the goal than this are final.
    /// Cells to visit, by distance modulo 8: one step costs at most 6.
    std::array<std::vector<std::uint32_t>, 8> frontier;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(job), CEREAL_NVP(cursor), CEREAL_NVP(distance), CEREAL_NVP(frontier));
    }
};

} // namespace twinstep::games

template <>
inline constexpr bool twinstep::contiguous<twinstep::games::SwarmUnit> = true;
template <>
inline constexpr bool twinstep::contiguous<twinstep::games::SwarmSquad> = true;
template <>
inline constexpr bool twinstep::contiguous<twinstep::games::SwarmPlayer> = true;

namespace twinstep::games {

/// The game. Config: `units`, how many there are in all (100 to 200000, usually 10000).
/// Determinism: integers only; the order of every loop and every draw follows from the state.
class Swarm {
public:
    using Input = SwarmInput;
    static constexpr std::string_view id = "swarm";
    static constexpr TickRate tick_rate{20};
    static constexpr std::uint32_t version = 1;
    static constexpr std::uint16_t slots_min = 2;
    static constexpr std::uint16_t slots_max = 8;
    /// Digest of the sources this build was made from.
    static const std::string_view source_digest;

    static constexpr std::uint32_t squads_per_player = 16;
    static constexpr std::uint32_t squads_max = slots_max * squads_per_player;
    static constexpr std::uint32_t nobody = 0xFFFFFFFF;
    static constexpr std::int32_t cell_size = 1024; ///< Length units across one cell.

    /// What a cell is made of.
    enum Ground : std::uint8_t {
        open,
        rough, ///< Half speed.
        rock,  ///< Nobody gets in.
    };

    /// Errors: bad_setup, naming the key.
    static Result<void> check(const Setup& setup);

    /// Requires a set-up that `check` accepts.
    void reset(const Setup& setup);
    void step(const Step<Input>& step);

    /// A player who gives a sensible order every few ticks and none in between.
    /// Determinism: depends on nothing but the arguments.
    static Input bot(Random& random, Tick tick, Slot slot);

    /// Cells along one side of the square map.
    std::uint32_t side() const { return side_; }

    std::span<const std::uint8_t> terrain() const { return terrain_; }

    std::span<const SwarmUnit> units() const { return units_; }

    std::span<const SwarmSquad> squads() const { return squads_; }

    std::span<const SwarmPlayer> players() const { return players_; }

    /// Costs from each cell to a squad's goal; a step straight ahead on open ground costs 2.
    std::span<const std::uint16_t> field(std::size_t squad) const {
        return std::span(fields_).subspan(squad * cell_count(), cell_count());
    }

    /// Loading refuses a state that no session with this set-up could be in, so that a step never
    /// meets an index outside its table.
    template <class Archive>
    void serialize(Archive& archive) {
        if constexpr (std::same_as<Archive, InArchive>) {
            const std::vector<std::uint8_t> map = terrain_;
            const Sizes sizes = sizes_of_tables();
            walk(archive);
            const char* wrong = archive.ok() ? first_wrong(map, sizes) : nullptr;
            if (wrong != nullptr) {
                archive.reader().fail(SimErrc::malformed, wrong);
            }
            reserve_frontier();
        } else {
            walk(archive);
        }
    }

private:
    /// Around the map of enemies, so that nobody looks beyond it.
    static constexpr std::uint32_t margin_cells = 6;
    /// Of the map of enemies; a window lies in two bands at most.
    static constexpr std::uint32_t rows_per_band = 16;

    struct Point {
        std::int32_t x = 0;
        std::int32_t y = 0;
    };

    /// What the spatial hash holds of a living unit: all that it chooses by.
    struct Body {
        std::int32_t x = 0;
        std::int32_t y = 0;
        std::uint32_t index = 0;
        std::uint32_t target = nobody;
        std::int16_t vx = 0;
        std::int16_t vy = 0;
        std::uint8_t owner = 0;
        std::uint8_t kind = 0;
        std::uint8_t squad = 0; ///< Of all squads.
        std::uint8_t reached = 0;
    };

    /// What a unit is to do and be in this tick.
    struct Choice {
        std::int32_t x = 0;
        std::int32_t y = 0;
        std::uint32_t target = nobody;
        std::int16_t vx = 0;
        std::int16_t vy = 0;
        std::uint8_t reached = 0;
    };

    /// The cells in sight of one in their middle.
    struct Window {
        std::uint32_t cell = nobody;
        std::uint32_t owner = nobody;
        std::uint32_t rings = 0;    ///< Bit r: enemies are in the square ring r.
        std::uint32_t occupied = 0; ///< Bit y: enemies are in row y.
        std::array<std::uint32_t, 2 * margin_cells + 1>
            rows{}; ///< Bit x of row y: enemies are there.
    };

    /// Those around the units of a cell, in bodies_: three cells of each of three rows.
    struct Crowd {
        std::uint32_t cell = nobody;
        std::array<swarm_near::Range, 3> rows{};
    };

    /// Where a squad's field leads from a cell.
    struct Way {
        std::uint32_t squad = nobody;
        std::uint32_t cell = nobody;
        std::uint32_t direction = nobody;
    };

    template <class Archive>
    void walk(Archive& archive) {
        archive(section("terrain", cereal::make_nvp("ground", terrain_)),
                section("units", cereal::make_nvp("units", units_)),
                section("squads", cereal::make_nvp("squads", squads_)),
                section("fields", cereal::make_nvp("costs", fields_)),
                section("planner", cereal::make_nvp("planner", planner_)),
                section("players", cereal::make_nvp("players", players_)));
    }

    void reserve_frontier();
    using Sizes = std::array<std::size_t, 4>;

    Sizes sizes_of_tables() const {
        return {units_.size(), squads_.size(), fields_.size(), players_.size()};
    }

    const char* first_wrong(const std::vector<std::uint8_t>& map, const Sizes& sizes) const;
    const char* first_wrong_unit() const;

    std::size_t cell_count() const { return terrain_.size(); }

    /// The first unit of a slot; of the slot behind the last, the number of units.
    std::size_t army_begin(std::size_t slot) const {
        return units_.size() * slot / players_.size();
    }

    /// What the living look like to those around them; see sort_into_cells.
    swarm_near::Spots spots() const {
        return {near_x_.data(), near_y_.data(), near_owners_.data(), near_indices_.data()};
    }

    /// Requires a length on the map: it is not negative.
    static std::uint32_t cell_of(std::int32_t length) {
        return static_cast<std::uint32_t>(length) / cell_size;
    }

    std::uint32_t cell_at(std::int32_t x, std::int32_t y) const {
        return cell_of(y) * side_ + cell_of(x);
    }

    /// Words of one player's map in presence_.
    std::size_t presence_words() const {
        return std::size_t{presence_stride_} * (side_ + std::size_t{2} * margin_cells);
    }

    /// Words of one player's bands.
    std::size_t band_words() const {
        const std::size_t rows = side_ + std::size_t{2} * margin_cells;
        return presence_stride_ * ((rows + rows_per_band - 1) / rows_per_band);
    }

    Point centre_of(std::uint32_t cell) const;

    static std::uint32_t squad_of(const SwarmUnit& unit) {
        return unit.owner * squads_per_player + unit.squad;
    }

    bool has_exit(std::uint32_t cell, std::uint32_t direction) const {
        return (std::uint32_t{exits_[cell]} >> direction & 1U) != 0;
    }

    /// Requires an exit in that direction, so that the cell is on the map.
    std::uint32_t neighbour(std::uint32_t cell, std::uint32_t direction) const {
        return cell + offsets_[direction];
    }

    // Terrain.
    void make_terrain(std::uint64_t seed, std::uint16_t slots);
    void scatter(std::uint64_t seed);
    void clear_disc(Point centre, std::int32_t radius, Ground ground);
    void clear_road(Point from, Point to);
    void find_exits();
    std::uint8_t exits_of(std::uint32_t cell) const;
    std::vector<std::uint32_t> flood(std::uint32_t start, std::size_t wanted) const;
    void close_pockets();
    void find_nearest_open();
    void find_spawn_cells(std::uint16_t slots, std::size_t units_per_player);

    // Units.
    void enlist(std::size_t units, std::uint16_t slots);
    void come_in(SwarmUnit& unit, std::uint32_t place, std::uint8_t kind);

    // Orders and flow fields.
    void obey(std::uint16_t slot, const Input& input);
    void send(std::uint32_t squad, std::uint32_t goal);
    void muster(std::uint16_t slot, std::uint8_t squad, Point centre, std::int32_t radius);
    void plan();
    bool begin_job();
    std::uint32_t grow_field(std::uint32_t budget);

    // Battle.
    void sort_into_cells();
    void count_heads();
    void describe_bodies();
    void map_enemies();
    void move_units();
    bool in_reach(const SwarmUnit& unit, std::int64_t reach) const;
    void shoot(Random& random);
    void bury();
    void reinforce(Random& random);

    // What a unit chooses, which changes nothing but choices_.
    static Point way_to(const Body& one, const SwarmUnit& other);
    static bool within(Point way, std::int64_t reach);
    void measure_crowds();
    void decide(std::uint32_t begin, std::uint32_t end, Tick tick);
    bool lost(const Body& one) const;
    void look_around(std::uint32_t begin, std::uint32_t end, Tick tick);
    static std::uint32_t columns_of(const std::uint64_t* row, std::uint32_t x);
    bool enemies_about(const Body& one) const;
    void look_from(const Body& one, Window& window) const;
    std::uint32_t find_target(std::uint32_t body, const Window& window) const;
    template <class Hunt>
    std::uint32_t search(const Window& window, Hunt& hunt) const;
    Point wish(const Body& one, Choice& choice, Way& way) const;
    Point follow(const Body& one, Choice& choice, Way& way) const;
    void find_way(Way& way, const std::uint16_t* costs) const;
    void gather(std::uint32_t cell, Crowd& crowd) const;
    void ask(std::uint32_t body, const Crowd& crowd, swarm_near::Ask& ask) const;
    static Point share_of(const swarm_near::Push& push, std::int32_t reach);
    void part(std::uint32_t body, std::int32_t reach, swarm_near::Push& push) const;
    void keep_apart(std::uint32_t begin, std::uint32_t end);
    void walk(std::uint32_t cell, Choice& choice) const;

    // The state.
    std::vector<std::uint8_t> terrain_;
    std::vector<SwarmUnit> units_;
    std::vector<SwarmSquad> squads_;
    std::vector<std::uint16_t> fields_; ///< One map of costs a squad.
    SwarmPlanner planner_;
    std::vector<SwarmPlayer> players_;

    // Follows from the set-up.
    std::uint32_t side_ = 0;
    std::array<std::uint32_t, 8> offsets_{}; ///< From a cell to its neighbours, modulo 2^32.
    std::vector<std::uint8_t> exits_; ///< Bit d: the neighbour in direction d can be entered.
    std::vector<std::uint32_t> nearest_open_;
    std::vector<std::vector<std::uint32_t>> spawn_cells_;

    // Built anew in every step; here to keep the memory.
    std::vector<std::uint32_t> cell_begin_; ///< Of each cell in bodies_, and the end.
    std::vector<Body> bodies_;              ///< The living by cell, then by index.
    std::vector<Choice> choices_;           ///< Theirs, at the same places.
    std::vector<std::int16_t> near_x_;      ///< Where they are, and some behind the last.
    std::vector<std::int16_t> near_y_;
    std::vector<std::int16_t> near_owners_;
    std::vector<std::uint32_t> near_indices_;
    std::vector<std::uint32_t> cells_;        ///< Of each unit.
    std::vector<std::int32_t> arrival_cells_; ///< How near a squad must come.
    std::vector<std::int32_t> apart_;         ///< How far a squad's units keep away from others.
    /// For each player a map of the cells with its units, then of those with its enemies: a bit a
    /// cell, with a margin all around.
    std::vector<std::uint64_t> presence_;
    std::uint32_t presence_stride_ = 0; ///< Words of a row.
    std::vector<std::uint64_t> bands_;  ///< The rows with enemies, many in one.
    std::vector<std::uint64_t> ready_;  ///< Bit i: unit i has somebody to shoot at and may.
    std::vector<std::int32_t> wounds_;
    std::vector<std::uint32_t> slayers_;
};

} // namespace twinstep::games
