// SPDX-License-Identifier: MIT
// The decoders that are fuzzed: each takes any bytes and ends the program if a promise is broken.
#pragma once

#include "twinstep/sim/bytes.hpp"

#include <span>
#include <vector>

struct FuzzTarget {
    const char* name;
    std::size_t bytes_max; ///< Longest input that is worth trying.
    void (*run)(twinstep::ByteView bytes);
    /// Inputs that lead a fuzzer into the decoder.
    std::vector<twinstep::Bytes> (*seeds)();
};

/// All targets.
std::span<const FuzzTarget> fuzz_targets();

/// Ends the program: what is promised for any bytes does not hold for these.
[[noreturn]] void broken_promise(const char* what);

inline void require(bool kept, const char* what) {
    if (!kept) {
        broken_promise(what);
    }
}

void fuzz_handshake(twinstep::ByteView bytes);
void fuzz_packet(twinstep::ByteView bytes);
void fuzz_runs(twinstep::ByteView bytes);
void fuzz_bundle(twinstep::ByteView bytes);
void fuzz_blob_receiver(twinstep::ByteView bytes);
void fuzz_blob_sender(twinstep::ByteView bytes);
void fuzz_host(twinstep::ByteView bytes);
void fuzz_client(twinstep::ByteView bytes);
void fuzz_tick_frame(twinstep::ByteView bytes);
void fuzz_manifest(twinstep::ByteView bytes);
void fuzz_recording(twinstep::ByteView bytes);
void fuzz_packed(twinstep::ByteView bytes);
void fuzz_packed_content(twinstep::ByteView bytes);
void fuzz_keyframes(twinstep::ByteView bytes);
void fuzz_journal(twinstep::ByteView bytes);
void fuzz_text_form(twinstep::ByteView bytes);
void fuzz_doom_demo(twinstep::ByteView bytes);
void fuzz_doom_wad(twinstep::ByteView bytes);
void fuzz_marine_state(twinstep::ByteView bytes);
void fuzz_swarm_state(twinstep::ByteView bytes);
void fuzz_pile_state(twinstep::ByteView bytes);
void fuzz_game_input(twinstep::ByteView bytes);
void fuzz_config_file(twinstep::ByteView bytes);
void fuzz_evidence(twinstep::ByteView bytes);
void fuzz_signature(twinstep::ByteView bytes);
void fuzz_lint(twinstep::ByteView bytes);

std::vector<twinstep::Bytes> handshake_seeds();
std::vector<twinstep::Bytes> packet_seeds();
std::vector<twinstep::Bytes> runs_seeds();
std::vector<twinstep::Bytes> bundle_seeds();
std::vector<twinstep::Bytes> blob_receiver_seeds();
std::vector<twinstep::Bytes> blob_sender_seeds();
std::vector<twinstep::Bytes> host_seeds();
std::vector<twinstep::Bytes> client_seeds();
std::vector<twinstep::Bytes> tick_frame_seeds();
std::vector<twinstep::Bytes> manifest_seeds();
std::vector<twinstep::Bytes> recording_seeds();
std::vector<twinstep::Bytes> packed_seeds();
std::vector<twinstep::Bytes> packed_content_seeds();
std::vector<twinstep::Bytes> keyframes_seeds();
std::vector<twinstep::Bytes> journal_seeds();
std::vector<twinstep::Bytes> text_form_seeds();
std::vector<twinstep::Bytes> doom_demo_seeds();
std::vector<twinstep::Bytes> doom_wad_seeds();
std::vector<twinstep::Bytes> marine_state_seeds();
std::vector<twinstep::Bytes> swarm_state_seeds();
std::vector<twinstep::Bytes> pile_state_seeds();
std::vector<twinstep::Bytes> game_input_seeds();
std::vector<twinstep::Bytes> config_file_seeds();
std::vector<twinstep::Bytes> evidence_seeds();
std::vector<twinstep::Bytes> signature_seeds();
std::vector<twinstep::Bytes> lint_seeds();
