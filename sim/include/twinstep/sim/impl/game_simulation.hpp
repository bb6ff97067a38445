// SPDX-License-Identifier: MIT
// GameSimulation's member functions.
#pragma once

#include "twinstep/sim/game.hpp"

#include <exception>
#include <utility>

namespace twinstep {

namespace detail {

template <class G>
constexpr std::uint32_t game_version() {
    if constexpr (requires { G::version; }) {
        return G::version;
    } else {
        return 1;
    }
}

template <class G>
constexpr std::uint16_t game_slots_min() {
    if constexpr (requires { G::slots_min; }) {
        return G::slots_min;
    } else {
        return 1;
    }
}

template <class G>
constexpr std::uint16_t game_slots_max() {
    if constexpr (requires { G::slots_max; }) {
        return G::slots_max;
    } else {
        return game_slots_min<G>();
    }
}

template <class G>
std::string_view game_source_digest() {
    if constexpr (requires { G::source_digest; }) {
        return G::source_digest;
    } else {
        return "unknown";
    }
}

/// What every game's set-up must satisfy. Errors: wrong_slots, bad_setup.
Result<void> check_setup(const SimulationInfo& info, const Setup& setup);
/// The frame is for this tick and these slots. Errors: wrong_tick, wrong_slots.
Result<void> check_frame(const TickFrame& frame, Tick tick, std::uint16_t slots);
/// Names the slot whose input could not be decoded.
Error input_error(Error error, std::size_t slot);
/// The error for an exception that a user's `serialize` threw on bad bytes.
Error load_exception(const std::exception& exception);

} // namespace detail

template <class Input>
Result<void> decode_input(ByteView bytes, Input& input) {
    InArchive archive(bytes);
    // Cereal's containers may throw on bytes that mean nothing; nothing escapes from here.
    try {
        archive(input);
    } catch (const std::exception& exception) {
        return fail(detail::load_exception(exception));
    }
    return archive.finish();
}

template <Game G>
GameSimulation<G>::GameSimulation()
    : game_(std::make_unique<G>()) {
    info_.id = G::id;
    info_.version = detail::game_version<G>();
    info_.source_digest = detail::game_source_digest<G>();
    info_.tick_rate = TickRate(G::tick_rate);
    info_.slots_min = detail::game_slots_min<G>();
    info_.slots_max = detail::game_slots_max<G>();
    info_.input_schema = schema_of(Input{});
    SchemaArchive schema;
    walk(schema, draws_, *game_);
    info_.state_schema = schema.text();
}

template <Game G>
template <class Archive>
void GameSimulation<G>::walk(Archive& archive, const Draws& draws, const G& game) {
    // One serialize serves saving and loading, so it cannot be const; output archives do not write.
    auto& mutable_draws = const_cast<Draws&>(draws);
    auto& mutable_game = const_cast<G&>(game);
    archive(section("random", cereal::make_nvp("draws", mutable_draws)));
    cereal::access::member_serialize(archive, mutable_game);
}

template <Game G>
Result<void> GameSimulation<G>::reset(const Setup& setup) {
    if (auto checked = detail::check_setup(info_, setup); !checked) {
        return checked;
    }
    if constexpr (requires { G::check(setup); }) {
        if (Result<void> checked = G::check(setup); !checked) {
            return checked;
        }
    }
    setup_ = setup;
    tick_ = Tick{0};
    draws_ = Draws{setup.seed, 0};
    game_ = std::make_unique<G>();
    game_->reset(setup_);
    players_.assign(setup_.slots, {});
    prepared_ = false;
    hashed_ = false;
    return {};
}

template <Game G>
Result<void> GameSimulation<G>::prepare(const TickFrame& frame) {
    prepared_ = false;
    if (auto checked = detail::check_frame(frame, tick_, setup_.slots); !checked) {
        return checked;
    }
    for (std::uint16_t slot = 0; slot < setup_.slots; ++slot) {
        PlayerInput<Input>& player = players_[slot];
        const SlotInput& given = frame.at(Slot{slot});
        player.present = given.present;
        player.substituted = given.substituted;
        player.input = Input{};
        if (given.present) {
            input_archive_.reset(frame.input(Slot{slot}));
            try {
                input_archive_(player.input);
            } catch (const std::exception& exception) {
                return fail(detail::input_error(detail::load_exception(exception), slot));
            }
            if (Result<void> finished = input_archive_.finish(); !finished) {
                return fail(detail::input_error(std::move(finished.error()), slot));
            }
        }
    }
    events_.clear();
    for (const Event& event : frame.events()) {
        events_.push_back({event.kind, event.has_slot, event.slot, frame.payload(event)});
    }
    prepared_ = true;
    return {};
}

template <Game G>
void GameSimulation<G>::step() {
    TWINSTEP_ASSERT(prepared_);
    Random random(draws_.seed, tick_);
    const Step<Input> view{tick_, players_, events_, random};
    game_->step(view);
    draws_.count += random.draws();
    tick_ = tick_ + 1;
    prepared_ = false;
    hashed_ = false;
}

template <Game G>
const StateHashes& GameSimulation<G>::hash() {
    if (!hashed_) {
        hash_sink_.begin(tick_, hashes_);
        walk(hash_archive_, draws_, *game_);
        hash_sink_.finish();
        hashed_ = true;
    }
    return hashes_;
}

template <Game G>
void GameSimulation<G>::save(Bytes& target) {
    target.clear();
    write_snapshot_head(target, tick_);
    BufferSink sink(target);
    OutArchive archive(sink);
    walk(archive, draws_, *game_);
    sink.finish();
}

template <Game G>
Result<void> GameSimulation<G>::load(ByteView snapshot) {
    InArchive archive(snapshot);
    const Result<Tick> tick = read_snapshot_head(archive.reader());
    if (!tick) {
        return fail(tick.error());
    }
    auto game = std::make_unique<G>();
    game->reset(setup_);
    Draws draws;
    try {
        walk(archive, draws, *game);
    } catch (const std::exception& exception) {
        return fail(detail::load_exception(exception));
    }
    if (Result<void> finished = archive.finish(); !finished) {
        return finished;
    }
    game_ = std::move(game);
    draws_ = draws;
    tick_ = *tick;
    prepared_ = false;
    hashed_ = false;
    return {};
}

template <Game G>
void GameSimulation<G>::visit(FieldVisitor& visitor) const {
    VisitArchive archive(visitor);
    walk(archive, draws_, *game_);
}

template <Game G>
Result<void> GameSimulation<G>::visit_input(ByteView input, FieldVisitor& visitor) const {
    Input value{};
    if (Result<void> decoded = decode_input(input, value); !decoded) {
        return decoded;
    }
    VisitArchive archive(visitor);
    archive(cereal::make_nvp("input", value));
    return {};
}

} // namespace twinstep
