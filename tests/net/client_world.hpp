// SPDX-License-Identifier: MIT
// Whole players and the real host on a virtual network, for tests of a match as its players see it.
#pragma once

#include "client_support.hpp"
#include "test_random.hpp"

#include "twinstep/net/host.hpp"
#include "twinstep/net/player.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace client_test {

/// Keeps the hash of each state.
class HashKeeper final : public Observer {
public:
    void after(const StateHashes& state) override { hashes[state.tick.value] = state.state; }

    std::map<std::uint64_t, Hash128> hashes;
};

/// A relay host and players, 30 ms apart unless a test moves one, with loss.
class MatchWorld {
public:
    MatchWorld(wire::Mode mode,
               std::uint32_t lost_percent,
               std::uint16_t start_players = 2,
               const std::function<void(MatchSettings&)>& change = nullptr)
        : mode_(mode)
        , lost_percent_(lost_percent)
        , random_(test_seed())
        , host_(make_host(start_players, change)) {}

    struct Flight {
        Address from;
        Address to;
        Bytes datagram;
    };

    struct Peer {
        explicit Peer(Player made)
            : player(std::move(made)) {}

        Player player;
        HashKeeper keeper;
        Address address;
        Micros one_way = milliseconds(30); ///< And up to 7 ms more.
        Micros step_cost;                  ///< What its machine needs for one tick.
        int lost_down = 0;                 ///< Datagram to it that is lost: 1 COOKIE, 2 ACCEPT.
        int sent_down = 0;
        Micros busy_until;
        std::vector<Flight> waiting;
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
                if (now < peer->busy_until) {
                    continue; // What arrives meanwhile waits in its socket, as it does for real.
                }
                Way up{*this, peer->address};
                for (const Flight& flight : std::exchange(peer->waiting, {})) {
                    peer->player.receive(now, flight.from, flight.datagram, up);
                }
                const auto stepped = peer->player.advance(now, up);
                if (!stepped) {
                    peer->error = to_string(stepped.error());
                } else {
                    const auto steps = static_cast<std::int64_t>(*stepped);
                    peer->busy_until = now + Micros{steps * peer->step_cost.value};
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

    const Match& match() { return *host_.find_match(1); }

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

    Host make_host(std::uint16_t start_players, const std::function<void(MatchSettings&)>& change) {
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
        if (change) {
            change(match);
        }
        REQUIRE(host->open_match(match));
        return std::move(*host);
    }

    void send(const Address& from, const Address& to, ByteView datagram) {
        if (cut || random_.below(100) < lost_percent_) {
            return;
        }
        Micros way = milliseconds(static_cast<std::int64_t>(random_.below(8)));
        for (const auto& peer : peers) {
            if (peer->address == to && ++peer->sent_down == peer->lost_down) {
                return;
            }
            if (peer->address == from || peer->address == to) {
                way = way + peer->one_way;
            }
        }
        const Micros at = now + way;
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
                    peer->waiting.push_back(flight);
                }
            }
        }
    }

    MatchEvents events_; ///< Nobody listens.
    SeededEntropy entropy_{test_seed()};
    Key key_;
    wire::Mode mode_;
    std::uint32_t lost_percent_ = 0;
    TestRandom random_;
    Host host_;
    std::multimap<std::int64_t, Flight> flights_;
};

} // namespace client_test
