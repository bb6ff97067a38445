// SPDX-License-Identifier: MIT
// A joined match from the handshake to the goodbye: client, port, simulation, driver, observers.
#pragma once

#include "command.hpp"
#include "evidence.hpp"
#include "join_inputs.hpp"

#include "twinstep/net/client.hpp"
#include "twinstep/net/udp_port.hpp"
#include "twinstep/replay/recorder.hpp"
#include "twinstep/sim/driver.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twinstep::tools {

/// The options of join.
struct JoinOptions {
    std::string server;
    std::string game;
    std::optional<std::string> from;
    std::optional<std::uint64_t> bot;
    bool spectate = false;
    bool insecure_loopback = false;
    std::optional<std::uint64_t> ticks;
    std::string key_file;
    std::string output;
    std::uint64_t match = 0;
    std::string name;
    std::string ticket_file;
    std::string evidence_dir;
    std::uint64_t seed = 1;
    std::optional<std::uint16_t> slots;
    std::uint64_t connect_seconds = 10;
    std::optional<std::uint64_t> plant_fault;
};

/// How a match went.
struct JoinReport {
    std::uint64_t ticks = 0; ///< The state that was reached.
    std::string final_hash;  ///< Of that state.
    std::vector<Divergence> divergences;
    std::vector<std::string> evidence; ///< Files that were written.
    std::string recording_error;       ///< Why the recording is not whole, or empty.
    bool reached = false;              ///< All the ticks that were asked for.
};

/// Plays one match with one connection. Thread: one owner.
class JoinSession {
public:
    JoinSession(const JoinOptions& options,
                const GameEntry& entry,
                net::UdpPort port,
                net::Client client);

    /// Until the match is over, the ticks are played, the connection is lost or somebody says stop.
    /// Errors: a recording, source or state that failed on this side; how the connection ended is
    /// asked of client().
    Result<JoinReport> run();

    net::Client& client() { return client_; }

private:
    Result<void> turn(net::Micros now);
    Result<void> prepare(net::Micros now);
    Result<void> give_inputs(net::Micros now);
    Result<void> play(net::Micros now);
    /// A relay has no simulation: a player gives a joiner the state to begin from.
    void donate(net::Micros now);
    Result<void> start_recording();
    void keep_ticket();
    void take_verdict();
    void show_progress(net::Micros now);
    std::uint64_t target() const;

    const JoinOptions& options_;
    const GameEntry& entry_;
    net::UdpPort port_;
    net::Client client_;
    std::unique_ptr<Simulation> simulation_;
    net::LockstepSource source_;
    net::HashReporter reporter_;
    std::optional<JoinInputs> inputs_;
    std::optional<replay::Recorder> recorder_;
    std::optional<EvidenceRing> evidence_;
    std::optional<Driver> driver_;
    Bytes snapshot_;
    std::string ticket_text_;
    net::Micros shown_;
    std::optional<net::Micros> leaving_since_;
    bool ended_ = false;
    JoinReport report_;
};

/// Makes SIGINT, SIGTERM and SIGHUP (unless it is ignored) a wish to leave.
void heed_stop_signals();

/// The ticket in a file; nothing if there is no such file. Errors: malformed, io_error.
Result<std::optional<net::wire::Random16>> read_ticket(const std::string& path);

} // namespace twinstep::tools
