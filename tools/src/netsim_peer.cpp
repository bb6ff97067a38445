// SPDX-License-Identifier: MIT
// A peer's game loop: inputs, closed ticks, steps, comparisons, and coming back after a loss.
#include "netsim_peer.hpp"

#include "twinstep/net/host.hpp"
#include "twinstep/sim/manifest.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::tools::netsim {

using net::ClientState;
using net::CloseReason;
using net::Micros;
using net::milliseconds;

namespace {

/// How many took more than 50 ms longer than the fastest one.
std::uint64_t late_after_fastest(const std::vector<Micros>& times) {
    if (times.empty()) {
        return 0;
    }
    const Micros limit = *std::min_element(times.begin(), times.end()) + milliseconds(50);
    return static_cast<std::uint64_t>(
        std::count_if(times.begin(), times.end(), [limit](Micros time) { return time > limit; }));
}

} // namespace

/// One connection and the simulation that goes with it.
struct PeerNode::Session {
    explicit Session(net::Client made)
        : client(std::move(made))
        , source(client)
        , reporter(client) {}

    net::Client client;
    net::LockstepSource source;
    net::HashReporter reporter;
    std::unique_ptr<Simulation> kept; ///< Of the connection before.
    std::unique_ptr<Simulation> simulation;
    std::unique_ptr<Driver> driver;
    std::uint64_t timed = 0;     ///< Closed ticks whose arrival was seen.
    bool close_seen = false;     ///< What follows from its end was decided.
    bool differs = false;        ///< A state was another one than the server's.
    bool compared_start = false; ///< The state it began from was compared.
};

PeerNode::PeerNode(World& world, net::NodeIndex index, std::uint16_t number, net::Role role)
    : Node(world, index, clock_in(world, number))
    , number_(number)
    , role_(role)
    , entropy_(world.plan.seed, 16U + number)
    , link_(base_link(world.plan.seed, number)) {
    for (const Fault& fault : world.plan.faults) {
        link_is_corrupting_ =
            link_is_corrupting_ || (fault.kind == FaultKind::corrupt && fault.peer == number);
    }
    // Frames of 50 to 240 Hz: nobody draws at the rate of the ticks.
    Random random(world.plan.seed, Tick{2}, 1'000U + number);
    frame_period_ = Micros{4'167 + random.below(16'000)};
}

PeerNode::~PeerNode() = default;

void PeerNode::start(Micros at) {
    here_ = true;
    connecting_since_ = at;
    connect(at);
    plan_wake(at);
}

void PeerNode::crash(Micros at) {
    world_.note(at, "peer " + std::to_string(number_) + " crashes");
    here_ = false;
    session_.reset();
    reconnect_at_ = net::never;
    plan_wake(at);
}

void PeerNode::come_back(Micros at, bool with_ticket) {
    if (!with_ticket) {
        ticket_.reset();
    }
    leaving_ = false;
    start(at);
}

void PeerNode::leave(Micros at) {
    if (session_ && !leaving_) {
        world_.note(at, "peer " + std::to_string(number_) + " leaves");
        session_->client.leave(local(at));
    }
    leaving_ = true;
    reconnect_at_ = net::never;
    plan_wake(at);
}

void PeerNode::lie(Micros at) {
    world_.note(at, "peer " + std::to_string(number_) + " begins to lie");
    lying_ = true;
}

bool PeerNode::is_playing() const {
    return session_ && session_->client.state() == ClientState::playing;
}

std::uint64_t PeerNode::tick() const {
    return session_ && session_->driver ? session_->simulation->tick().value : 0;
}

std::optional<Slot> PeerNode::slot() const {
    return session_ && session_->client.has_slot() ? std::optional(session_->client.slot())
                                                   : std::nullopt;
}

bool PeerNode::closed_as(CloseReason reason) const {
    return session_ && session_->client.state() == ClientState::closed &&
           session_->client.close_reason() == reason;
}

std::string PeerNode::describe() const {
    std::string text = "peer " + std::to_string(number_) + " ";
    if (!session_) {
        return text + (here_ ? "waits to connect again" : "is not there");
    }
    constexpr std::array names{
        "connecting", "loading", "preparing", "waiting", "playing", "closed"};
    text += std::string("is ") + names.at(static_cast<std::size_t>(session_->client.state()));
    if (session_->client.state() == ClientState::closed) {
        text += ": " + std::string(to_string(session_->client.close_reason())) + ", " +
                to_string(session_->client.close_error());
    }
    return text + ", at tick " + std::to_string(tick()) + " of " +
           std::to_string(session_->client.status().ticks_received) + " received";
}

