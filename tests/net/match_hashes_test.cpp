// SPDX-License-Identifier: MIT
// Whose hash is right, and how quickly the first wrong tick and section are known.
#include "desync_search.hpp"
#include "hash_votes.hpp"
#include "match_support.hpp"
#include "test_random.hpp"

#include <algorithm>
#include <array>
#include <bit>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::match_test;

namespace {

constexpr std::uint64_t mask_of(int count) {
    return (std::uint64_t{1} << count) - 1;
}

/// Votes as a text: one letter a player, '-' silent.
Judgement<std::uint32_t> judge_text(std::string_view text, bool closed) {
    std::array<std::uint32_t, 64> values{};
    std::uint64_t reported = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '-') {
            reported |= std::uint64_t{1} << i;
            values[i] = static_cast<std::uint32_t>(text[i]);
        }
    }
    return judge<std::uint32_t>(std::span(values).first(text.size()),
                                reported,
                                mask_of(static_cast<int>(text.size())),
                                closed);
}

} // namespace

TEST_CASE("verdicts need a strict majority of all who owe a report", "[net][match][threat-10]") {
    struct Row {
        std::string_view votes;
        Outcome early; ///< While more may be heard.
        Outcome late;
        std::uint64_t dissenters;
    };
    using enum Outcome;
    const Row rows[] = {
        {"a", agreed, agreed, 0},
        {"-", open, silent, 0},
        {"aa", agreed, agreed, 0},
        {"ab", disputed, disputed, 0},
        {"a-", open, silent, 0}, // Absence is no agreement.
        {"aab", agreed, agreed, 4},
        {"baa", agreed, agreed, 1},
        {"abc", disputed, disputed, 0},
        {"aa-", agreed, agreed, 0},
        {"ab-", open, disputed, 0},
        {"a--", open, silent, 0},
        {"aabb", disputed, disputed, 0}, // Exactly half is no majority.
        {"aaab", agreed, agreed, 8},
        {"aa--", open, silent, 0},
        {"aa-b", open, disputed, 0},
        {"aaabb", agreed, agreed, 24},
        {"aabbc", disputed, disputed, 0},
        {"aaaabbbb", disputed, disputed, 0},
        {"aaaaabbb", agreed, agreed, 0xE0},
        {"aaaa----", open, silent, 0},
        {"aaaaa---", agreed, agreed, 0},
        {"abcdefghijklmnop", disputed, disputed, 0},
        {"aaaaaaaabbbbbbbb", disputed, disputed, 0},
        {"aaaaaaaaabbbbbbb", agreed, agreed, 0xFE00},
        {"aaaaaaaaab------", agreed, agreed, 0x200},
        {"aaaaaaaab-------", open, disputed, 0},
    };
    for (const Row& row : rows) {
        INFO(row.votes);
        CHECK(judge_text(row.votes, false).outcome == row.early);
        const auto late = judge_text(row.votes, true);
        CHECK(late.outcome == row.late);
        CHECK(late.dissenters == row.dissenters);
    }
}

TEST_CASE("for 1 to 16 players: one liar is named exactly if the others are a majority",
          "[net][match][threat-10]") {
    for (int players = 1; players <= 16; ++players) {
        for (int liars = 0; liars <= players; ++liars) {
            for (int silents = 0; silents + liars <= players; ++silents) {
                std::string votes(static_cast<std::size_t>(players), 'a');
                for (int i = 0; i < liars; ++i) {
                    votes[static_cast<std::size_t>(i)] = 'z';
                }
                for (int i = liars; i < liars + silents; ++i) {
                    votes[static_cast<std::size_t>(i)] = '-';
                }
                const int honest = players - liars - silents;
                const auto result = judge_text(votes, true);
                INFO(votes);
                if (2 * honest > players) {
                    CHECK(result.outcome == Outcome::agreed);
                    CHECK(result.value == 'a');
                    CHECK(result.dissenters == mask_of(liars));
                } else if (2 * liars > players) {
                    CHECK(result.value == 'z');
                    CHECK(std::popcount(result.dissenters) == honest);
                } else {
                    CHECK(result.outcome ==
                          (liars != 0 && honest != 0 ? Outcome::disputed : Outcome::silent));
                    CHECK(result.dissenters == 0);
                }
            }
        }
    }
}

TEST_CASE("the vote table keeps the first word and refuses what is too old",
          "[net][match][threat-11]") {
    VoteTable votes;
    votes.configure(2, 16);
    CHECK(votes.put(17, 0, 1) == nullptr); // No check tick.
    VoteTable::Entry* entry = votes.put(32, 0, 5);
    REQUIRE(entry != nullptr);
    entry = votes.put(32, 0, 6);
    CHECK(votes.values(*entry)[0] == 5);
    CHECK(votes.put(32 + 16 * VoteTable::ticks_max, 1, 7) != nullptr);
    CHECK(votes.put(32, 1, 5) == nullptr);
    CHECK(votes.find(32) == nullptr);
}

