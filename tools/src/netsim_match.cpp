// SPDX-License-Identifier: MIT
// The event loop of a simulated match: what the plan says, what arrives, who wakes.
#include "netsim_match.hpp"

#include "netsim_run.hpp"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

namespace twinstep::tools::netsim {

using net::Micros;
using net::milliseconds;

namespace {

/// Every node has a network prefix of its own, except in plain mode, which is for loopback only.
net::Address address_for(const Plan& plan, std::uint16_t number) {
    net::Address address;
    address.port = static_cast<std::uint16_t>(7'000 + number);
    address.ip[15] = 1;
    if (plan.mode != net::wire::Mode::plain) {
        address.ip = {0x20, 0x01, 0x0d, 0xb8};
        address.ip[6] = static_cast<std::uint8_t>(number >> 8U);
        address.ip[7] = static_cast<std::uint8_t>(number);
        address.ip[15] = 1;
    }
    return address;
}

} // namespace

bool MatchRun::set_up() {
    const Plan& plan = world_.plan;
    world_.rate = world_.game.make()->info().tick_rate;
    net::SeededEntropy(plan.seed, 2).fill(world_.room_key.bytes);
    world_.server = address_for(plan, 0);
    const net::NodeIndex index = world_.network.add_node(world_.server);
    host_ = std::make_unique<HostNode>(world_, index);
    nodes_.push_back(host_.get());
    if (const Result<void> started = host_->start({}); !started) {
        world_.fail({}, "the server does not start: " + to_string(started.error()));
        return false;
    }
    add_peers();
    add_actions();
    return true;
}

void MatchRun::add_peers() {
    const Plan& plan = world_.plan;
    const auto all = static_cast<std::uint16_t>(plan.peers + plan.spectators);
    for (std::uint16_t number = 1; number <= all; ++number) {
        const net::NodeIndex index = world_.network.add_node(address_for(plan, number));
        const net::Role role = number <= plan.peers ? net::Role::player : net::Role::spectator;
        peers_.push_back(std::make_unique<PeerNode>(world_, index, number, role));
        nodes_.push_back(peers_.back().get());
        refresh_link(*peers_.back());
    }
    for (const Fault& fault : plan.faults) {
        if (is_rogue(fault.kind)) {
            const auto number = static_cast<std::uint16_t>(100 + rogues_.size());
            const net::NodeIndex index = world_.network.add_node(address_for(plan, number));
            const BaseLink link = base_link(plan.seed, number);
            world_.network.set_conditions(index, 0, link.up);
            world_.network.set_conditions(0, index, link.down);
            rogues_.push_back(std::make_unique<RogueNode>(world_, index, number, fault));
            nodes_.push_back(rogues_.back().get());
        }
    }
}

void MatchRun::add_actions() {
    const std::vector<Fault>& faults = world_.plan.faults;
    for (std::size_t i = 0; i < faults.size(); ++i) {
        actions_.push_back({faults[i].at, i, true, faults[i]});
        actions_.push_back({faults[i].at + faults[i].length, i, false, faults[i]});
    }
    std::sort(actions_.begin(), actions_.end(), [](const Action& a, const Action& b) {
        return std::tuple(a.at, a.order, !a.begins) < std::tuple(b.at, b.order, !b.begins);
    });
    for (const std::unique_ptr<PeerNode>& each : peers_) {
        const bool is_late = std::any_of(faults.begin(), faults.end(), [&each](const Fault& fault) {
            return fault.kind == FaultKind::late && fault.peer == each->number();
        });
        if (!is_late) {
            // People do not come at the same moment.
            Random random(world_.plan.seed, Tick{3}, each->number());
            actions_.push_back({Micros{random.below(400'000)},
                                SIZE_MAX,
                                true,
                                {FaultKind::late, each->number(), {}, {}, 0}});
        }
    }
    std::stable_sort(actions_.begin(), actions_.end(), [](const Action& a, const Action& b) {
        return a.at < b.at;
    });
}

PeerNode* MatchRun::peer(std::uint16_t number) {
    return number >= 1 && number <= peers_.size() ? peers_[number - 1U].get() : nullptr;
}

void MatchRun::refresh_link(PeerNode& each) {
    BaseLink link =
        world_.options.link ? *world_.options.link : link_at(world_.plan, each.number(), now_);
    each.set_link(link);
    world_.network.set_conditions(each.index(), 0, link.up);
    world_.network.set_conditions(0, each.index(), link.down);
}

void MatchRun::act(const Action& action) {
    const Fault& fault = action.fault;
    if (action.begins && action.order != SIZE_MAX) {
        world_.note(now_, "fault " + to_string(fault));
    }
    if (is_rogue(fault.kind)) {
        for (const std::unique_ptr<RogueNode>& rogue : rogues_) {
            if (rogue->fault() == fault) {
                action.begins ? rogue->begin(now_) : rogue->stop(now_);
            }
        }
        return;
    }
    if (fault.peer == 0 && fault.kind == FaultKind::freeze && action.begins) {
        const Micros until = now_ + fault.length;
        host_->freeze(now_, until);
        world_.server_frozen_until = std::max(world_.server_frozen_until, until);
        return;
    }
    if (PeerNode* const whom = peer(fault.peer)) {
        act_on_peer(action, *whom);
    }
}

void MatchRun::act_on_peer(const Action& action, PeerNode& whom) {
    const Fault& fault = action.fault;
    // Whatever was done to it, after some seconds it is as good as the others.
    whom.set_disturbed_until(now_ + (action.begins ? fault.length : Micros{}) + net::seconds(4));
    switch (fault.kind) {
    case FaultKind::rebind:
        if (action.begins) {
            world_.network.rebind(now_, whom.index());
        }
        break;
    case FaultKind::freeze:
        if (action.begins) {
            whom.freeze(now_, now_ + fault.length);
        }
        break;
    case FaultKind::jump:
        if (action.begins) {
            whom.jump(now_, milliseconds(fault.amount));
        }
        break;
    case FaultKind::crash:
        if (action.begins) {
            whom.crash(now_);
        } else if (fault.amount != 2 && !whom.is_here()) {
            whom.come_back(now_, fault.amount == 1);
        }
        break;
    case FaultKind::leave:
        if (action.begins) {
            whom.leave(now_);
        } else if (fault.amount != 2 && whom.is_leaving()) {
            whom.come_back(now_, false);
        }
        break;
    case FaultKind::late:
        if (action.begins) {
            whom.start(now_);
        }
        break;
    case FaultKind::lie:
        if (action.begins) {
            whom.lie(now_);
        }
        break;
    default:
        refresh_link(whom);
        break;
    }
}

bool MatchRun::step(Micros until) {
    Micros next = until;
    Node* runner = nullptr;
    for (Node* each : nodes_) {
        if (each->next_wake() < next) {
            next = each->next_wake();
            runner = each;
        }
    }
    const Micros arrival = world_.network.next_arrival();
    const Micros action = next_action_ < actions_.size() ? actions_[next_action_].at : net::never;
    if (std::min({next, arrival, action}) >= until) {
        now_ = until;
        return false;
    }
    // At one time: what the plan says, then what arrives, then who wakes, in the order of nodes.
    if (action <= arrival && action <= next) {
        now_ = std::max(now_, action);
        act(actions_[next_action_++]);
    } else if (arrival <= next) {
        now_ = std::max(now_, arrival);
        net::Delivery delivery;
        if (world_.network.take(arrival, delivery)) {
            if (world_.options.capture) {
                capture_datagram(delivery);
            }
            nodes_[delivery.to]->deliver(now_, delivery.source, delivery.bytes);
        }
    } else {
        now_ = std::max(now_, next);
        runner->wake(now_);
    }
    return true;
}

bool MatchRun::is_over() const {
    return world_.truth.frames.size() >= world_.plan.ticks;
}

void MatchRun::loop() {
    // A stall or two is allowed, standing still is not.
    const Micros length = tick_time(world_.rate, world_.plan.ticks);
    const Micros limit = length + length + net::seconds(60);
    constexpr std::size_t failures_enough = 10;
    constexpr std::size_t warm_up_ticks = 300;
    while (!is_over() && world_.failures.size() < failures_enough) {
        if (!step(limit)) {
            world_.fail(now_,
                        "the match stands still: " + std::to_string(world_.truth.frames.size()) +
                            " ticks closed");
            return;
        }
        if (steady_from_ == 0 && world_.truth.frames.size() >= warm_up_ticks) {
            steady_from_ = world_.truth.frames.size();
            before_ = host_->host().status();
        }
    }
}

void MatchRun::check_end() {
    steady_until_ = world_.truth.frames.size();
    after_ = host_->host().status();
    check_liveness();
    // What was closed at the end has to arrive, and everybody has to hear of the end.
    host_->end(now_);
    const Micros until = now_ + net::seconds(4);
    while (step(until)) {
    }
    check_blame();
    check_bounds();
    if (world_.options.record) {
        check_recording();
    }
}

MatchReport MatchRun::run() {
    MatchReport report;
    if (set_up()) {
        loop();
        check_end();
        fill(report);
    }
    report.plan = world_.plan;
    report.failures = world_.failures;
    report.log = world_.network.log().lines();
    report.events = world_.network.log().events();
    report.digest = world_.network.log().digest();
    report.plant_fired = world_.plant_fired;
    return report;
}

MatchReport run_match(const GameEntry& game, const Plan& plan, const MatchOptions& options) {
    return MatchRun(game, plan, options).run();
}

} // namespace twinstep::tools::netsim
