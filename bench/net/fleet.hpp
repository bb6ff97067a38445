// SPDX-License-Identifier: MIT
// A host with matches, and the clients that play in them, for benchmarks.
#pragma once

#include "twinstep/net/client.hpp"
#include "twinstep/net/host.hpp"
#include "twinstep/sim/manifest.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// What both sides say the game is: 4-byte inputs at 60 Hz. No state is simulated here.
inline twinstep::SimulationInfo bench_info() {
    twinstep::SimulationInfo info;
    info.id = "bench";
    info.tick_rate = twinstep::TickRate{60};
    info.slots_min = 1;
    info.slots_max = 8;
    info.input_schema = "{buttons:u32}";
    info.state_schema = "{}";
    return info;
}

inline const twinstep::Bytes& bench_neutral() {
    static const twinstep::Bytes neutral(4);
    return neutral;
}

/// Four bytes as a person gives them: walking and turning for a while, a button now and then. Two
/// of five ticks turn by another angle than the tick before.
inline std::uint32_t person_input(std::uint64_t tick, std::uint64_t player) {
    const auto mix = [player](std::uint64_t value) {
        value = (value + player * 1'000'003U) * 0x9E3779B97F4A7C15U;
        return static_cast<std::uint32_t>((value ^ (value >> 29U)) * 0xBF58476D1CE4E5B9U >> 40U);
    };
    const std::uint32_t forward = 25 * (mix(tick / 23) % 3);
    const std::uint32_t side = 24 * (mix(tick / 41 + 1'000'000) % 2);
    const bool turns = mix(tick / 15 + 2'000'000) % 5 < 2;
    const std::uint32_t turn = turns ? mix(tick + 3'000'000) % 64 : 0;
    const std::uint32_t buttons = mix(tick / 35 + 4'000'000) % 8 == 0 ? 1 : 0;
    return forward | side << 8U | turn << 16U | buttons << 24U;
}

/// Four bytes that are all new in every tick: the worst case for differences.
inline std::uint32_t noisy_input(std::uint64_t tick, std::uint64_t player) {
    return static_cast<std::uint32_t>((tick + player + 1) * 2654435761U);
}

/// A match of so many players, which begins when all are there.
inline twinstep::net::MatchSettings bench_match(twinstep::net::MatchId id, std::uint16_t slots) {
    twinstep::net::MatchSettings settings;
    settings.id = id;
    settings.slots = slots;
    settings.start_players = slots;
    settings.input_bytes_max = 4;
    settings.authority = twinstep::net::Authority::relay;
    settings.neutral = bench_neutral();
    settings.manifest = twinstep::make_manifest(bench_info(), {1, slots, {}});
    return settings;
}

/// Budgets that a whole fleet behind one address does not exceed.
inline twinstep::net::HostSettings bench_host(twinstep::net::wire::Mode mode) {
    twinstep::net::HostSettings settings;
    settings.mode = mode;
    settings.pending_max = 1024;
    settings.pending_prefix_max = 1024;
    settings.handshakes_per_s = 100'000;
    return settings;
}

inline twinstep::net::ClientSettings bench_client(const twinstep::net::Address& server,
                                                  twinstep::net::wire::Mode mode,
                                                  std::uint64_t match) {
    twinstep::net::ClientSettings settings;
    settings.server = server;
    settings.mode = mode;
    settings.match_id = match;
    settings.simulation = bench_info();
    settings.neutral = bench_neutral();
    return settings;
}

/// Ends the program if a machine could not be made: a benchmark has nothing to go on with.
template <class T>
T made(twinstep::Result<T> result) {
    if (!result) {
        fmt::print(stderr, "net_bench: {}\n", to_string(result.error()));
        std::exit(1);
    }
    return std::move(*result);
}

/// A player without a game: gives what is wanted, takes what comes, reports hashes that all agree
/// on.
class Player {
public:
    explicit Player(twinstep::net::Client client)
        : client_(std::move(client)) {}

    twinstep::net::Client& client() { return client_; }

    bool playing() const { return client_.state() == twinstep::net::ClientState::playing; }

    std::uint64_t ticks() const { return tick_; }

    /// What a game's loop does once a frame. `input(tick)` makes the four bytes; `given(tick)` is
    /// told of each.
    template <class Input>
    void turn(twinstep::net::Micros now, twinstep::net::Outbox& out, Input&& input) {
        if (client_.state() == twinstep::net::ClientState::preparing) {
            client_.ready(now);
        }
        while (client_.inputs_wanted(now) > 0) {
            const std::uint32_t value = input(client_.input_tick());
            input_.clear();
            twinstep::ByteWriter(input_).u32(value);
            client_.give_input(input_);
        }
        take();
        client_.advance(now, out);
    }

    /// Plays the closed ticks that have come.
    void take() {
        while (client_.backlog() > 0) {
            const auto supply = client_.next(twinstep::Tick{tick_}, frame_);
            if (!supply || *supply != twinstep::Supply::ready) {
                return;
            }
            ++tick_;
            hashes_.tick = twinstep::Tick{tick_};
            hashes_.state = {tick_, 0};
            client_.report(hashes_);
        }
    }

private:
    twinstep::net::Client client_;
    twinstep::TickFrame frame_;
    twinstep::StateHashes hashes_;
    twinstep::Bytes input_;
    std::uint64_t tick_ = 0;
};

/// Owner of matches who only counts.
class QuietEvents : public twinstep::net::MatchEvents {
public:
    void on_closed(twinstep::net::MatchId,
                   twinstep::Tick,
                   twinstep::ByteView,
                   twinstep::net::Micros) override {
        ++closed;
    }

    void on_snapshot_wanted(twinstep::net::MatchId, twinstep::Tick) override {}

    void on_player(twinstep::net::MatchId,
                   twinstep::Slot,
                   twinstep::net::PlayerState,
                   twinstep::Tick) override {}

    void on_verdict(twinstep::net::MatchId, const twinstep::net::wire::Verdict&) override {
        ++verdicts;
    }

    void on_manifest(twinstep::net::MatchId, const twinstep::Manifest&) override {}

    void on_note(twinstep::net::MatchId, std::string_view, std::string_view) override {}

    std::uint64_t closed = 0;
    std::uint64_t verdicts = 0;
};

} // namespace bench
