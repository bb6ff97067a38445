// SPDX-License-Identifier: MIT
// A host with one match that only listens, on a clock that the test moves.
#pragma once

#include "hex.hpp"
#include "session_fake_match.hpp"
#include "session_peer.hpp"

#include <catch2/catch.hpp>

#include <utility>

inline constexpr twinstep::net::Micros start = twinstep::net::seconds(1000);

/// A host with one match, in every mode that this build has.
struct World {
    explicit World(twinstep::net::wire::Mode mode = sealed_mode(),
                   twinstep::net::HostSettings settings = {})
        : mode_(mode)
        , host(make(mode, std::move(settings))) {}

    twinstep::net::Host make(twinstep::net::wire::Mode mode, twinstep::net::HostSettings settings) {
        forget_fake_matches();
        settings.mode = mode;
        settings.key = key_of(1);
        twinstep::Result<twinstep::net::Host> made =
            twinstep::net::Host::create(std::move(settings), events, entropy);
        INFO(text_of(made));
        REQUIRE(made);
        REQUIRE(made->open_match(twinstep::net::MatchSettings{}));
        return std::move(*made);
    }

    TestPeer peer(std::uint16_t port, std::uint8_t last = 1) const {
        return {mode_, key_of(1), loopback(port, last)};
    }

    std::uint64_t dropped(twinstep::net::Drop reason) const {
        return host.status().dropped[static_cast<std::size_t>(reason)];
    }

    twinstep::net::MatchEvents events; // Nobody listens.
    TestEntropy entropy;
    twinstep::net::wire::Mode mode_;
    twinstep::net::Host host;
};

inline twinstep::Bytes progress_frame(std::uint64_t tick = 5) {
    twinstep::Bytes bytes;
    twinstep::net::wire::encode(twinstep::net::wire::Progress{tick, true}, bytes);
    return bytes;
}