TEST_CASE("history keeps 512 states and their chain", "[net][match][unit]") {
    HashHistory history;
    States states;
    history.add(states.at(0));
    for (std::uint64_t tick = 0; tick < 2000; ++tick) {
        states.step(Bytes(3, static_cast<std::byte>(tick)));
        history.add(states.at(tick + 1));
    }
    CHECK(history.last() == 2000);
    CHECK(history.first() == 2000 - 511);
    CHECK_FALSE(history.has(2000 - 512));
    for (std::uint64_t tick = history.first(); tick <= history.last(); ++tick) {
        REQUIRE(history.chain(tick) == states.chain(tick));
        REQUIRE(history.state(tick) == states.at(tick).state);
    }
    CHECK(history.section_name(1) == "b");
    CHECK(history.section_name(7) == "7");
}

TEST_CASE("server's authority: a planted fault is named with tick, section and slot",
          "[net][match][desync]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (int round = 0; round < 5; ++round) {
        Bed bed(Bed::defaults(3));
        bed.simulate = true;
        bed.fill(3);
        bed.run(seconds(1));
        const auto victim = static_cast<std::uint16_t>(random.below(3));
        const std::uint64_t fault = bed.match.next_tick().value + 5 + random.below(100);
        bed.peers[victim]->states.fault = fault;
        while (bed.match.next_tick().value < fault + 1) {
            bed.run(milliseconds(20));
        }
        CHECK(bed.journal.verdicts.empty());
        bed.run(milliseconds(400));
        REQUIRE(bed.journal.verdicts.size() == 1);
        const auto& said = bed.journal.verdicts[0];
        CHECK(said.verdict.blame == wire::Blame::peer);
        CHECK(said.verdict.tick == fault);
        CHECK(said.verdict.slot == Slot{victim});
        CHECK(said.section == "b");
        bed.run(seconds(2));
        CHECK(bed.journal.verdicts.size() == 1); // Once.
        for (const auto& peer : bed.peers) {
            CHECK(peer->verdicts == std::vector<std::string>{std::to_string(fault) + " " +
                                                             std::to_string(victim) + " b"});
            CHECK(peer->connected); // Nobody is kicked.
        }
        CHECK(bed.match.status().players == 3);
    }
}

TEST_CASE("server's authority: reports ahead of a slow simulation are compared later",
          "[net][match][desync]") {
    Bed bed;
    bed.fill(2);
    bed.peers[0]->states.fault = 30;
    bed.run(seconds(1));
    CHECK(bed.journal.verdicts.empty());
    bed.simulate = true;
    bed.run(seconds(1));
    REQUIRE(bed.journal.verdicts.size() == 1);
    CHECK(bed.journal.verdicts[0].verdict.tick == 30);
}

TEST_CASE("a player that differs and does not answer is still named", "[net][match][threat-11]") {
    Bed bed;
    bed.simulate = true;
    bed.fill(2);
    bed.run(seconds(1));
    const std::uint64_t fault = bed.match.next_tick().value + 2;
    bed.peers[1]->states.fault = fault;
    bed.peers[1]->answers = false;
    bed.run(seconds(4));
    REQUIRE(bed.journal.verdicts.size() == 1);
    CHECK(bed.journal.verdicts[0].verdict.slot == Slot{1});
    // The first bad report is all there is to name.
    CHECK(bed.journal.verdicts[0].verdict.tick == (fault + 3) / 4 * 4);
    CHECK(bed.journal.verdicts[0].section.empty());
}

TEST_CASE("a liar about a report whose answers are right accuses only itself",
          "[net][match][threat-10]") {
    Bed bed(Bed::defaults(3));
    bed.simulate = true;
    bed.fill(3);
    bed.run(seconds(1));
    Bytes out;
    wire::Inputs inputs;
    inputs.ack = bed.peers[2]->need();
    inputs.first_tick = inputs.ack;
    inputs.has_hash = true;
    inputs.hash_tick = bed.match.next_tick().value;
    inputs.ack = inputs.hash_tick;
    inputs.first_tick = inputs.ack;
    inputs.hash = 0xDEADBEEF;
    wire::encode_inputs(inputs, true, out);
    bed.peers[2]->send_bytes(out);
    bed.run(seconds(3));
    REQUIRE(bed.journal.verdicts.size() == 1);
    CHECK(bed.journal.verdicts[0].verdict.slot == Slot{2});
}

TEST_CASE("relay: the odd one of three is named", "[net][match][desync]") {
    MatchSettings settings = Bed::defaults(3);
    settings.authority = Authority::relay;
    Bed bed(settings);
    bed.fill(3);
    bed.run(seconds(1));
    const std::uint64_t fault = bed.match.next_tick().value + 7;
    bed.peers[1]->states.fault = fault;
    bed.run(seconds(2));
    REQUIRE(bed.journal.verdicts.size() == 1);
    CHECK(bed.journal.verdicts[0].verdict.blame == wire::Blame::peer);
    CHECK(bed.journal.verdicts[0].verdict.tick == fault);
    CHECK(bed.journal.verdicts[0].verdict.slot == Slot{1});
    CHECK(bed.journal.verdicts[0].section == "1");
    bed.run(seconds(2));
    CHECK(bed.journal.verdicts.size() == 1);
    CHECK(bed.peers[0]->has_agreed);
    CHECK(bed.peers[0]->agreed_tick > fault);
}

