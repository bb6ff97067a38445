// SPDX-License-Identifier: MIT
// The archives of every reference game: its inputs and its states.
#include "fuzz_targets.hpp"
#include "marine/marine.hpp"
#include "pile/pile.hpp"
#include "swarm/swarm.hpp"

#include "twinstep/sim.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

using namespace twinstep;
using namespace twinstep::games;

namespace {

/// A session a few ticks old: what other snapshots are loaded into, and are damaged ones of.
template <class Game>
struct FuzzedGame {
    GameSimulation<Game> simulation;
    Bytes snapshot;
    Hash128 state;
    TickFrame frame;
    Bytes input;

    FuzzedGame(const Setup& setup, std::uint64_t ticks) {
        require(simulation.reset(setup).has_value(), "the game cannot be set up");
        for (std::uint64_t i = 0; i < ticks; ++i) {
            step();
        }
        simulation.save(snapshot);
        state = simulation.hash().state;
    }

    void step() {
        const std::uint16_t slots = simulation.setup().slots;
        frame.reset(simulation.tick(), slots);
        for (std::uint16_t slot = 0; slot < slots; ++slot) {
            Random random(simulation.setup().seed, simulation.tick(), 1000U + slot);
            input.clear();
            encode_input(Game::bot(random, simulation.tick(), Slot{slot}), input);
            frame.set_input(Slot{slot}, input);
        }
        require(simulation.prepare(frame).has_value(), "a bot's input is refused");
        simulation.step();
    }
};

/// The snapshot with changes: u16 or, above 64 KiB, u32 offset, u8 count, bytes; what the changes
/// do not use up is not there. So a few bytes damage a large state anywhere.
Bytes changed(ByteView snapshot, ByteView changes) {
    Bytes bytes(snapshot.begin(), snapshot.end());
    ByteReader reader(changes);
    while (reader.ok() && reader.remaining() > 0) {
        const std::uint64_t at = bytes.size() > UINT16_MAX ? reader.u32("at") : reader.u16("at");
        const unsigned count = reader.u8("count");
        if (!reader.ok()) {
            break;
        }
        if (count == 0) {
            // Cut, or longer by zeros.
            bytes.resize(static_cast<std::size_t>(at % (2 * snapshot.size())));
        }
        for (unsigned i = 0; i < count && reader.remaining() > 0; ++i) {
            const std::uint8_t value = reader.u8("value");
            if (at + i < bytes.size()) {
                bytes[static_cast<std::size_t>(at + i)] = static_cast<std::byte>(value);
            }
        }
    }
    return bytes;
}

/// A byte: 0 for a snapshot, else changes of one.
template <class Game>
void load_state(FuzzedGame<Game>& game, ByteView bytes) {
    if (bytes.empty()) {
        return;
    }
    const bool whole = bytes.front() == std::byte{0};
    bytes = bytes.subspan(1);
    const Bytes given = whole ? Bytes(bytes.begin(), bytes.end()) : changed(game.snapshot, bytes);
    GameSimulation<Game>& simulation = game.simulation;
    if (!simulation.load(given)) {
        require(simulation.hash().state == game.state, "a refused snapshot changed the state");
        return;
    }
    Bytes again;
    simulation.save(again);
    require(again == given, "a state with two encodings");
    const auto hashes = hash_snapshot(given);
    require(hashes && hashes->state == simulation.hash().state, "a snapshot's hash is another one");
    if (simulation.tick().value < tick_max - 2) {
        game.step();
        game.step();
        static_cast<void>(simulation.hash());
    }
    require(simulation.load(game.snapshot).has_value(), "the first state cannot be loaded again");
    require(simulation.hash().state == game.state, "the first state is another one");
}

template <class Game>
std::vector<Bytes> state_seeds(const FuzzedGame<Game>& game, bool with_snapshot) {
    std::vector<Bytes> seeds;
    Bytes& one = seeds.emplace_back();
    ByteWriter writer(one);
    writer.u8(1);
    const auto change = [&](std::size_t at, std::uint8_t value) {
        if (game.snapshot.size() > UINT16_MAX) {
            writer.u32(static_cast<std::uint32_t>(at));
        } else {
            writer.u16(static_cast<std::uint16_t>(at));
        }
        writer.u8(1);
        writer.u8(value);
    };
    change(game.snapshot.size() / 2, 1);
    change(game.snapshot.size() - 3, 0);
    if (with_snapshot) {
        Bytes& whole = seeds.emplace_back(1);
        whole.insert(whole.end(), game.snapshot.begin(), game.snapshot.end());
    }
    return seeds;
}

FuzzedGame<Marine>& fuzzed_marine() {
    static FuzzedGame<Marine> game({7, 2, {}}, 60);
    return game;
}

FuzzedGame<Swarm>& fuzzed_swarm() {
    static FuzzedGame<Swarm> game({7, 2, {{"units", "100"}}}, 60);
    return game;
}

FuzzedGame<Pile>& fuzzed_pile() {
    static FuzzedGame<Pile> game({7, 1, {{"bodies", "10"}}}, 60);
    return game;
}

template <class Input>
void read_input(ByteView bytes) {
    Input input;
    if (decode_input(bytes, input)) {
        Bytes again;
        encode_input(input, again);
        require(std::ranges::equal(again, bytes), "an input with two encodings");
    }
}

/// Any bytes as everybody's inputs: refused, or played and then gone back from.
template <class Game>
void play_input(FuzzedGame<Game>& game, ByteView bytes) {
    read_input<typename Game::Input>(bytes);
    const std::uint16_t slots = game.simulation.setup().slots;
    game.frame.reset(game.simulation.tick(), slots);
    for (std::uint16_t slot = 0; slot < slots; ++slot) {
        game.frame.set_input(Slot{slot}, bytes, slot % 2 == 1);
    }
    if (!game.simulation.prepare(game.frame)) {
        require(game.simulation.hash().state == game.state, "a refused input changed the state");
        return;
    }
    game.simulation.step();
    require(game.simulation.load(game.snapshot).has_value(), "the first state is refused");
}

} // namespace

