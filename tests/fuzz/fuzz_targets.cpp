// SPDX-License-Identifier: MIT
// The list of targets.
#include "fuzz_targets.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

std::span<const FuzzTarget> fuzz_targets() {
    static constexpr std::array targets{
        FuzzTarget{"handshake", 1201, fuzz_handshake, handshake_seeds},
        FuzzTarget{"packet", 1200, fuzz_packet, packet_seeds},
        FuzzTarget{"runs", 600, fuzz_runs, runs_seeds},
        FuzzTarget{"bundle", 1200, fuzz_bundle, bundle_seeds},
        FuzzTarget{"blob_receiver", 600, fuzz_blob_receiver, blob_receiver_seeds},
        FuzzTarget{"blob_sender", 600, fuzz_blob_sender, blob_sender_seeds},
        FuzzTarget{"host", 1000, fuzz_host, host_seeds},
        FuzzTarget{"client", 600, fuzz_client, client_seeds},
        FuzzTarget{"tick_frame", 2000, fuzz_tick_frame, tick_frame_seeds},
        FuzzTarget{"manifest", 1000, fuzz_manifest, manifest_seeds},
        FuzzTarget{"recording", 4096, fuzz_recording, recording_seeds},
        FuzzTarget{"packed", 4096, fuzz_packed, packed_seeds},
        FuzzTarget{"packed_content", 2000, fuzz_packed_content, packed_content_seeds},
        FuzzTarget{"keyframes", 4096, fuzz_keyframes, keyframes_seeds},
        FuzzTarget{"journal", 160, fuzz_journal, journal_seeds},
        FuzzTarget{"text_form", 6000, fuzz_text_form, text_form_seeds},
        FuzzTarget{"doom_demo", 600, fuzz_doom_demo, doom_demo_seeds},
        FuzzTarget{"doom_wad", 400, fuzz_doom_wad, doom_wad_seeds},
        FuzzTarget{"marine_state", 8000, fuzz_marine_state, marine_state_seeds},
        FuzzTarget{"swarm_state", 600, fuzz_swarm_state, swarm_state_seeds},
        FuzzTarget{"pile_state", 4000, fuzz_pile_state, pile_state_seeds},
        FuzzTarget{"game_input", 64, fuzz_game_input, game_input_seeds},
        FuzzTarget{"config_file", 600, fuzz_config_file, config_file_seeds},
        FuzzTarget{"evidence", 4000, fuzz_evidence, evidence_seeds},
        FuzzTarget{"signature", 200, fuzz_signature, signature_seeds},
        FuzzTarget{"lint", 4096, fuzz_lint, lint_seeds},
    };
    return targets;
}

void broken_promise(const char* what) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}
