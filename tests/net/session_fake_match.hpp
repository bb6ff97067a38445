// SPDX-License-Identifier: MIT
// A match that does what a test says and remembers what the host told it.
#pragma once

#include "twinstep/net/match.hpp"

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// A wake-up that tells the host when a test moves it.
struct FakeWake {
    twinstep::net::Micros time = twinstep::net::never;
    twinstep::net::WakeListener* listener = nullptr;

    FakeWake& operator=(twinstep::net::Micros moved) {
        time = moved;
        if (listener != nullptr) {
            listener->on_wake_changed();
        }
        return *this;
    }
};

/// Behind Match in programs that link session_fake_match.cpp.
struct FakeMatch {
    // What it does.
    std::uint16_t seats_max = 64;
    twinstep::net::CloseReason refusal = twinstep::net::CloseReason::none;
    twinstep::Result<void> receive_result;
    std::map<twinstep::net::PeerIndex, std::deque<twinstep::Bytes>> to_send;

    struct Close {
        twinstep::net::PeerIndex peer = 0;
        twinstep::net::CloseReason reason{};
        std::string text;
    };

    std::deque<Close> to_close;
    FakeWake wake;
    bool loading = false;
    bool uploading = false;
    std::uint32_t speed_per_mille = 1000;

    // What it was told.
    struct Ended {
        twinstep::net::PeerIndex peer = 0;
        twinstep::net::CloseReason reason{};
    };

    std::vector<twinstep::net::PeerIndex> connected;
    std::vector<Ended> disconnected;
    std::uint64_t admissions = 0;
    twinstep::net::Admission last_admission;
    std::string last_name;
    std::uint64_t frames = 0;
    std::vector<std::uint64_t> frames_of; ///< By PeerIndex.
    std::uint64_t advances = 0;
    std::vector<bool> taken; ///< By PeerIndex.
};

/// The state of the match that was opened last with this id.
FakeMatch& fake_match(twinstep::net::MatchId id = 1);
/// Forgets all of them: at the beginning of each test.
void forget_fake_matches();
