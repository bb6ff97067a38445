// SPDX-License-Identifier: MIT
// Whole players against the real host over a lossy virtual network, in all modes.
#include "client_support.hpp"
#include "test_random.hpp"

#include "twinstep/net/host.hpp"
#include "twinstep/net/player.hpp"

#include <array>
#include <string>

using namespace client_test;

namespace {

class NoEvents final : public MatchEvents {
public:
    void on_closed(MatchId, Tick, ByteView, Micros) override {}

    void on_snapshot_wanted(MatchId, Tick) override {}

    void on_player(MatchId, Slot, PlayerState, Tick) override {}

    void on_verdict(MatchId, const wire::Verdict&) override {}

    void on_manifest(MatchId, const Manifest&) override {}

    void on_note(MatchId, std::string_view, std::string_view) override {}
};

/// Keeps the hash of each state.
class HashKeeper final : public Observer {
public:
    void after(const StateHashes& state) override { hashes[state.tick.value] = state.state; }

    std::map<std::uint64_t, Hash128> hashes;
};

/// A relay host and players, 30 ms apart, with loss.
class MatchWorld {
public:
    MatchWorld(wire::Mode mode, std::uint32_t lost_percent, std::uint16_t start_players = 2)
        : mode_(mode)
        , lost_percent_(lost_percent)
        , random_(test_seed())
        , host_(make_host(start_players)) {}

    struct Peer {
        explicit Peer(Player made)
            : player(std::move(made)) {}

        Player player;
        HashKeeper keeper;
        Address address;
        std::uint64_t starts = 0;
        std::string error;
    };

    ClientSettings client_settings() {
        ClientSettings settings = toy_client();
        settings.mode = mode_;
        settings.key = key_;
        if (mode_ == wire::Mode::token) {
            TokenClaims claims;
            entropy_.fill(claims.id);
            claims.issued_unix_s = 1000;
            entropy_.fill(claims.keys.up.bytes);
            entropy_.fill(claims.keys.down.bytes);
            settings.token = *seal_token(claims, key_, entropy_);
            settings.token_keys = claims.keys;
        }
        return settings;
    }

