// SPDX-License-Identifier: MIT
// The server's metrics: base units, counters end in _total, no label names a player or a match.
#include "serve_metrics_text.hpp"

#include "serve_metrics.hpp"
#include "version.hpp"

#include <iterator>

namespace twinstep::tools {

namespace {

void add_network(MetricsText& text, const MetricsSources& from) {
    const net::HostStatus& host = from.host.status();
    const net::UdpStatus& udp = from.udp;
    text.counter("twinstep_datagrams_received_total", "Datagrams that came in.");
    text.sample(udp.datagrams_received);
    text.counter("twinstep_datagrams_sent_total", "Datagrams that went out.");
    text.sample(udp.datagrams_sent);
    text.counter("twinstep_datagrams_dropped_total", "Datagrams dropped, by the gate that did it.");
    for (std::size_t i = 0; i < host.dropped.size(); ++i) {
        text.sample(host.dropped[i], {{"reason", net::to_string(static_cast<net::Drop>(i))}});
    }
    text.sample(udp.oversized, {{"reason", "oversized"}});
    text.counter("twinstep_datagrams_unsent_total", "Datagrams the system did not take.");
    text.sample(udp.send_full, {{"reason", "buffer_full"}});
    text.sample(udp.send_errors, {{"reason", "error"}});
    text.counter("twinstep_bytes_received_total", "Payload bytes that came in.");
    text.sample(host.bytes_received);
    text.counter("twinstep_bytes_sent_total", "Payload bytes that went out.");
    text.sample(host.bytes_sent);
    text.counter("twinstep_handshakes_total", "Handshakes that were decided.");
    text.sample(host.handshakes_accepted, {{"result", "accepted"}});
    text.sample(host.handshakes_refused, {{"result", "refused"}});
    text.counter("twinstep_path_changes_total", "Peers whose address changed.");
    text.sample(host.path_changes);
    text.gauge("twinstep_connections", "Connections and handshakes under way.");
    text.sample(std::uint64_t{host.peers}, {{"state", "connected"}});
    text.sample(std::uint64_t{host.pending}, {{"state", "pending"}});
    text.gauge("twinstep_network_memory_bytes", "Bytes held for peers and tables.");
    text.sample(std::uint64_t{from.host.memory_bytes()});
}

void add_matches(MetricsText& text, const MetricsSources& from) {
    const MatchTotals totals = from.matches.totals();
    text.gauge("twinstep_matches", "Open matches.");
    text.sample(totals.waiting, {{"state", "waiting"}});
    text.sample(totals.running, {{"state", "running"}});
    text.sample(totals.paused, {{"state", "paused"}});
    text.sample(totals.ending, {{"state", "ended"}});
    text.counter("twinstep_matches_opened_total", "Matches opened.");
    text.sample(totals.opened);
    text.gauge("twinstep_peers", "Slots by the state of their player, and spectators.");
    for (std::size_t i = 0; i < std::size(totals.players_by_state); ++i) {
        text.sample(
            totals.players_by_state[i],
            {{"role", "player"}, {"state", net::to_string(static_cast<net::PlayerState>(i))}});
    }
    text.sample(std::uint64_t{totals.sum.spectators}, {{"role", "spectator"}, {"state", "live"}});
    text.counter("twinstep_ticks_closed_total", "Ticks closed.");
    text.sample(totals.sum.ticks_closed);
    text.histogram("twinstep_tick_lateness_seconds",
                   "From the due time of a tick to its closing.",
                   from.matches.lateness());
    text.histogram("twinstep_step_duration_seconds",
                   "A step of the server's simulation.",
                   from.matches.step_duration());
    text.histogram("twinstep_rtt_seconds",
                   "From closing a tick to a live player's acknowledgement, each second.",
                   from.matches.round_trips());
    text.histogram("twinstep_input_margin_seconds",
                   "How early a live player's latest input of 128 ticks was, each second.",
                   from.matches.input_margins());
    text.gauge("twinstep_steps_waiting", "Closed ticks that the simulations have not reached.");
    text.sample(std::uint64_t{from.workers.waiting()});
    text.counter("twinstep_tick_overruns_total", "Ticks closed beyond the four allowed in one go.");
    text.sample(totals.sum.overruns);
    text.counter("twinstep_inputs_substituted_total", "Inputs that were not there in time.");
    text.sample(totals.sum.substituted_late, {{"reason", "late"}});
    text.sample(totals.sum.substituted_absent, {{"reason", "absent"}});
    text.counter("twinstep_inputs_refused_total", "Inputs that broke a rule.");
    text.sample(totals.sum.equivocations, {{"reason", "second_input"}});
    text.sample(totals.sum.out_of_range, {{"reason", "tick_out_of_range"}});
    text.counter("twinstep_snapshots_sent_total", "Snapshots for joiners.");
    text.sample(totals.sum.snapshots_sent);
    text.counter("twinstep_snapshot_bytes_total", "Their bytes.");
    text.sample(totals.sum.snapshot_bytes);
    text.counter("twinstep_desyncs_total", "Verdicts on states that differ.");
    text.sample(totals.desyncs_peer, {{"verdict", "peer"}});
    text.sample(totals.desyncs_disputed, {{"verdict", "disputed"}});
    text.counter("twinstep_simulation_failures_total", "Matches that could not be simulated on.");
    text.sample(totals.simulations_failed);
    text.gauge("twinstep_recording_directory_bytes", "Bytes of all recordings.");
    text.sample(from.recording_bytes);
    text.counter("twinstep_recording_errors_total", "Recordings that stopped or did not begin.");
    text.sample(totals.recordings_stopped);
}

} // namespace

std::string metrics_text(const MetricsSources& from) {
    MetricsText text;
    text.gauge("twinstep_build_info", "Always 1; the labels say what runs.");
    text.sample(std::uint64_t{1}, {{"version", version_text}, {"simulation", from.game}});
    add_matches(text, from);
    add_network(text, from);
    text.gauge("twinstep_drain_seconds_remaining", "Until running matches are ended; 0: no drain.");
    text.sample(from.drain_seconds_left);
    add_process_metrics(text);
    return text.text();
}

} // namespace twinstep::tools
