// SPDX-License-Identifier: MIT
// The server of a simulated match: host, one match, its simulation and its recorder.
#pragma once

#include "netsim_world.hpp"

#include "twinstep/net/host.hpp"
#include "twinstep/net/match.hpp"
#include "twinstep/net/server_simulation.hpp"
#include "twinstep/replay/recorder.hpp"
#include "twinstep/sim/driver.hpp"

#include <memory>
#include <optional>
#include <string>

namespace twinstep::tools::netsim {

/// The server. Its own simulation is the oracle in every match; it is the match's authority too
/// where the plan says so. Everything that is closed goes through it and into the recording.
class HostNode final : public Node, public net::MatchEvents, public Observer {
public:
    HostNode(World& world, net::NodeIndex index);
    ~HostNode() override;

    /// Errors: what host, match, simulation or recorder refuse.
    Result<void> start(net::Micros at);

    net::Match& match() { return *match_; }

    const net::Host& host() const { return *host_; }

    const std::vector<Blamed>& blamed() const { return blamed_; }

    /// The simulation at the last closed tick.
    Simulation& simulation() { return *simulation_; }

    /// Ends the match.
    void end(net::Micros at);
    /// Closes the recording and gives its bytes.
    Result<Bytes> finish_recording();

    std::uint64_t late_closes() const { return late_closes_; }

    std::size_t memory_max() const { return memory_max_; }

private:
    void receive(net::Micros at, const net::Address& source, ByteView bytes) override;
    void run(net::Micros at) override;
    net::Micros wanted_wake(net::Micros at) const override;

    void on_closed(net::MatchId match, Tick tick, ByteView frame, net::Micros late) override;
    void on_snapshot_wanted(net::MatchId match, Tick tick) override;
    void on_player(net::MatchId match, Slot slot, net::PlayerState state, Tick tick) override;
    void on_verdict(net::MatchId match, const net::wire::Verdict& verdict) override;
    void on_manifest(net::MatchId match, const Manifest& manifest) override;
    void on_note(net::MatchId match, std::string_view event, std::string_view details) override;

    void after(const StateHashes& hashes) override;

    net::HostSettings host_settings() const;
    net::MatchSettings match_settings() const;
    void simulate(net::Micros at);
    void check_memory(net::Micros at);

    net::SeededEntropy entropy_;
    std::optional<net::Host> host_;
    net::Match* match_ = nullptr;
    std::unique_ptr<Simulation> simulation_;
    Bytes recording_;
    std::optional<replay::Recorder> recorder_;
    std::optional<net::ServerSimulation> server_;
    std::vector<Blamed> blamed_;
    net::Micros now_; ///< True time of the call under way.
    std::uint64_t late_closes_ = 0;
    std::size_t memory_max_ = 0;
    std::uint64_t runs_ = 0;
};

} // namespace twinstep::tools::netsim