    Peer& join(Role role = Role::player) {
        const auto index = static_cast<std::uint16_t>(peers.size());
        PlayerSettings settings;
        settings.client = client_settings();
        settings.client.role = role;
        settings.sample = [index](Tick tick, Bytes& input) {
            input = toy_input(static_cast<std::int8_t>((tick.value * (index + 3U)) % 7U),
                              tick.value % 5 == 0);
        };
        auto counter = std::make_shared<std::uint64_t*>(nullptr);
        settings.started = [counter](Simulation&, const Manifest&) -> Result<void> {
            ++**counter;
            return {};
        };
        auto player = Player::create(std::move(settings), make_simulation<ToyGame>(), entropy_);
        REQUIRE(player);
        peers.push_back(std::make_unique<Peer>(std::move(*player)));
        Peer& peer = *peers.back();
        *counter = &peer.starts;
        peer.address = loopback(static_cast<std::uint16_t>(50'000 + index));
        peer.player.add(peer.keeper);
        return peer;
    }

    void run_for(Micros time) {
        const Micros end = now + time;
        while (now < end) {
            now = now + milliseconds(1);
            deliver();
            Way down{*this, server_address};
            host_.advance(now, down);
            for (auto& peer : peers) {
                Way up{*this, peer->address};
                const auto stepped = peer->player.advance(now, up);
                if (!stepped) {
                    peer->error = to_string(stepped.error());
                }
            }
        }
    }

    /// States that every peer has hashed alike; 0 if two differ.
    std::size_t equal_states() const {
        std::size_t equal = 0;
        for (const auto& [tick, hash] : peers.front()->keeper.hashes) {
            for (const auto& peer : peers) {
                const auto found = peer->keeper.hashes.find(tick);
                if (found != peer->keeper.hashes.end()) {
                    if (found->second != hash) {
                        return 0;
                    }
                    ++equal;
                }
            }
        }
        return equal;
    }

    std::vector<std::unique_ptr<Peer>> peers;
    Micros now = seconds(10);
    bool cut = false; ///< Nothing gets through.

private:
    class Way final : public Outbox {
    public:
        Way(MatchWorld& world, const Address& from)
            : world_(world)
            , from_(from) {}

        void send(const Address& to, ByteView datagram) override {
            world_.send(from_, to, datagram);
        }

    private:
        MatchWorld& world_;
        Address from_;
    };

    struct Flight {
        Address from;
        Address to;
        Bytes datagram;
    };

    Host make_host(std::uint16_t start_players) {
        for (std::size_t i = 0; i < key_.bytes.size(); ++i) {
            key_.bytes[i] = static_cast<std::byte>(i);
        }
        HostSettings settings;
        settings.mode = mode_;
        settings.key = key_;
        auto host = Host::create(settings, events_, entropy_);
        REQUIRE(host);
        host->set_wall_clock(1001);
        MatchSettings match;
        match.tick_rate = TickRate{50};
        match.authority = Authority::relay;
        match.neutral = toy_neutral();
        match.manifest = make_manifest(toy_info(), toy_setup());
        match.hash_interval_ticks = 4;
        match.start_players = start_players;
        match.spectator_delay = seconds(1);
        if (start_players == 1) {
            match.ring = seconds(4); // A joiner cannot begin at state 0.
        }
        REQUIRE(host->open_match(match));
        return std::move(*host);
    }

    void send(const Address& from, const Address& to, ByteView datagram) {
        if (cut || random_.below(100) < lost_percent_) {
            return;
        }
        const Micros at = now + milliseconds(static_cast<std::int64_t>(30 + random_.below(8)));
        flights_.emplace(at.value, Flight{from, to, Bytes(datagram.begin(), datagram.end())});
    }

    void deliver() {
        while (!flights_.empty() && flights_.begin()->first <= now.value) {
            const Flight flight = std::move(flights_.begin()->second);
            flights_.erase(flights_.begin());
            if (flight.to == server_address) {
                Way way{*this, server_address};
                host_.receive(now, flight.from, flight.datagram, way);
            }
            for (auto& peer : peers) {
                if (peer->address == flight.to) {
                    Way way{*this, peer->address};
                    peer->player.receive(now, flight.from, flight.datagram, way);
                }
            }
        }
    }

    NoEvents events_;
    SeededEntropy entropy_{test_seed()};
    Key key_;
    wire::Mode mode_;
    std::uint32_t lost_percent_ = 0;
    TestRandom random_;
    Host host_;
    std::multimap<std::int64_t, Flight> flights_;
};

} // namespace

TEST_CASE("two players play a match with equal states at every tick, in every mode",
          "[net][client][match]") {
    TWINSTEP_SHOW_SEED();
    const auto mode = GENERATE(wire::Mode::plain, wire::Mode::room_key, wire::Mode::token);
    if (mode != wire::Mode::plain && !has_crypto()) {
        return;
    }
    MatchWorld world(mode, 3);
    auto& first = world.join();
    auto& second = world.join();
    world.run_for(seconds(20));
    CAPTURE(first.error, second.error, first.player.waiting_for(), second.player.waiting_for());
    CHECK(first.player.client().state() == ClientState::playing);
    CHECK(second.player.client().state() == ClientState::playing);
    CHECK(first.keeper.hashes.size() > 850);
    CHECK(second.keeper.hashes.size() > 850);
    CHECK(world.equal_states() > 1700);
    CHECK_FALSE(first.player.client().verdict());
    CHECK(first.player.client().status().chain_differs == 0);
    // 3 % of loss does not make inputs late.
    CHECK(first.player.client().status().substituted < 10);
    CHECK(first.player.client().status().margin_ms >= 0);
    CHECK(first.starts == 1);
}

TEST_CASE("a player whose connection was lost comes back with its state", "[net][client][match]") {
    TWINSTEP_SHOW_SEED();
    MatchWorld world(wire::Mode::plain, 1);
    auto& first = world.join();
    auto& second = world.join();
    world.run_for(seconds(5));
    REQUIRE(first.keeper.hashes.size() > 100);
    const auto seconds_cut = GENERATE(1, 4, 15);
    CAPTURE(seconds_cut);
    world.cut = true;
    world.run_for(seconds(seconds_cut));
    world.cut = false;
    for (auto& peer : world.peers) {
        if (peer->player.is_closed()) {
            CHECK(peer->error.find("nothing was heard") != std::string::npos);
            REQUIRE(peer->player.reconnect(world.now));
        }
    }
    world.run_for(seconds(15));
    CAPTURE(first.error, second.error, first.player.waiting_for(), second.player.waiting_for());
    CHECK(first.player.client().state() == ClientState::playing);
    CHECK(second.player.client().state() == ClientState::playing);
    // While nobody is there the match stands: after 15 s both connections were given up.
    const int run_s = 15 + (seconds_cut < 10 ? seconds_cut : 4);
    CHECK(first.keeper.hashes.size() + 40 > 50U * static_cast<unsigned>(run_s));
    CHECK(world.equal_states() > 1000);
    CHECK(first.starts == 1);
    // Live again: its own inputs are taken.
    const std::uint64_t before = first.player.client().status().substituted;
    world.run_for(seconds(5));
    CHECK(first.player.client().status().substituted <= before + 3);
}

TEST_CASE("a player who comes later and a spectator begin from another player's snapshot",
          "[net][client][match]") {
    TWINSTEP_SHOW_SEED();
    MatchWorld world(wire::Mode::plain, 2, 1);
    auto& first = world.join();
    world.run_for(seconds(6));
    REQUIRE(first.keeper.hashes.size() > 200);
    const std::uint64_t substituted = first.player.client().status().substituted;
    auto& second = world.join();
    auto& spectator = world.join(Role::spectator);
    world.run_for(seconds(12));
    CAPTURE(second.error, spectator.error);
    CAPTURE(second.player.waiting_for(), spectator.player.waiting_for());
    CHECK(second.player.client().state() == ClientState::playing);
    CHECK(spectator.player.client().state() == ClientState::playing);
    CHECK(second.player.client().first_tick().value > 250);
    CHECK(second.keeper.hashes.size() > 300);
    CHECK(spectator.keeper.hashes.size() > 200);
    CHECK(world.equal_states() > 1000);
    // Nobody had to wait for them.
    CHECK(first.player.client().status().substituted <= substituted + 5);
    CHECK(first.player.client().status().stalls < 10);
    CHECK_FALSE(first.player.client().verdict());
}

TEST_CASE("a player who asks for a snapshot goes on from there with equal states",
          "[net][client][match]") {
    TWINSTEP_SHOW_SEED();
    MatchWorld world(wire::Mode::plain, 1);
    auto& first = world.join();
    auto& second = world.join();
    world.run_for(seconds(6));
    first.player.client().request(wire::RequestKind::snapshot);
    world.run_for(seconds(10));
    CAPTURE(first.error, second.error, first.player.waiting_for(), second.player.waiting_for());
    CHECK(first.starts == 2);
    CHECK(first.player.client().state() == ClientState::playing);
    CHECK(first.player.client().status().snapshots_received == 1);
    CHECK(world.equal_states() > 1000);
    const std::uint64_t before = first.player.client().status().substituted;
    world.run_for(seconds(4));
    CHECK(first.player.client().status().substituted <= before + 3);
}
