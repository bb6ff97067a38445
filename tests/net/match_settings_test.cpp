// SPDX-License-Identifier: MIT
// What a match can be given: every refusal names the key and what is allowed.
#include "match_support.hpp"

#include <functional>
#include <string>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::match_test;

namespace {

std::string refused(MatchSettings settings) {
    Journal journal;
    CountingEntropy entropy;
    const auto match = Match::create(std::move(settings), journal, entropy);
    if (match) {
        return "accepted";
    }
    CHECK(match.error().code == NetErrc::bad_setting);
    return match.error().field + "|" + match.error().detail;
}

std::string with(const std::function<void(MatchSettings&)>& change) {
    MatchSettings settings = Bed::defaults();
    change(settings);
    return refused(settings);
}

} // namespace

TEST_CASE("a good setting is accepted", "[net][match][settings]") {
    CHECK(with([](MatchSettings&) {}) == "accepted");
    CHECK(with([](MatchSettings& s) { s.grace = Micros{0}; }) == "accepted");
    CHECK(with([](MatchSettings& s) { s.input_bytes_max = 256; }) == "accepted");
}

TEST_CASE("a bad setting is named with its range", "[net][match][settings]") {
    struct Row {
        std::string_view key;
        std::function<void(MatchSettings&)> change;
    };

    const Row rows[] = {
        {"id", [](MatchSettings& s) { s.id = 0; }},
        {"slots", [](MatchSettings& s) { s.slots = 0; }},
        {"slots", [](MatchSettings& s) { s.slots = 65; }},
        {"slots", [](MatchSettings& s) { s.slots = 3; }}, // The manifest says 2.
        {"start_players", [](MatchSettings& s) { s.start_players = 0; }},
        {"start_players", [](MatchSettings& s) { s.start_players = 3; }},
        {"spectators_max", [](MatchSettings& s) { s.spectators_max = 5000; }},
        {"input_bytes_max", [](MatchSettings& s) { s.input_bytes_max = 0; }},
        {"input_bytes_max", [](MatchSettings& s) { s.input_bytes_max = 257; }},
        {"input_bytes_max",
         [](MatchSettings& s) {
             s.slots = 16;
             s.manifest = test_manifest(16);
             s.input_bytes_max = 61;
         }},
        {"grace", [](MatchSettings& s) { s.grace = seconds(2); }},
        {"grace", [](MatchSettings& s) { s.grace = Micros{-1}; }},
        {"stall_max", [](MatchSettings& s) { s.stall_max = seconds(61); }},
        {"absent_after", [](MatchSettings& s) { s.absent_after = Micros{0}; }},
        {"rejoin_window", [](MatchSettings& s) { s.rejoin_window = seconds(-1); }},
        {"ring", [](MatchSettings& s) { s.ring = Micros{0}; }},
        {"spectator_delay", [](MatchSettings& s) { s.spectator_delay = seconds(119); }},
        {"delay_ticks_min", [](MatchSettings& s) { s.delay_ticks_min = 0; }},
        {"delay_ticks_min", [](MatchSettings& s) { s.delay_ticks_min = 31; }},
        {"delay_ticks_max", [](MatchSettings& s) { s.delay_ticks_max = 121; }},
        {"hash_interval_ticks", [](MatchSettings& s) { s.hash_interval_ticks = 0; }},
        {"hash_interval_ticks", [](MatchSettings& s) { s.hash_interval_ticks = 65; }},
        {"join_bytes_per_s", [](MatchSettings& s) { s.join_bytes_per_s = 0; }},
        {"join_bytes_per_s_all", [](MatchSettings& s) { s.join_bytes_per_s_all = 1; }},
        {"snapshot_bytes_max", [](MatchSettings& s) { s.snapshot_bytes_max = 0; }},
        {"spectator_bytes_per_s", [](MatchSettings& s) { s.spectator_bytes_per_s = 0; }},
        {"tick_rate.num", [](MatchSettings& s) { s.tick_rate = TickRate(0, 1); }},
        {"tick_rate.den", [](MatchSettings& s) { s.tick_rate = TickRate(60, 0); }},
        {"tick_rate", [](MatchSettings& s) { s.tick_rate = TickRate(1, 2); }},
        {"tick_rate", [](MatchSettings& s) { s.tick_rate = TickRate(60); }}, // The manifest: 50.
        {"policy", [](MatchSettings& s) { s.policy = static_cast<Policy>(9); }},
        {"authority", [](MatchSettings& s) { s.authority = static_cast<Authority>(0); }},
        {"filler", [](MatchSettings& s) { s.filler = static_cast<Filler>(3); }},
        {"neutral", [](MatchSettings& s) { s.neutral = Bytes(9); }},
        {"manifest", [](MatchSettings& s) { s.manifest.clear(); }},
        {"manifest", [](MatchSettings& s) { s.manifest.erase("session.seed"); }},
        {"history", [](MatchSettings& s) { s.history.emplace_back(3); }},
    };
    for (const Row& row : rows) {
        const std::string said = with(row.change);
        INFO(row.key << " -> " << said);
        CHECK(said.starts_with(std::string(row.key) + "|"));
        CHECK(said.find("allowed is ") != std::string::npos);
    }
}

TEST_CASE("a match with the largest inputs and events fits every tick into a datagram",
          "[net][match][settings]") {
    for (const std::uint16_t slots : std::initializer_list<std::uint16_t>{3, 15, 64}) {
        MatchSettings settings = Bed::defaults(slots);
        settings.input_bytes_max =
            static_cast<std::uint16_t>(std::min(256, 1000 / static_cast<int>(slots) - 2));
        settings.neutral.clear();
        Bed bed(settings);
        for (std::uint16_t i = 0; i < slots; ++i) {
            REQUIRE(bed.add(std::string(32, 'n')).connect());
        }
        bed.run(milliseconds(60));
        for (int tick = 0; tick < 100; ++tick) {
            for (auto& peer : bed.peers) {
                // The longest inputs, and nothing in them that a run could leave out.
                for (std::uint64_t t = peer->input_ack; t < peer->input_ack + 6; ++t) {
                    Bytes value(settings.input_bytes_max);
                    for (std::size_t i = 0; i < value.size(); ++i) {
                        value[i] = static_cast<std::byte>(t * 31 + i * 7 + peer->index * 13);
                    }
                    peer->inputs.try_emplace(t, value);
                    peer->next_input = std::max(peer->next_input, t + 1);
                }
            }
            bed.run(milliseconds(20));
        }
        CHECK(bed.match.status().players == slots);
        CHECK(bed.journal.closed > 90);
        for (const auto& peer : bed.peers) {
            CHECK(peer->connected);
            CHECK(peer->frames.size() + 6 >= bed.journal.frames.size());
            CHECK(std::equal(peer->frames.begin(), peer->frames.end(), bed.journal.frames.begin()));
        }
    }
}
