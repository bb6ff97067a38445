// SPDX-License-Identifier: MIT
// A relay as it runs: port, host and matches with real clients. Once it plays it allocates nothing.
#include "allocation_counter.hpp"

#include "twinstep/net/client.hpp"
#include "twinstep/net/host.hpp"
#include "twinstep/net/udp_port.hpp"
#include "twinstep/sim/manifest.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <vector>

using namespace twinstep;
using namespace twinstep::net;

namespace {

constexpr std::uint16_t matches = 3;
constexpr std::uint16_t players_each = 4;
constexpr Micros tick_period{16'667};

SimulationInfo relayed() {
    SimulationInfo info;
    info.id = "relayed";
    info.tick_rate = TickRate{60};
    info.slots_min = 1;
    info.slots_max = 8;
    info.input_schema = "{buttons:u32}";
    info.state_schema = "{}";
    return info;
}

MatchSettings match_settings(MatchId id) {
    MatchSettings settings;
    settings.id = id;
    settings.slots = players_each;
    settings.start_players = players_each;
    settings.input_bytes_max = 4;
    settings.authority = Authority::relay;
    settings.neutral = Bytes(4);
    settings.ring = seconds(7); // Older ticks are packed; full before counting begins.
    settings.spectator_delay = seconds(1);
    settings.manifest = make_manifest(relayed(), {1, players_each, {}});
    return settings;
}

/// Host or client on the test's time.
template <class T>
class OnTime final : public Machine {
public:
    OnTime(T& machine, const Micros& now)
        : machine_(machine)
        , now_(now) {}

    void expect(ByteView datagram) override {
        if constexpr (requires { machine_.expect(datagram); }) {
            machine_.expect(datagram);
        }
    }

    void receive(Micros, const Address& from, ByteView datagram, Outbox& out) override {
        machine_.receive(now_, from, datagram, out);
    }

    void advance(Micros, Outbox& out) override { machine_.advance(now_, out); }

    Micros next_wake() const override { return never; }

private:
    T& machine_;
    const Micros& now_;
};

class Events final : public MatchEvents {
public:
    void on_closed(MatchId, Tick, ByteView, Micros) override { ++closed; }

    std::uint64_t closed = 0;
};

/// A client without a game. Its inputs change often, so that bundles have many lengths.
struct Guest {
    Client client;
    UdpPort port;
    TickFrame frame;
    StateHashes hashes;
    std::uint64_t tick = 0;
    std::uint32_t number = 0;

    void turn(Micros now) {
        if (client.state() == ClientState::preparing) {
            client.ready(now);
        }
        while (client.inputs_wanted(now) > 0) {
            Bytes input;
            const auto at = static_cast<std::uint32_t>(client.input_tick().value);
            ByteWriter(input).u32(at % 7 < 3 ? (at + number) * 2'654'435'761U : 5);
            client.give_input(input);
        }
        while (client.backlog() > 0) {
            const auto supply = client.next(Tick{tick}, frame);
            if (!supply || *supply != Supply::ready) {
                break;
            }
            ++tick;
            hashes.tick = Tick{tick};
            hashes.state = {tick, 0};
            client.report(hashes);
        }
        OnTime machine(client, now);
        while (port.step(machine, Micros{})) {
        }
        client.advance(now, port.outbox());
    }
};

} // namespace

TEST_CASE("port, host and matches together allocate nothing in the steady state",
          "[net][port][allocation]") {
    const wire::Mode mode = has_crypto() ? wire::Mode::room_key : wire::Mode::plain;
    Events events;
    HostSettings settings;
    settings.mode = mode;
    settings.pending_prefix_max = 64;
    auto host = Host::create(settings, events, system_entropy());
    REQUIRE(host);
    auto port = UdpPort::open({{*parse_address("127.0.0.1:0")}});
    REQUIRE(port);
    std::vector<std::unique_ptr<Guest>> guests;
    for (std::uint16_t match = 1; match <= matches; ++match) {
        REQUIRE(host->open_match(match_settings(match)));
        for (std::uint16_t i = 0; i < players_each; ++i) {
            ClientSettings wanted;
            wanted.server = port->local().at(0);
            wanted.mode = mode;
            wanted.match_id = match;
            wanted.simulation = relayed();
            wanted.neutral = Bytes(4);
            auto client = Client::create(wanted, system_entropy());
            auto local = UdpPort::open({{local_for(wanted.server)}});
            REQUIRE(client);
            REQUIRE(local);
            guests.push_back(std::make_unique<Guest>(
                Guest{std::move(*client), std::move(*local), {}, {}, 0, i}));
        }
    }
    Micros now = seconds(1000);
    std::uint64_t allocations = 0;
    std::uint64_t closed = 0;
    for (int tick = 0; tick < 900; ++tick) {
        now = now + tick_period;
        for (std::size_t i = 0; i < guests.size(); ++i) {
            // Now and then somebody's packets are late, so that windows of several ticks are sent.
            // The longer ones come only once counting has begun.
            if ((static_cast<std::size_t>(tick) + i) % 50 >= (tick < 600 ? 3U : 9U)) {
                guests[i]->turn(now);
            }
        }
        if (tick == 600) {
            closed = events.closed;
        }
        const AllocationCounter counter;
        OnTime machine(*host, now);
        while (port->step(machine, Micros{})) {
        }
        host->advance(now, port->outbox());
        static_cast<void>(host->next_wake());
        allocations += tick >= 600 ? counter.count() : 0;
    }
    CHECK(host->status().peers == guests.size());
    CHECK(events.closed - closed >= std::uint64_t{matches} * 290);
    CHECK(allocations == 0);
}
