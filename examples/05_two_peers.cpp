// SPDX-License-Identifier: MIT
// Lockstep: a server and two players on loopback, who end with the same state, bit for bit.
#include <twinstep/net/host.hpp>
#include <twinstep/net/player.hpp>
#include <twinstep/net/udp_port.hpp>
#include <twinstep/sim.hpp>

#include <cstdint>
#include <cstdio>
#include <future>
#include <string>
#include <thread>

namespace {

namespace net = twinstep::net;
constexpr int last_tick = 180;

struct Pull {
    std::int8_t strength = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(strength));
    }
};

/// Two players pull at a rope.
struct TugOfWar {
    using Input = Pull;
    static constexpr std::string_view id = "tug-of-war";
    static constexpr twinstep::TickRate tick_rate{60};
    static constexpr std::uint16_t slots_min = 2;
    static constexpr std::uint16_t slots_max = 2;

    void reset(const twinstep::Setup&) {}

    void step(const twinstep::Step<Input>& step) {
        rope += step.players[0].input.strength - step.players[1].input.strength;
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(twinstep::section("rope", CEREAL_NVP(rope)));
    }

    std::int32_t rope = 0;
};

/// Remembers the hash of state `last_tick`.
struct Finish : twinstep::Observer {
    std::string hash;

    void after(const twinstep::StateHashes& hashes) override {
        hash = hashes.tick.value == last_tick ? to_hex(hashes.state) : hash;
    }
};

/// One player, as a game would have it: its input is sampled, ticks come back from the server.
std::string play(const net::Address& server, std::int8_t strength) {
    net::PlayerSettings settings;
    settings.client.server = server;
    settings.client.mode = net::wire::Mode::plain; // On loopback; elsewhere a room key is needed.
    settings.sample = [strength](twinstep::Tick tick, twinstep::Bytes& input) {
        twinstep::encode_input(
            Pull{static_cast<std::int8_t>(tick.value % 7 + static_cast<std::uint64_t>(strength))},
            input);
    };
    auto player = net::Player::create(
        std::move(settings), twinstep::make_simulation<TugOfWar>(), net::system_entropy());
    auto port = net::UdpPort::open({{net::local_for(server)}});
    Finish finish;
    if (player && port) {
        player->add(finish);
        auto driven = net::drive(*player);
        while (!player->is_closed() && player->simulation().tick().value < last_tick) {
            port->step(driven, net::monotonic_now() + net::milliseconds(5)); // Then draw.
        }
    }
    return finish.hash;
}

} // namespace

int main() {
    net::MatchEvents events; // For an owner that wants to know what happens; this one does not.
    net::MatchSettings match;
    match.authority = net::Authority::relay; // No simulation on the server: the players compare.
    match.tick_rate = TugOfWar::tick_rate;
    twinstep::encode_input(Pull{}, match.neutral);
    const auto game = twinstep::make_simulation<TugOfWar>();
    match.manifest = twinstep::make_manifest(game->info(), {42, 2, {}});
    auto host = net::Host::create(
        {.mode = net::wire::Mode::plain, .key = {}}, events, net::system_entropy());
    auto port = net::UdpPort::open({{*net::parse_address("127.0.0.1:0")}});
    if (!host || !port || !host->open_match(std::move(match))) {
        return 1;
    }
    auto driven = net::drive(*host);
    std::thread server([&] { port->run(driven); });
    auto left = std::async(std::launch::async, play, port->local().front(), std::int8_t{1});
    auto right = std::async(std::launch::async, play, port->local().front(), std::int8_t{2});
    const std::string ours = left.get();
    const std::string theirs = right.get();
    port->stop();
    server.join();
    std::printf("state %d: %s and %s\n", last_tick, ours.c_str(), theirs.c_str());
    return ours == theirs && !ours.empty() ? 0 : 1;
}
