// SPDX-License-Identifier: MIT
// A strict receiver of plain datagrams: decodes all of one and encodes it again.
#pragma once

#include "twinstep/net/wire.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <cstdint>

/// What both sides know from ACCEPT.
struct WireContext {
    std::uint16_t slots = 2;
    std::size_t input_bytes_max = twinstep::input_bytes_max;
    twinstep::Bytes neutral = twinstep::Bytes(4);
};

/// A value that decodes must be the only spelling of itself. This is what is wrong otherwise, and
/// never an error of the bytes.
struct NotCanonical {
    const char* what = "";
};

/// Decodes a whole datagram, handshake or data in plain mode, down to every input, and encodes it
/// again. Throws NotCanonical if that gives other bytes.
twinstep::Result<void>
check_datagram(bool up, twinstep::ByteView datagram, const WireContext& context);

/// The same for the frames of one data packet.
twinstep::Result<void>
check_plaintext(bool up, twinstep::ByteView plaintext, const WireContext& context);

/// The same for the body of one frame.
twinstep::Result<void> check_frame(const twinstep::net::wire::Frame& frame,
                                   const WireContext& context);

/// The same for the runs of an INPUTS frame and for the body of a TICKS frame.
twinstep::Result<void> check_runs(twinstep::ByteView runs, const WireContext& context);
twinstep::Result<void> check_bundle(const twinstep::net::wire::Ticks& ticks,
                                    const WireContext& context);

/// The same for the payloads of CONNECT and ACCEPT.
twinstep::Result<void> check_connect_payload(twinstep::ByteView bytes);
twinstep::Result<void> check_accept_payload(twinstep::ByteView bytes);
