// SPDX-License-Identifier: MIT
// The server's side of a simulated match.
#include "netsim_host.hpp"

#include "twinstep/sim/manifest.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::tools::netsim {

using net::Micros;
using net::milliseconds;

namespace {

/// Keeps the recording in memory; may lose one record, to prove that this is found.
class RecordingSink final : public replay::FileSink {
public:
    RecordingSink(Bytes& target, std::optional<std::uint64_t> lost_write)
        : target_(target)
        , lost_write_(lost_write) {}

    std::size_t write(ByteView bytes, std::error_code&) override {
        if (lost_write_ != writes_++) {
            target_.insert(target_.end(), bytes.begin(), bytes.end());
        }
        return bytes.size();
    }

    std::error_code truncate(std::uint64_t size) override {
        target_.resize(static_cast<std::size_t>(size));
        return {};
    }

    std::error_code sync() override { return {}; }

    std::error_code close() override { return {}; }

private:
    Bytes& target_;
    std::optional<std::uint64_t> lost_write_;
    std::uint64_t writes_ = 0;
};

} // namespace

HostNode::HostNode(World& world, net::NodeIndex index)
    : Node(world, index, clock_in(world, 0))
    , entropy_(world.plan.seed, 1) {}

HostNode::~HostNode() = default;

net::HostSettings HostNode::host_settings() const {
    net::HostSettings settings;
    settings.mode = world_.plan.mode;
    settings.key = world_.room_key;
    settings.started_unix_s = wall_clock_start;
    return settings;
}