net::ClientSettings PeerNode::settings(Micros at) {
    net::ClientSettings settings;
    settings.server = world_.server;
    settings.mode = world_.plan.mode;
    settings.key = world_.room_key;
    settings.role = role_;
    settings.name = "peer " + std::to_string(number_);
    settings.ticket = ticket_;
    settings.simulation = world_.game.make()->info();
    settings.proposal = world_.plan.setup;
    settings.neutral = world_.game.neutral;
    if (settings.mode == net::wire::Mode::token) {
        add_token(at, settings);
    }
    return settings;
}

void PeerNode::add_token(Micros at, net::ClientSettings& settings) {
    net::TokenClaims claims;
    entropy_.fill(claims.id);
    entropy_.fill(claims.keys.up.bytes);
    entropy_.fill(claims.keys.down.bytes);
    claims.player_id = number_;
    claims.role = role_;
    claims.issued_unix_s = wall_clock_start + static_cast<std::uint64_t>(at.value / 1'000'000);
    const auto token = net::seal_token(claims, world_.room_key, entropy_);
    if (!token) {
        world_.fail(at, "no token: " + to_string(token.error()));
        return;
    }
    settings.token = *token;
    settings.token_keys = claims.keys;
}

void PeerNode::connect(Micros at) {
    reconnect_at_ = net::never;
    playing_since_ = net::never;
    net::ClientSettings wanted = settings(at);
    std::unique_ptr<Simulation> kept;
    if (session_ && session_->driver && ticket_ && !session_->differs) {
        // After a loss, unlike after a crash, the game still stands where it was.
        wanted.resume_from = session_->simulation->tick();
        wanted.resume_chain = session_->client.chain();
        kept = std::move(session_->simulation);
    }
    auto client = net::Client::create(std::move(wanted), entropy_);
    if (!client) {
        world_.fail(at, "no client: " + to_string(client.error()));
        return;
    }
    session_ = std::make_unique<Session>(std::move(*client));
    session_->kept = std::move(kept);
    world_.note(
        at, "peer " + std::to_string(number_) + " connects" + (ticket_ ? " with its ticket" : ""));
}

void PeerNode::receive(Micros at, const net::Address& source, ByteView bytes) {
    now_ = at;
    if (session_) {
        session_->client.receive(local(at), source, bytes, outbox_);
        time_ticks(at);
    }
}

void PeerNode::run(Micros at) {
    now_ = at;
    if (at >= reconnect_at_) {
        connect(at);
    }
    if (!session_) {
        return;
    }
    session_->client.advance(local(at), outbox_);
    time_ticks(at);
    if (give_inputs(at)) {
        session_->client.advance(local(at), outbox_);
    }
    if (at >= next_frame_) {
        next_frame_ = at + frame_period_;
        play(at);
    }
    if (session_ && session_->client.state() == ClientState::closed) {
        handle_closed(at);
    }
}

Micros PeerNode::wanted_wake(Micros) const {
    if (!session_) {
        return reconnect_at_;
    }
    if (session_->client.state() == ClientState::closed) {
        return session_->close_seen
                   ? std::min(reconnect_at_, true_time(session_->client.next_wake()))
                   : Micros{};
    }
    return std::min({next_frame_, true_time(session_->client.next_wake()), reconnect_at_});
}

void PeerNode::handle_closed(Micros at) {
    if (std::exchange(session_->close_seen, true)) {
        return;
    }
    if (reconnect_at_ != net::never || leaving_ || !here_ || gone_for_good_) {
        return;
    }
    const CloseReason reason = session_->client.close_reason();
    const std::string text = describe();
    world_.note(at, text);
    if (session_->client.has_slot()) {
        ticket_ = session_->client.ticket();
    }
    switch (reason) {
    case CloseReason::full:
        was_full_ = true;
        reconnect_at_ = at + net::seconds(2);
        break;
    case CloseReason::none:
    case CloseReason::timed_out:
    case CloseReason::too_slow:
        reconnect_at_ = at + milliseconds(300);
        break;
    case CloseReason::match_ended:
        gone_for_good_ = true;
        break;
    case CloseReason::diverged:
        gone_for_good_ = true;
        if (!lying_) {
            world_.fail(at, text + ", and did not lie");
        }
        break;
    default:
        // A CONNECT that was corrupted on its way is refused in clear, as it has to be; whoever
        // sits there tries again.
        if (link_is_corrupting_ && session_->timed == 0 && !session_->driver) {
            reconnect_at_ = at + net::seconds(1);
            break;
        }
        // A server forgets a handshake that it heard no more of, but not its token, whose keys must
        // never be used twice: whoever lost the answers that long asks for another token.
        if (world_.plan.mode == net::wire::Mode::token && reason == CloseReason::not_admitted &&
            at - connecting_since_ >= net::HostSettings{}.pending_timeout) {
            reconnect_at_ = at + net::seconds(1);
            break;
        }
        // Nobody who plays by the rules is to be thrown out.
        world_.fail(at, text);
        gone_for_good_ = true;
        break;
    }
}

