// SPDX-License-Identifier: MIT
// A player or spectator of a simulated match: a client with a real game behind it.
#pragma once

#include "netsim_world.hpp"

#include "twinstep/net/client.hpp"
#include "twinstep/sim/driver.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace twinstep::tools::netsim {

/// A peer. It compares every tick it plays, and every state it reaches, with the server's at once.
class PeerNode final : public Node, public Observer, public Source {
public:
    PeerNode(World& world, net::NodeIndex index, std::uint16_t number, net::Role role);
    ~PeerNode() override;

    std::uint16_t number() const { return number_; }

    net::Role role() const { return role_; }

    // What the plan does to it.
    void start(net::Micros at);
    void crash(net::Micros at);
    void come_back(net::Micros at, bool with_ticket);
    void leave(net::Micros at);
    void lie(net::Micros at);

    /// It is to be there: neither crashed nor gone, and not a liar.
    bool is_expected() const { return here_ && !leaving_ && !lying_; }

    bool is_lying() const { return lying_; }

    bool is_here() const { return here_; }

    bool is_leaving() const { return leaving_; }

    /// Wrong hashes that it reported of the last two seconds' states: the server may have taken
    /// notice of so many.
    std::uint64_t lies_told() const { return lies_told_; }

    bool is_playing() const;
    /// The tick its simulation takes next.
    std::uint64_t tick() const;
    std::optional<Slot> slot() const;

    /// Slots it has lied in.
    const std::set<std::uint16_t>& slots_lied_in() const { return slots_lied_in_; }

    /// Why it is not playing, for people.
    std::string describe() const;

    /// No slot was free when it came back without its ticket.
    bool was_full() const { return was_full_; }

    bool closed_as(net::CloseReason reason) const;

    /// It had a snapshot lately: the server gives nobody a second one within 30 s.
    bool waits_for_snapshot(net::Micros at) const {
        return snapshot_at_ != net::never && at < snapshot_at_ + net::seconds(34);
    }

    const PeerNumbers& numbers() const { return numbers_; }

    /// Bytes of the 50 ms rule: the latencies of all ticks.
    void finish_numbers();

    /// From then on, nothing acts on its link: what is late now is somebody else's fault.
    void set_disturbed_until(net::Micros until) {
        disturbed_until_ = std::max(disturbed_until_, until);
    }

    void set_link(const BaseLink& link) { link_ = link; }

private:
    struct Session;

    void receive(net::Micros at, const net::Address& source, ByteView bytes) override;
    void run(net::Micros at) override;
    net::Micros wanted_wake(net::Micros at) const override;

    Result<Supply> next(Tick tick, TickFrame& frame) override;

    std::string_view waiting_for() const override { return {}; }

    void before(const TickBegin& begin) override;
    void after(const StateHashes& hashes) override;

    void connect(net::Micros at);
    net::ClientSettings settings(net::Micros at);
    void add_token(net::Micros at, net::ClientSettings& settings);
    void prepare(net::Micros at);
    void play(net::Micros at);
    bool give_inputs(net::Micros at);
    void donate(net::Micros at);
    void time_ticks(net::Micros at);
    void handle_closed(net::Micros at);
    void compare_state(const StateHashes& hashes);
    void flip_bit();

    std::uint16_t number_;
    net::Role role_;
    net::SeededEntropy entropy_;
    net::Micros frame_period_;
    net::Micros next_frame_;
    std::unique_ptr<Session> session_;
    std::optional<net::wire::Random16> ticket_;
    std::set<std::uint16_t> slots_lied_in_;
    bool here_ = false;
    bool leaving_ = false;
    bool lying_ = false;
    bool was_full_ = false;
    bool gone_for_good_ = false;
    bool link_is_corrupting_ = false; ///< At some time of the match.
    std::uint64_t lies_told_ = 0;
    net::Micros connecting_since_;
    net::Micros reconnect_at_ = net::never;
    net::Micros disturbed_until_;
    net::Micros snapshot_at_ = net::never;
    net::Micros playing_since_ = net::never;
    net::Micros now_;
    BaseLink link_;
    Bytes input_;
    std::vector<net::Micros> latency_;  ///< Of each tick timed: there, minus closed.
    std::vector<net::Micros> lateness_; ///< Of each tick timed: there, minus due.
    PeerNumbers numbers_;
};

} // namespace twinstep::tools::netsim
