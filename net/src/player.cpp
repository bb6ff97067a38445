// SPDX-License-Identifier: MIT
// Client, simulation, driver and pace in one.
#include "twinstep/net/player.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace twinstep::net {

struct Player::Impl {
    Impl(PlayerSettings given, Client made, std::unique_ptr<Simulation> game, Entropy& source)
        : settings(std::move(given))
        , entropy(source)
        , client(std::move(made))
        , simulation(std::move(game))
        , closed_ticks(client)
        , reporter(client)
        , driver(*simulation, closed_ticks) {
        driver.add(reporter);
        input.reserve(input_bytes_max);
    }

    Result<void> prepare(Micros now);
    Result<void> sample(Micros now);
    Result<std::uint64_t> drive(std::uint64_t ticks);
    Result<std::uint64_t> step(Micros now);
    void donate(Micros now);

    /// Ticks that arrived before the end are played to the end.
    bool drains() const { return started && !told && !drained && client.backlog() > 0; }

    tl::unexpected<Error> give_up(Micros now, Error error);

    PlayerSettings settings;
    Entropy& entropy;
    Client client;
    std::unique_ptr<Simulation> simulation;
    LockstepSource closed_ticks;
    HashReporter reporter;
    Driver driver;
    PlaybackPace pace;
    std::uint32_t speed_per_mille = 1000;
    Bytes input;
    Bytes snapshot;
    bool started = false;
    std::optional<Error> own_error; ///< Why this side gave up.
    bool told = false;              ///< The end was reported.
    bool drained = false;           ///< Nothing of what has arrived can be played any more.
    bool connected = false;
};

tl::unexpected<Error> Player::Impl::give_up(Micros now, Error error) {
    client.leave(now, to_string(error));
    told = true;
    own_error = error;
    return fail(std::move(error));
}

Result<void> Player::Impl::prepare(Micros now) {
    connected = true;
    const bool goes_on =
        started && client.snapshot() == nullptr && simulation->tick() == client.first_tick();
    if (!goes_on) {
        const Result<Setup> setup = setup_of(client.manifest());
        if (!setup) {
            return fail(setup.error());
        }
        if (Result<void> reset = simulation->reset(*setup); !reset) {
            return reset;
        }
        if (const JoinSnapshot* joined = client.snapshot()) {
            if (Result<void> loaded = simulation->load(joined->bytes); !loaded) {
                return fail(std::move(loaded.error()).in("snapshot"));
            }
        }
        if (simulation->tick() != client.first_tick()) {
            return fail(Error(NetErrc::malformed, "snapshot", "is of another tick than offered"));
        }
        if (settings.started) {
            if (Result<void> begun = settings.started(*simulation, client.manifest()); !begun) {
                return begun;
            }
        }
    }
    pace = PlaybackPace(client.tick_rate(), settings.playback);
    speed_per_mille = 1000;
    started = true;
    client.ready(now);
    return {};
}

Result<void> Player::Impl::sample(Micros now) {
    for (std::uint64_t wanted = client.inputs_wanted(now); wanted > 0; --wanted) {
        input.clear();
        settings.sample(client.input_tick(), input);
        if (input.size() > client.accepted().input_bytes_max) {
            return fail(Error(NetErrc::bad_setting,
                              "input_bytes_max",
                              "an input has " + std::to_string(input.size()) +
                                  " bytes, the match allows " +
                                  std::to_string(client.accepted().input_bytes_max)));
        }
        client.give_input(input);
    }
    return {};
}

Result<std::uint64_t> Player::Impl::drive(std::uint64_t ticks) {
    if (ticks == 0) {
        return 0;
    }
    const Result<Advance> advanced = driver.advance(ticks);
    if (!advanced) {
        return fail(advanced.error());
    }
    drained = drained || advanced->state == DriverState::ended;
    return advanced->ticks;
}

Result<std::uint64_t> Player::Impl::step(Micros now) {
    if (client.status().speed_per_mille != speed_per_mille) {
        speed_per_mille = client.status().speed_per_mille;
        pace.set_speed(speed_per_mille);
    }
    const std::uint64_t due = pace.due(now, client.backlog());
    // A snapshot is wanted of one state: all donors must give the same.
    const std::uint64_t at = simulation->tick().value;
    const std::optional<Tick> wanted = client.snapshot_wanted();
    const bool on_the_way = wanted && wanted->value > at && wanted->value - at < due;
    const std::uint64_t first = on_the_way ? wanted->value - at : due;
    Result<std::uint64_t> steps = drive(first);
    if (!steps) {
        return steps;
    }
    donate(now);
    if (first < due && *steps == first) {
        const Result<std::uint64_t> more = drive(due - first);
        if (!more) {
            return more;
        }
        *steps += *more;
    }
    return steps;
}

