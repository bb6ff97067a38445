// SPDX-License-Identifier: MIT
// The twinstep command as a library: give it games, get a command line.
#pragma once

#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/game.hpp"
#include "twinstep/sim/random.hpp"
#include "twinstep/sim/simulation.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::tools {

/// A source of inputs that was opened from the command line.
struct OpenedSource {
    std::unique_ptr<Source> source;
    std::optional<Setup> setup; ///< The session it was made for; options may not contradict.
    std::optional<std::uint64_t> ticks; ///< Its length, where it has one.
    std::string loss;                   ///< What could not be read of it; empty: all of it was.
    std::string remark;                 ///< Worth saying although nothing is lost; may be empty.
};

/// Opens "KIND:REST"; gets REST.
using SourceOpener = std::function<Result<OpenedSource>(const std::string& rest)>;

/// One game as the command sees it.
struct GameEntry {
    std::function<std::unique_ptr<Simulation>()> make;
    /// Appends a bot's encoded input. Random is keyed by the bot's seed, the tick and the slot.
    std::function<void(Random& random, Tick tick, Slot slot, Bytes& target)> bot;
    Bytes neutral; ///< The encoded input of a player who does nothing.
    /// Whether bytes are an input of this game: what hostile players send may be anything.
    std::function<bool(ByteView input)> accepts;
    /// Kinds of source that only this game has, such as "wad"; with the form that help shows.
    std::map<std::string, SourceOpener> sources;
    std::vector<std::string> source_forms;
};

namespace detail {

/// Fills every scalar of an input with random bits: the bot of a game that has none.
class RandomArchive : public cereal::InputArchive<RandomArchive, cereal::AllowEmptyClassElision> {
public:
    explicit RandomArchive(Random& random)
        : InputArchive(this)
        , random_(random) {}

    template <Scalar T>
    void read(T& value) {
        const std::uint64_t bits = random_.bits();
        if constexpr (std::is_floating_point_v<T>) {
            value = static_cast<T>(static_cast<std::int32_t>(bits % 2001) - 1000) / T{1000};
        } else if constexpr (std::same_as<T, bool>) {
            value = (bits & 1U) != 0;
        } else {
            value = static_cast<T>(bits);
        }
    }

private:
    Random& random_;
};

template <Scalar T>
void CEREAL_LOAD_FUNCTION_NAME(RandomArchive& archive, T& value) {
    archive.read(value);
}

template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(RandomArchive& archive, cereal::NameValuePair<T>& pair) {
    archive(pair.value);
}

/// A game's bot, or random inputs.
template <Game G>
typename G::Input bot_input(Random& random, Tick tick, Slot slot) {
    if constexpr (requires { G::bot(random, tick, slot); }) {
        return G::bot(random, tick, slot);
    } else {
        typename G::Input input{};
        RandomArchive archive(random);
        archive(input);
        return input;
    }
}

} // namespace detail

/// The entry of a game. A game may have `static Input bot(Random&, Tick, Slot)`.
template <Game G>
GameEntry entry_for() {
    GameEntry entry;
    entry.make = make_simulation<G>;
    encode_input(typename G::Input{}, entry.neutral);
    entry.accepts = [](ByteView bytes) {
        typename G::Input input{};
        return decode_input(bytes, input).has_value();
    };
    entry.bot = [](Random& random, Tick tick, Slot slot, Bytes& target) {
        encode_input(detail::bot_input<G>(random, tick, slot), target);
    };
    return entry;
}

/// Runs the command with these games, whose ids must differ. Returns the exit code: 0 done and
/// true, 1 failed, 2 usage, 3 done with loss, 4 divergence, 5 incompatible, 6 nothing was checked.
/// This is the one place of the library that prints.
int run(const std::vector<GameEntry>& games, int argc, const char* const* argv);

/// Runs the command for one game: `int main(int argc, char** argv) { return run<Marine>(argc,
/// argv); }`.
template <Game G>
int run(int argc, const char* const* argv) {
    return run({entry_for<G>()}, argc, argv);
}

} // namespace twinstep::tools