void PeerNode::play(Micros at) {
    net::Client& client = session_->client;
    if (client.state() == ClientState::preparing) {
        prepare(at);
    }
    if (!session_ || !session_->driver || client.state() == ClientState::closed) {
        return;
    }
    if (client.state() == ClientState::playing && playing_since_ == net::never) {
        playing_since_ = at;
        was_full_ = false;
        ticket_ = client.has_slot() ? std::optional(client.ticket()) : ticket_;
        ++numbers_.joins;
        numbers_.join_time_max = std::max(numbers_.join_time_max, at - connecting_since_);
        world_.note(at, "peer " + std::to_string(number_) + " plays");
    }
    constexpr std::uint64_t catch_up_steps = 16;
    const Result<Advance> advanced = session_->driver->advance(catch_up_steps);
    if (!advanced) {
        world_.fail(at, describe() + ": " + to_string(advanced.error()));
        gone_for_good_ = true;
        session_.reset();
        return;
    }
    donate(at);
}

bool PeerNode::give_inputs(Micros at) {
    net::Client& client = session_->client;
    bool gave = false;
    while (role_ == net::Role::player && client.inputs_wanted(local(at)) > 0) {
        const Tick tick = client.input_tick();
        input_.clear();
        if (world_.options.inputs) {
            world_.options.inputs(number_, tick, input_);
        } else {
            Random random(world_.plan.setup.seed, tick, 1U + number_);
            world_.game.bot(random, tick, Slot{number_}, input_);
        }
        client.give_input(input_);
        gave = true;
    }
    return gave;
}

void PeerNode::prepare(Micros at) {
    net::Client& client = session_->client;
    const auto setup = setup_of(client.manifest());
    const net::JoinSnapshot* snapshot = client.snapshot();
    const bool resumes = session_->kept != nullptr && snapshot == nullptr &&
                         session_->kept->tick() == client.first_tick();
    auto simulation = resumes ? std::move(session_->kept) : world_.game.make();
    Result<void> stands;
    if (!resumes) {
        stands = setup ? simulation->reset(*setup) : tl::unexpected<Error>(setup.error());
    }
    if (stands && snapshot != nullptr) {
        stands = simulation->load(snapshot->bytes);
    }
    if (!stands) {
        world_.fail(at, describe() + ": cannot prepare: " + to_string(stands.error()));
        gone_for_good_ = true;
        session_.reset();
        return;
    }
    session_->simulation = std::move(simulation);
    session_->driver = std::make_unique<Driver>(*session_->simulation, *this);
    session_->driver->add(*this);
    session_->timed = session_->simulation->tick().value;
    session_->compared_start = false;
    session_->differs = false;
    if (snapshot != nullptr) {
        snapshot_at_ = at;
    }
    const bool planted = world_.options.plant == Plant::bad_snapshot && snapshot != nullptr &&
                         world_.options.plant_peer == number_;
    if (planted) {
        flip_bit();
    }
    world_.note(at,
                "peer " + std::to_string(number_) + " begins at tick " +
                    std::to_string(session_->simulation->tick().value) +
                    (resumes ? ", resumed" : ""));
    client.ready(local(at));
}

void PeerNode::donate(Micros at) {
    const std::optional<Tick> wanted = session_->client.snapshot_wanted();
    if (wanted && session_->simulation->tick() >= *wanted) {
        Bytes snapshot;
        session_->simulation->save(snapshot);
        session_->client.give_snapshot(local(at), session_->simulation->tick(), snapshot);
    }
}

void PeerNode::flip_bit() {
    // From the end, which belongs to the last section of every game's state: what is loaded must be
    // a state, and the last bytes of some games are the count of something.
    Bytes snapshot;
    session_->simulation->save(snapshot);
    world_.plant_fired = true;
    for (std::size_t i = snapshot.size(); i-- > 0;) {
        snapshot[i] ^= std::byte{1};
        if (session_->simulation->load(snapshot)) {
            return;
        }
        snapshot[i] ^= std::byte{1};
    }
    world_.fail(now_, "no planted bit can be loaded");
}

