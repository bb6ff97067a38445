// SPDX-License-Identifier: MIT
// The typed adapter: makes a Simulation out of a game's Input, step and serialize.
#pragma once

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/random.hpp"
#include "twinstep/sim/simulation.hpp"
#include "twinstep/sim/snapshot.hpp"
#include "twinstep/sim/workers.hpp"

#include <concepts>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace twinstep {

/// One slot's decoded input at a tick.
template <class Input>
struct PlayerInput {
    bool present = false;     ///< False: nobody spoke for the slot; `input` is default-made.
    bool substituted = false; ///< True: the session filled the input in.
    Input input{};
};

/// An event with its payload.
struct StepEvent {
    EventKind kind = EventKind::marker;
    bool has_slot = false;
    Slot slot;
    ByteView payload;
};

/// Everything a step may look at. There is no clock, no file and no local player here on purpose.
template <class Input>
struct Step {
    Tick tick;
    std::span<const PlayerInput<Input>> players; ///< One a slot.
    std::span<const StepEvent> events;
    Random& random;     ///< Fresh at every tick, keyed by seed and tick; its draws are counted.
    Workers& workers;   ///< For loops whose parts do not depend on each other.
    const Setup& setup; ///< What the session began with: the same at every tick.
};

/// What a game's class provides. `reset`, `check` and a loading `serialize` may throw: that refuses
/// the set-up or the snapshot. `step` and a saving `serialize` must not. Optional: `static
/// constexpr std::uint32_t version`, `slots_min`, `slots_max` (std::uint16_t, default 1), `static
/// const std::string_view source_digest`, and `static Result<void> check(const Setup&)`, which
/// refuses a set-up.
template <class G>
concept Game = std::default_initializable<G> && std::default_initializable<typename G::Input> &&
    requires(G game, const Setup& setup, const Step<typename G::Input>& step) {
    { G::id } -> std::convertible_to<std::string_view>;
    { G::tick_rate } -> std::convertible_to<TickRate>;
    game.reset(setup);
    game.step(step);
};

/// Encodes one input, as it travels in frames. Appends to `target`.
template <class Input>
void encode_input(const Input& input, Bytes& target) {
    BufferSink sink(target);
    OutArchive archive(sink);
    archive(input);
    sink.finish();
}

/// Decodes one input. Errors: truncated, malformed, trailing_bytes; `input` is then unspecified.
template <class Input>
Result<void> decode_input(ByteView bytes, Input& input);

/// A game as a Simulation. Adds one section, `random`, with the seed and the number of draws so
/// far.
template <Game G>
class GameSimulation final : public Simulation {
public:
    using Input = typename G::Input;

    GameSimulation();

    const SimulationInfo& info() const override { return info_; }

    Result<void> reset(const Setup& setup) override;

    const Setup& setup() const override { return setup_; }

    Tick tick() const override { return tick_; }

    Result<void> prepare(const TickFrame& frame) override;
    void step() override;
    const StateHashes& hash() override;

    bool has_nan() const override { return has_nan_; }

    void save(Bytes& target) override;
    void save_sections(ByteSink& sink) override;
    Result<void> load(ByteView snapshot) override;
    Result<bool> load_in_place(Tick tick, ByteView sections, detail::ChunkSource& chunks) override;
    void visit(FieldVisitor& visitor) const override;
    Result<void> visit_input(ByteView input, FieldVisitor& visitor) const override;

    std::unique_ptr<Simulation> make_another() const override {
        return std::make_unique<GameSimulation>();
    }

    /// The state, for everybody who only looks.
    const G& game() const { return *game_; }

private:
    struct Draws {
        std::uint64_t seed = 0;
        std::uint64_t count = 0;

        template <class Archive>
        void serialize(Archive& archive) {
            archive(CEREAL_NVP(seed), CEREAL_NVP(count));
        }
    };

    template <class Archive>
    static void walk(Archive& archive, const Draws& draws, const G& game);

    /// A game in state 0 of a session. Errors: bad_setup, if it throws.
    static Result<std::unique_ptr<G>> start(const Setup& setup);

    SimulationInfo info_;
    Setup setup_;
    Tick tick_;
    Draws draws_;
    std::unique_ptr<G> game_;
    bool started_ = false;
    bool prepared_ = false;
    bool hashed_ = false;
    bool has_nan_ = false;
    InArchive input_archive_;
    std::vector<PlayerInput<Input>> players_;
    std::vector<StepEvent> events_;
    HashSink hash_sink_;
    OutArchive hash_archive_{hash_sink_};
    StateHashes hashes_;
};

/// Makes a game's simulation.
template <Game G>
std::unique_ptr<Simulation> make_simulation() {
    return std::make_unique<GameSimulation<G>>();
}

} // namespace twinstep

#include "twinstep/sim/impl/game_simulation.hpp"