void Player::Impl::donate(Micros now) {
    const std::optional<Tick> wanted = client.snapshot_wanted();
    if (wanted && simulation->tick() >= *wanted && client.state() != ClientState::closed) {
        simulation->save(snapshot);
        client.give_snapshot(now, simulation->tick(), snapshot);
    }
}

Result<Player>
Player::create(PlayerSettings settings, std::unique_ptr<Simulation> simulation, Entropy& entropy) {
    TWINSTEP_ASSERT(simulation != nullptr);
    if (settings.client.role == Role::player && !settings.sample) {
        return fail(Error(NetErrc::bad_setting, "sample", "a player gives inputs"));
    }
    settings.client.simulation = simulation->info();
    Result<Client> client = Client::create(settings.client, entropy);
    if (!client) {
        return fail(client.error());
    }
    return Player(std::make_unique<Impl>(
        std::move(settings), std::move(*client), std::move(simulation), entropy));
}

Player::Player(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

Player::Player(Player&&) noexcept = default;
Player& Player::operator=(Player&&) noexcept = default;
Player::~Player() = default;

void Player::add(Observer& observer) {
    impl_->driver.add(observer);
}

void Player::receive(Micros now, const Address& from, ByteView datagram, Outbox& out) {
    impl_->client.receive(now, from, datagram, out);
}

Result<std::uint64_t> Player::advance(Micros now, Outbox& out) {
    Impl& impl = *impl_;
    if (impl.client.state() == ClientState::preparing) {
        if (const Result<void> prepared = impl.prepare(now); !prepared) {
            auto error = impl.give_up(now, prepared.error());
            impl.client.advance(now, out);
            return error;
        }
    }
    Result<std::uint64_t> steps = 0;
    const ClientState state = impl.client.state();
    const bool plays = state == ClientState::waiting || state == ClientState::playing;
    if (plays || (state == ClientState::closed && impl.drains())) {
        const Result<void> sampled = plays ? impl.sample(now) : Result<void>();
        steps = sampled ? impl.step(now) : Result<std::uint64_t>(fail(sampled.error()));
        if (!steps) {
            impl.give_up(now, steps.error());
        }
    }
    impl.client.advance(now, out);
    const bool is_over = impl.client.state() == ClientState::closed && !impl.drains();
    if (steps && is_over && !impl.told) {
        impl.told = true;
        return fail(impl.client.close_error());
    }
    return steps;
}

Micros Player::next_wake() const {
    const Impl& impl = *impl_;
    const ClientState state = impl.client.state();
    Micros wake = impl.client.next_wake();
    if (state == ClientState::preparing) {
        return Micros{0};
    }
    if (state == ClientState::waiting || state == ClientState::playing) {
        wake = std::min(wake, impl.pace.next_wake(impl.client.backlog()));
    }
    return wake;
}

Result<void> Player::reconnect(Micros now) {
    Impl& impl = *impl_;
    if (!impl.connected) {
        return fail(Error(NetErrc::bad_setting, "ticket", "there was no connection before"));
    }
    static_cast<void>(now);
    ClientSettings settings = impl.settings.client;
    settings.ticket = impl.client.ticket();
    const auto& verdict = impl.client.verdict();
    const bool diverged = verdict && verdict->own;
    if (impl.started && !diverged) {
        settings.resume_from = impl.simulation->tick();
        settings.resume_chain = impl.client.chain();
    }
    Result<Client> client = Client::create(std::move(settings), impl.entropy);
    if (!client) {
        return fail(client.error());
    }
    impl.client = std::move(*client);
    impl.told = false;
    impl.drained = false;
    impl.own_error.reset();
    return {};
}

void Player::leave(Micros now) {
    impl_->client.leave(now);
    impl_->told = true;
}

bool Player::has_started() const {
    return impl_->started;
}

bool Player::is_closed() const {
    return impl_->client.state() == ClientState::closed;
}

const Error& Player::error() const {
    return impl_->own_error ? *impl_->own_error : impl_->client.close_error();
}

std::string_view Player::waiting_for() const {
    const bool flows = impl_->client.state() == ClientState::playing && impl_->client.backlog() > 0;
    return flows ? std::string_view() : impl_->client.waiting_for();
}

Client& Player::client() {
    return impl_->client;
}

const Client& Player::client() const {
    return impl_->client;
}

Simulation& Player::simulation() {
    return *impl_->simulation;
}

} // namespace twinstep::net