Result<Supply> PeerNode::next(Tick tick, TickFrame& frame) {
    const MatchOptions& options = world_.options;
    const bool planted = options.plant_peer == number_ && options.plant_tick == tick;
    if (planted && options.plant == Plant::flipped_bit && !world_.plant_fired) {
        flip_bit();
    }
    Result<Supply> supply = session_->client.next(tick, frame);
    if (!planted || !supply || *supply != Supply::ready) {
        return supply;
    }
    if (options.plant == Plant::lost_peer && !world_.plant_fired) {
        // It stops and does not try again, although it could.
        world_.plant_fired = true;
        gone_for_good_ = true;
        session_->client.leave(local(now_));
    }
    if (options.plant == Plant::different_tick) {
        Bytes other(frame.input(Slot{0}).begin(), frame.input(Slot{0}).end());
        other.resize(std::max<std::size_t>(1, other.size()));
        other.front() ^= std::byte{1};
        frame.set_input(Slot{0}, other);
        world_.plant_fired = true;
    }
    if (options.plant == Plant::skipped_input) {
        TickFrame cut;
        cut.reset(tick, frame.slot_count());
        for (std::uint16_t slot = 1; slot < frame.slot_count(); ++slot) {
            if (frame.at(Slot{slot}).present) {
                cut.set_input(
                    Slot{slot}, frame.input(Slot{slot}), frame.at(Slot{slot}).substituted);
            }
        }
        frame = cut;
        world_.plant_fired = true;
    }
    return supply;
}

void PeerNode::before(const TickBegin& begin) {
    if (!session_->compared_start) {
        session_->compared_start = true;
        compare_state(begin.hashes);
    }
    const std::uint64_t tick = begin.tick.value;
    if (tick >= world_.truth.frames.size()) {
        world_.fail(now_, describe() + ": plays a tick that is not closed");
    } else if (checksum64(begin.encoded) != world_.truth.frames[tick]) {
        world_.fail(now_,
                    "peer " + std::to_string(number_) + " has other bytes for tick " +
                        std::to_string(tick));
    } else {
        ++numbers_.frames_compared;
    }
}

void PeerNode::after(const StateHashes& hashes) {
    compare_state(hashes);
    if (lying_) {
        StateHashes lie = hashes;
        lie.state.low ^= 1U;
        lie.sections.back().hash.low ^= 1U;
        // Who is still catching up is absent to the server and owes it no report.
        const std::uint64_t behind = world_.truth.frames.size() - hashes.tick.value;
        lies_told_ += behind * world_.rate.den <= 2 * std::uint64_t{world_.rate.num} ? 1 : 0;
        if (session_->client.has_slot()) {
            slots_lied_in_.insert(session_->client.slot().value);
        }
        session_->client.report(lie);
        return;
    }
    session_->client.report(hashes);
}

void PeerNode::compare_state(const StateHashes& hashes) {
    const std::uint64_t tick = hashes.tick.value;
    if (tick >= world_.truth.states.size()) {
        world_.fail(now_, describe() + ": is ahead of the server");
    } else if (hashes.state != world_.truth.states[tick]) {
        // All later states differ as well: one line says so.
        if (!std::exchange(session_->differs, true)) {
            world_.fail(now_,
                        "peer " + std::to_string(number_) + " has another state " +
                            std::to_string(tick));
        }
    } else {
        ++numbers_.hashes_compared;
    }
}

void PeerNode::time_ticks(Micros at) {
    const std::uint64_t received = session_->client.status().ticks_received;
    if (!session_->driver) {
        return;
    }
    for (; session_->timed < received; ++session_->timed) {
        const std::uint64_t tick = session_->timed;
        if (tick >= world_.truth.closed_at.size()) {
            world_.fail(at, describe() + ": has a tick before it is closed");
            session_->timed = received;
            return;
        }
        // The first two seconds after coming in are for finding the right input delay.
        if (playing_since_ == net::never || at < playing_since_ + net::seconds(2)) {
            continue;
        }
        const Micros latency = at - world_.truth.closed_at[tick];
        latency_.push_back(latency);
        lateness_.push_back(at - tick_time(world_.rate, tick));
        numbers_.latency_max = std::max(numbers_.latency_max, latency);
        ++numbers_.ticks_timed;
    }
}

void PeerNode::finish_numbers() {
    numbers_.late_50ms = late_after_fastest(latency_);
    numbers_.late_50ms_since_due = late_after_fastest(lateness_);
    if (session_) {
        const net::ClientStatus& status = session_->client.status();
        numbers_.datagrams_up = status.datagrams_sent;
        numbers_.bytes_up = status.bytes_sent;
        numbers_.substituted = status.substituted;
        numbers_.delay_ticks = status.delay_ticks;
    }
}

} // namespace twinstep::tools::netsim