net::MatchSettings HostNode::match_settings() const {
    const Plan& plan = world_.plan;
    net::MatchSettings settings;
    settings.tick_rate = world_.rate;
    settings.slots = plan.slots;
    // Who may be gone before the match begins is not waited for.
    std::uint16_t start_players = 0;
    for (std::uint16_t peer = 1; peer <= plan.peers; ++peer) {
        const bool may_be_gone =
            std::any_of(plan.faults.begin(), plan.faults.end(), [peer](const Fault& fault) {
                return fault.peer == peer &&
                       (fault.kind == FaultKind::late ||
                        ((fault.kind == FaultKind::crash || fault.kind == FaultKind::leave) &&
                         fault.at < net::seconds(20)));
            });
        start_players = static_cast<std::uint16_t>(start_players + (may_be_gone ? 0 : 1));
    }
    settings.start_players = std::max<std::uint16_t>(1, start_players);
    settings.policy = plan.policy;
    settings.authority = plan.authority;
    settings.filler = plan.filler;
    settings.grace = plan.grace;
    settings.spectator_delay = plan.spectator_delay;
    settings.hash_interval_ticks = plan.hash_interval_ticks;
    settings.neutral = world_.game.neutral;
    settings.input_bytes_max =
        static_cast<std::uint16_t>(std::min<std::size_t>(64, 1'000U / settings.slots - 2));
    settings.accepts_input = world_.game.accepts;
    settings.manifest = make_manifest(simulation_->info(), plan.setup);
    return settings;
}

Result<void> HostNode::start(Micros at) {
    now_ = at;
    simulation_ = world_.game.make();
    if (Result<void> reset = simulation_->reset(world_.plan.setup); !reset) {
        return reset;
    }
    auto host = net::Host::create(host_settings(), *this, entropy_);
    if (!host) {
        return fail(host.error());
    }
    host_.emplace(std::move(*host));
    host_->set_wall_clock(wall_clock_start);
    auto match = host_->open_match(match_settings());
    if (!match) {
        return fail(match.error());
    }
    match_ = *match;
    server_.emplace(*simulation_);
    if (world_.options.record) {
        // The head is the first write; then each tick has one until a chunk ends.
        std::optional<std::uint64_t> lost;
        if (world_.options.plant == Plant::dropped_record) {
            lost = world_.options.plant_tick.value + 2;
        }
        replay::RecorderOptions options;
        options.session.emplace();
        auto recorder = replay::Recorder::create(
            std::make_unique<RecordingSink>(recording_, lost), *simulation_, options);
        if (!recorder) {
            return fail(recorder.error());
        }
        recorder_.emplace(std::move(*recorder));
        server_->add(*recorder_);
    }
    server_->add(*this);
    world_.truth.states.push_back(simulation_->hash().state);
    plan_wake(at);
    return {};
}

void HostNode::receive(Micros at, const net::Address& source, ByteView bytes) {
    now_ = at;
    host_->receive(local(at), source, bytes, outbox_);
    simulate(at);
}

void HostNode::run(Micros at) {
    now_ = at;
    host_->set_wall_clock(wall_clock_start + static_cast<std::uint64_t>(at.value / 1'000'000));
    host_->advance(local(at), outbox_);
    simulate(at);
    if (++runs_ % 64 == 0) {
        check_memory(at);
    }
}

Micros HostNode::wanted_wake(Micros) const {
    return true_time(host_->next_wake());
}

void HostNode::end(Micros at) {
    now_ = at;
    match_->end(local(at), net::CloseReason::match_ended);
    plan_wake(at);
}

void HostNode::check_memory(Micros) {
    memory_max_ = std::max(memory_max_, host_->memory_bytes() + match_->memory_bytes());
}

void HostNode::simulate(Micros at) {
    const bool is_judge = world_.plan.authority == net::Authority::simulation;
    for (std::uint64_t steps = 1; steps != 0;) {
        const Result<Advance> advanced = server_->advance(UINT64_MAX);
        if (!advanced) {
            world_.fail(at, "the server's simulation stops: " + to_string(advanced.error()));
            return;
        }
        steps = advanced->ticks;
        for (const StateHashes* hashes = server_->hashes(); hashes != nullptr;
             hashes = server_->hashes()) {
            if (is_judge) {
                match_->give_hashes(*hashes);
            }
            server_->take_hashes();
        }
    }
    if (server_->snapshot_tick()) {
        match_->give_snapshot(local(at), *server_->snapshot_tick(), server_->snapshot());
        server_->take_snapshot();
    }
}

void HostNode::on_closed(net::MatchId, Tick tick, ByteView frame, Micros late) {
    Truth& truth = world_.truth;
    if (tick.value != truth.frames.size()) {
        world_.fail(now_,
                    "tick " + std::to_string(tick.value) + " is closed after " +
                        std::to_string(truth.frames.size()) + " ticks");
        return;
    }
    truth.frames.push_back(checksum64(frame));
    truth.closed_at.push_back(now_);
    if (!server_->offer(tick, frame)) {
        world_.fail(now_, "the server's simulation takes no more ticks");
    }
    late_closes_ += late > world_.plan.grace + tick_time(world_.rate, 2) ? 1U : 0U;
    world_.network.log().mix(
        static_cast<std::uint64_t>(now_.value), tick.value, truth.frames.back());
    if (world_.options.plant == Plant::false_blame && tick == world_.options.plant_tick) {
        world_.plant_fired = true;
        on_verdict(1, {net::wire::Blame::peer, tick.value, true, Slot{0}, {}});
    }
    if (world_.options.plant == Plant::closed_twice && tick == world_.options.plant_tick) {
        world_.plant_fired = true;
        on_closed(1, tick, frame, late);
    }
}

void HostNode::on_snapshot_wanted(net::MatchId, Tick tick) {
    world_.note(now_, "snapshot wanted of tick " + std::to_string(tick.value));
    server_->want_snapshot(tick);
}

void HostNode::on_player(net::MatchId, Slot slot, net::PlayerState state, Tick tick) {
    world_.note(now_,
                "slot " + std::to_string(slot.value) + " is " + std::string(to_string(state)) +
                    " from tick " + std::to_string(tick.value));
}

void HostNode::on_verdict(net::MatchId, const net::wire::Verdict& verdict) {
    Blamed blamed{verdict.blame, Tick{verdict.tick}, {}, std::string(verdict.section), now_};
    if (verdict.has_slot) {
        blamed.slot = verdict.slot;
    }
    world_.note(
        now_,
        "verdict: " + (blamed.slot ? "slot " + std::to_string(blamed.slot->value) : "nobody") +
            (verdict.blame == net::wire::Blame::disputed ? " (disputed)" : "") + ", tick " +
            std::to_string(verdict.tick) + ", section " + blamed.section);
    if (world_.options.plant == Plant::no_blame) {
        world_.plant_fired = true;
        return;
    }
    blamed_.push_back(std::move(blamed));
}

void HostNode::on_manifest(net::MatchId, const Manifest&) {
    world_.note(now_, "the match has its manifest");
}

void HostNode::on_note(net::MatchId, std::string_view event, std::string_view details) {
    world_.note(now_, "server: " + std::string(event) + " " + std::string(details));
}

void HostNode::after(const StateHashes& hashes) {
    world_.truth.states.push_back(hashes.state);
}

Result<Bytes> HostNode::finish_recording() {
    if (Result<void> closed = recorder_->close(); !closed) {
        return tl::unexpected<Error>(closed.error());
    }
    return recording_;
}

} // namespace twinstep::tools::netsim
