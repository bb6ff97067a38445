// SPDX-License-Identifier: MIT
// One run of a simulated match: its nodes, its event loop, its checks.
#pragma once

#include "netsim_host.hpp"
#include "netsim_match.hpp"
#include "netsim_peer.hpp"
#include "netsim_rogue.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace twinstep::tools::netsim {

/// Something that happens at a time of the plan.
struct Action {
    net::Micros at;
    std::size_t order = 0; ///< Of the fault in the plan: ties are broken by it.
    bool begins = true;
    Fault fault;
};

class MatchRun {
public:
    MatchRun(const GameEntry& game, const Plan& plan, const MatchOptions& options)
        : world_(game, plan, options) {}

    MatchReport run();

private:
    bool set_up();
    void add_peers();
    void add_actions();
    void loop();
    void act(const Action& action);
    void act_on_peer(const Action& action, PeerNode& peer);
    void refresh_link(PeerNode& peer);
    bool step(net::Micros until);
    bool is_over() const;
    void check_end();
    void check_liveness();
    void check_blame();
    void check_recording();
    void check_bounds();
    void fill(MatchReport& report);
    void capture_datagram(const net::Delivery& delivery);
    PeerNode* peer(std::uint16_t number);

    World world_;
    std::unique_ptr<HostNode> host_;
    std::vector<std::unique_ptr<PeerNode>> peers_;
    std::vector<std::unique_ptr<RogueNode>> rogues_;
    std::vector<Node*> nodes_; ///< By index in the network.
    std::vector<Action> actions_;
    std::size_t next_action_ = 0;
    net::Micros now_;
    std::vector<std::string> capture_;
    std::uint64_t recording_frames_ = 0;
    std::uint64_t recording_hashes_ = 0;
    std::uint64_t steady_from_ = 0; ///< Tick from which traffic is counted.
    std::uint64_t steady_until_ = 0;
    net::HostStatus before_;
    net::HostStatus after_;
};

} // namespace twinstep::tools::netsim