TEST_CASE("relay: two players who differ are disputed and both play on", "[net][match][desync]") {
    MatchSettings settings = Bed::defaults(2);
    settings.authority = Authority::relay;
    Bed bed(settings);
    bed.fill(2);
    bed.run(seconds(1));
    const std::uint64_t fault = bed.match.next_tick().value + 7;
    bed.peers[1]->states.fault = fault;
    bed.run(seconds(3));
    REQUIRE(bed.journal.verdicts.size() == 1);
    CHECK(bed.journal.verdicts[0].verdict.blame == wire::Blame::disputed);
    CHECK_FALSE(bed.journal.verdicts[0].verdict.has_slot);
    CHECK(bed.journal.verdicts[0].verdict.tick == fault);
    CHECK(bed.journal.verdicts[0].section == "1");
    CHECK(bed.match.status().players == 2);
}

TEST_CASE("relay: spectators and joiners have no vote", "[net][match][threat-10]") {
    MatchSettings settings = Bed::defaults(4);
    settings.start_players = 3;
    settings.authority = Authority::relay;
    settings.spectator_delay = Micros{0};
    Bed bed(settings);
    for (int i = 0; i < 5; ++i) {
        TestPeer& watcher = bed.add("w" + std::to_string(i), Role::spectator);
        REQUIRE(watcher.connect());
        watcher.states.fault = 20; // All of them say the same wrong thing.
    }
    for (int i = 0; i < 3; ++i) {
        REQUIRE(bed.add("p" + std::to_string(i)).connect());
    }
    bed.run(seconds(3));
    CHECK(bed.journal.verdicts.empty());
    CHECK(bed.peers[5]->has_agreed);
}

TEST_CASE("a player that withholds its reports is noted and agrees with nobody",
          "[net][match][threat-11]") {
    MatchSettings settings = Bed::defaults(2);
    settings.authority = Authority::relay;
    Bed bed(settings);
    bed.fill(2);
    bed.run(seconds(1));
    bed.peers[1]->reports = false;
    bed.run(seconds(1));
    const std::uint64_t agreed = bed.peers[0]->agreed_tick;
    bed.run(seconds(5));
    CHECK(bed.match.status().reports_withheld == 1);
    CHECK(bed.peers[0]->agreed_tick == agreed);
    CHECK(bed.journal.verdicts.empty());
    CHECK(bed.match.status().players == 2);
    bed.peers[1]->reports = true;
    bed.run(seconds(1));
    CHECK(bed.peers[0]->agreed_tick > agreed);
}

TEST_CASE("a search needs two round trips", "[net][match][desync]") {
    HashHistory own;
    States right;
    States wrong;
    wrong.fault = 37;
    own.add(right.at(0));
    for (std::uint64_t tick = 0; tick < 60; ++tick) {
        right.step(Bytes(1));
        wrong.step(Bytes(1));
        own.add(right.at(tick + 1));
    }
    DesyncSearch search;
    search.start(seconds(0), {1, 1, 17, 48, 1, true});
    bool ask = false;
    Finding finding;
    CHECK_FALSE(search.advance(seconds(0), own, ask, finding));
    CHECK(ask);
    CHECK(search.question().first == 17);
    CHECK(search.question().last == 48);
    CHECK_FALSE(search.advance(milliseconds(1), own, ask, finding));
    CHECK_FALSE(ask); // Not again before its time.
    CHECK_FALSE(search.advance(milliseconds(250), own, ask, finding));
    CHECK(ask);
    wire::HashAnswer hashes;
    hashes.first = 17;
    for (std::uint64_t tick = 17; tick <= 48; ++tick) {
        hashes.hashes[hashes.count++] = wrong.at(tick).state;
    }
    search.on_answer(0, hashes);
    CHECK_FALSE(search.advance(milliseconds(260), own, ask, finding));
    CHECK(search.stage() == DesyncSearch::Stage::sections);
    CHECK(search.question().first == 37);
    wire::SectionAnswer sections;
    sections.tick = 37;
    sections.count = 2;
    sections.sections[0] = static_cast<std::uint32_t>(wrong.at(37).sections[0].hash.low);
    sections.sections[1] = static_cast<std::uint32_t>(wrong.at(37).sections[1].hash.low);
    search.on_answer(0, sections);
    REQUIRE(search.advance(milliseconds(300), own, ask, finding));
    CHECK(finding.tick == 37);
    CHECK(finding.section == "b");
    CHECK(finding.blamed == 1);
    CHECK_FALSE(search.active());
}
