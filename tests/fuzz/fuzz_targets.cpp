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
    };
    return targets;
}

void broken_promise(const char* what) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}