void fuzz_marine_state(ByteView bytes) {
    load_state(fuzzed_marine(), bytes);
}

void fuzz_swarm_state(ByteView bytes) {
    load_state(fuzzed_swarm(), bytes);
}

void fuzz_pile_state(ByteView bytes) {
    load_state(fuzzed_pile(), bytes);
}

std::vector<Bytes> marine_state_seeds() {
    return state_seeds(fuzzed_marine(), true);
}

std::vector<Bytes> swarm_state_seeds() {
    return state_seeds(fuzzed_swarm(), false);
}

std::vector<Bytes> pile_state_seeds() {
    return state_seeds(fuzzed_pile(), true);
}

/// Which game, then the bytes of an input.
void fuzz_game_input(ByteView bytes) {
    if (bytes.empty()) {
        return;
    }
    const unsigned game = std::to_integer<unsigned>(bytes.front()) % 3;
    bytes = bytes.subspan(1, std::min(bytes.size() - 1, input_bytes_max));
    switch (game) {
    case 0:
        play_input(fuzzed_marine(), bytes);
        break;
    case 1:
        play_input(fuzzed_swarm(), bytes);
        break;
    default:
        play_input(fuzzed_pile(), bytes);
    }
}

std::vector<Bytes> game_input_seeds() {
    std::vector<Bytes> seeds(3);
    for (std::size_t game = 0; game < seeds.size(); ++game) {
        seeds[game].push_back(static_cast<std::byte>(game));
    }
    encode_input(Marine::Input{50, -24, 1024, 3}, seeds[0]);
    encode_input(SwarmInput{SwarmOrder::attack_move, 3, 100, 60000, 7}, seeds[1]);
    encode_input(PileInput{100, -100, PileInput::button_throw}, seeds[2]);
    return seeds;
}
