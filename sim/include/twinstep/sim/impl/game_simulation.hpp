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
/// The frame is for this tick and these slots, and is not the last there is. Errors: wrong_tick,
/// wrong_slots, limit_exceeded.
Result<void> check_frame(const TickFrame& frame, Tick tick, std::uint16_t slots);
/// Names the slot whose input could not be decoded.
Error input_error(Error error, std::size_t slot);
/// A snapshot belongs to the session whose seed it holds. Errors: bad_setup.
Result<void> check_snapshot_seed(std::uint64_t found, std::uint64_t seed);

/// The error for an exception that a game's code threw.
Error thrown(SimErrc code, const char* field, const char* what);

/// Calls a game's code; what it throws becomes an error, so that nothing escapes from here.
template <class Call>
Result<void> contain(SimErrc code, const char* field, const Call& call) {
    try {
        call();
    } catch (const std::exception& exception) {
        return fail(thrown(code, field, exception.what()));
    } catch (...) {
        return fail(thrown(code, field, "an exception that is no std::exception"));
    }
    return {};
}

/// Decodes exactly one value. A user's `serialize` and Cereal's containers may throw on bytes that
/// mean nothing.
template <class Value>
Result<void> decode_value(InArchive& archive, Value& value) {
    if (Result<void> read = contain(SimErrc::malformed, "value", [&] { archive(value); }); !read) {
        return read;
    }
    return archive.finish();
}

} // namespace detail

template <class Input>
Result<void> decode_input(ByteView bytes, Input& input) {
    InArchive archive(bytes);
    return detail::decode_value(archive, input);
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
Result<std::unique_ptr<G>> GameSimulation<G>::start(const Setup& setup) {
    std::unique_ptr<G> game;
    const auto reset = detail::contain(SimErrc::bad_setup, "reset", [&] {
        game = std::make_unique<G>();
        game->reset(setup);
    });
    if (!reset) {
        return fail(reset.error());
    }
    return game;
}

template <Game G>
Result<void> GameSimulation<G>::reset(const Setup& setup) {
    if (auto checked = detail::check_setup(info_, setup); !checked) {
        return checked;
    }
    if constexpr (requires { G::check(setup); }) {
        Result<void> verdict;
        const auto checked =
            detail::contain(SimErrc::bad_setup, "check", [&] { verdict = G::check(setup); });
        if (!checked || !verdict) {
            return checked ? verdict : checked;
        }
    }
    // Everything that can fail comes before anything changes; `setup` may be setup_ itself.
    Setup kept = setup;
    std::vector<PlayerInput<Input>> players(kept.slots);
    Result<std::unique_ptr<G>> game = start(kept);
    if (!game) {
        return fail(game.error());
    }
    setup_ = std::move(kept);
    players_ = std::move(players);
    game_ = std::move(*game);
    tick_ = Tick{0};
    draws_ = Draws{setup_.seed, 0};
    started_ = true;
    prepared_ = false;
    hashed_ = false;
    return {};
}

template <Game G>
Result<void> GameSimulation<G>::prepare(const TickFrame& frame) {
    TWINSTEP_ASSERT(started_);
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
            if (auto decoded = detail::decode_value(input_archive_, player.input); !decoded) {
                return fail(detail::input_error(std::move(decoded.error()), slot));
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
    const Step<Input> view{tick_, players_, events_, random, workers(), setup_};
    game_->step(view);
    draws_.count += random.draws();
    tick_ = tick_ + 1;
    prepared_ = false;
    hashed_ = false;
}

template <Game G>
const StateHashes& GameSimulation<G>::hash() {
    if (!hashed_) {
        hash_sink_.set_recheck_hashes(recheck_hashes());
        hash_sink_.begin(tick_, hashes_);
        walk(hash_archive_, draws_, *game_);
        hash_sink_.finish();
        has_nan_ = hash_archive_.take_nan_seen();
        hashed_ = true;
    }
    return hashes_;
}

template <Game G>
void GameSimulation<G>::save(Bytes& target) {
    target.clear();
    write_snapshot_head(target, tick_);
    BufferSink sink(target);
    save_sections(sink);
    sink.finish();
}

template <Game G>
void GameSimulation<G>::save_sections(ByteSink& sink) {
    OutArchive archive(sink);
    walk(archive, draws_, *game_);
}

template <Game G>
Result<void> GameSimulation<G>::load(ByteView snapshot) {
    TWINSTEP_ASSERT(started_);
    InArchive archive(snapshot);
    const Result<Tick> tick = read_snapshot_head(archive.reader());
    if (!tick) {
        return fail(tick.error());
    }
    Result<std::unique_ptr<G>> game = start(setup_);
    if (!game) {
        return fail(game.error());
    }
    Draws draws;
    const auto walked =
        detail::contain(SimErrc::malformed, "value", [&] { walk(archive, draws, **game); });
    if (!walked) {
        return walked;
    }
    if (Result<void> finished = archive.finish(); !finished) {
        return finished;
    }
    if (auto checked = detail::check_snapshot_seed(draws.seed, setup_.seed); !checked) {
        return checked;
    }
    game_ = std::move(*game);
    draws_ = draws;
    tick_ = *tick;
    prepared_ = false;
    hashed_ = false;
    return {};
}

template <Game G>
Result<bool>
GameSimulation<G>::load_in_place(Tick tick, ByteView sections, detail::ChunkSource& chunks) {
    TWINSTEP_ASSERT(started_);
    prepared_ = false;
    hashed_ = false;
    InArchive archive(sections, &chunks);
    const auto walked =
        detail::contain(SimErrc::malformed, "value", [&] { walk(archive, draws_, *game_); });
    if (!walked) {
        return fail(walked.error());
    }
    if (Result<void> finished = archive.finish(); !finished) {
        return fail(finished.error());
    }
    if (auto checked = detail::check_snapshot_seed(draws_.seed, setup_.seed); !checked) {
        return fail(checked.error());
    }
    tick_ = tick;
    return true;
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
