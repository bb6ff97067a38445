// SPDX-License-Identifier: MIT
// One bit of a state changes, anywhere, at any tick: the recording says at which tick and in which
// section, the comparison with a straight run in which field.
#include "game_bots.hpp"
#include "marine/marine.hpp"
#include "pile/pile.hpp"
#include "roomy_sink.hpp"
#include "swarm/swarm.hpp"
#include "test_random.hpp"

#include "twinstep/replay.hpp"
#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

using namespace twinstep;

namespace {

constexpr std::uint64_t session_ticks = 120;

/// How many bits are changed in each game: TWINSTEP_MUTATIONS, or 1,000.
std::size_t mutations() {
    const char* text = std::getenv("TWINSTEP_MUTATIONS");
    return text != nullptr ? std::stoull(text) : 1000;
}

/// The fields of one section with their paths; the other sections are passed over.
class PathList final : public FieldVisitor {
public:
    explicit PathList(std::string section)
        : section_(std::move(section)) {}

    struct Entry {
        std::size_t parent;
        std::string name;
        std::size_t number; ///< Among its parent's children.
        std::uint64_t bits;
        std::string text;
    };

    bool begin_section(std::string_view name) override { return name == section_; }

    void end_section() override {}

    void begin_object(std::string_view name, bool) override {
        add(name, 0, {});
        open_.push_back({entries.size() - 1, 0});
    }

    void end_object() override { open_.pop_back(); }

    void field(std::string_view name, const FieldValue& value) override {
        add(name, value.bits, std::string(value.text));
        fields.push_back(entries.size() - 1);
    }

    std::string path(std::size_t field) const {
        std::string text;
        for (std::size_t at = fields[field]; at != none; at = entries[at].parent) {
            const Entry& entry = entries[at];
            const std::string step =
                entry.name.empty() ? "[" + std::to_string(entry.number) + "]" : entry.name;
            text = step + (text.empty() || text.front() == '[' ? "" : ".") + text;
        }
        return text;
    }

    std::vector<Entry> entries;
    std::vector<std::size_t> fields;

private:
    static constexpr std::size_t none = SIZE_MAX;

    struct Open {
        std::size_t entry = none;
        std::size_t children = 0;
    };

    void add(std::string_view name, std::uint64_t bits, std::string text) {
        Open& parent = open_.back();
        entries.push_back(
            {parent.entry, std::string(name), parent.children++, bits, std::move(text)});
    }

    std::string section_;
    std::vector<Open> open_{{}};
};

/// Where the bytes of each section lie in a snapshot.
struct SectionBytes {
    std::string name;
    std::size_t begin;
    std::size_t end;
};

/// Reads the frames of sections as docs/recording-format.md has them: length of the name, name,
/// count, bytes.
std::vector<SectionBytes> sections_of(ByteView snapshot) {
    Bytes head;
    write_snapshot_head(head, Tick{0});
    std::vector<SectionBytes> sections;
    std::size_t at = head.size();
    while (at < snapshot.size()) {
        const auto length = std::to_integer<std::size_t>(snapshot[at]) & 0x7FU;
        const std::string name(reinterpret_cast<const char*>(&snapshot[at + 1]), length);
        at += 1 + length;
        std::size_t count = 0;
        for (std::size_t i = 0; i < 8; ++i) {
            count |= std::to_integer<std::size_t>(snapshot[at + i]) << 8 * i;
        }
        at += 8;
        sections.push_back({name, at, at + count});
        at += count;
    }
    REQUIRE(at == snapshot.size());
    return sections;
}

/// What became of the bits.
struct Tally {
    std::size_t found = 0;
    std::size_t refused = 0; ///< A `serialize` that knows better would not load them.
    std::size_t at_the_end = 0;
    std::size_t section_unnamed = 0; ///< By the recording, whose byte for it was equal.
};

template <class G>
class Mutations {
public:
    Mutations(const Setup& setup, TestRandom& random)
        : setup_(setup)
        , random_(random)
        , truth_(make_simulation<G>())
        , mutant_(make_simulation<G>())
        , bots_({.seed = setup.seed, .slots = setup.slots}) {
        REQUIRE(mutant_->reset(setup));
        REQUIRE(truth_->reset(setup));
        auto recorder = replay::Recorder::create(std::make_unique<RoomySink>(file_), *truth_);
        REQUIRE(recorder);
        Driver driver(*truth_, bots_);
        driver.add(*recorder);
        REQUIRE(driver.advance(session_ticks));
        REQUIRE(recorder->close());
        REQUIRE(truth_->reset(setup));
    }

    Tally run(std::size_t count) {
        std::vector<std::uint64_t> ticks{session_ticks, session_ticks, session_ticks};
        while (ticks.size() < count) {
            ticks.push_back(random_.below(session_ticks + 1));
        }
        std::sort(ticks.begin(), ticks.end());
        Driver driver(*truth_, bots_);
        for (const std::uint64_t tick : ticks) {
            REQUIRE(driver.advance(tick - truth_->tick().value));
            change_one_bit();
        }
        return tally_;
    }

private:
    /// Changes a bit that can be loaded, in some section.
    void change_one_bit() {
        Bytes snapshot;
        truth_->save(snapshot);
        const std::vector<SectionBytes> sections = sections_of(snapshot);
        while (true) {
            const SectionBytes& section = sections[random_.below(sections.size())];
            if (section.begin == section.end) {
                continue;
            }
            const std::size_t byte = section.begin + random_.below(section.end - section.begin);
            const std::size_t bit = random_.below(8);
            snapshot[byte] ^= static_cast<std::byte>(1U << bit);
            if (mutant_->load(snapshot)) {
                CAPTURE(truth_->tick().value, section.name, byte - section.begin, bit);
                require_found(section.name, bit);
                return;
            }
            ++tally_.refused;
            snapshot[byte] ^= static_cast<std::byte>(1U << bit);
        }
    }

    void require_found(const std::string& section, std::size_t bit) {
        const replay::Verdict verdict = verdict_of_recording();
        REQUIRE(verdict.divergence);
        REQUIRE(verdict.divergence->tick == truth_->tick());
        if (verdict.divergence->section != section) {
            // 8 of a section's 128 bits are on record, so this happens to one in 256.
            REQUIRE(verdict.divergence->section.empty());
            ++tally_.section_unnamed;
        }
        const auto difference = replay::compare_states(*truth_, *mutant_);
        REQUIRE(difference);
        REQUIRE(difference->tick == truth_->tick());
        REQUIRE(difference->section == section);
        require_field(section, difference->field, bit);
        ++tally_.found;
        tally_.at_the_end += truth_->tick().value == session_ticks ? 1U : 0U;
    }

    /// What somebody learns who has the recording and a simulation that is in the wrong state.
    replay::Verdict verdict_of_recording() {
        replay::Playback playback(*replay::Reader::from_memory(file_));
        if (truth_->tick().value == session_ticks) {
            TickFrame frame;
            REQUIRE(playback.source().next(Tick{session_ticks - 1}, frame));
            REQUIRE(playback.compare(mutant_->hash()));
            return playback.verdict();
        }
        Driver driver(*mutant_, playback.source());
        driver.add(playback.verifier());
        Bytes wrong;
        mutant_->save(wrong);
        REQUIRE(driver.advance(1));
        REQUIRE(mutant_->load(wrong));
        return playback.verdict();
    }

    /// The one field that differs, found without the code under test.
    void require_field(const std::string& section, const std::string& named, std::size_t bit) {
        PathList before(section);
        PathList after(section);
        truth_->visit(before);
        mutant_->visit(after);
        REQUIRE(before.fields.size() == after.fields.size());
        std::size_t differ = 0;
        for (std::size_t i = 0; i < before.fields.size(); ++i) {
            const PathList::Entry& left = before.entries[before.fields[i]];
            const PathList::Entry& right = after.entries[after.fields[i]];
            if (left.bits == right.bits && left.text == right.text) {
                continue;
            }
            ++differ;
            CHECK(named == before.path(i));
            const std::uint64_t changed = left.bits ^ right.bits;
            // Numbers below zero are shown with their sign in all bits above.
            CHECK((changed & 0x0101010101010101U << bit) != 0);
        }
        REQUIRE(differ == 1);
    }

    Setup setup_;
    TestRandom& random_;
    std::unique_ptr<Simulation> truth_;
    std::unique_ptr<Simulation> mutant_;
    GameBots<G> bots_;
    Bytes file_;
    Tally tally_;
};

template <class G>
void require_all_found(const Setup& setup) {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const std::size_t count = mutations();
    const Tally tally = Mutations<G>(setup, random).run(count);
    CAPTURE(tally.refused, tally.section_unnamed);
    CHECK(tally.found == count);
    CHECK(tally.at_the_end >= 3);
    CHECK(tally.section_unnamed <= count / 50 + 2);
    SUCCEED(tally.found << " found, " << tally.at_the_end << " of them at the end; "
                        << tally.section_unnamed << " sections not named by the recording");
}

} // namespace

TEST_CASE("a bit of marine's state that changes is found at its tick, section and field",
          "[games][mutation]") {
    require_all_found<games::Marine>({5, 4, {}});
}

TEST_CASE("a bit of pile's state that changes is found at its tick, section and field",
          "[games][mutation]") {
    require_all_found<games::Pile>({5, 1, {}});
}

TEST_CASE("a bit of swarm's state that changes is found at its tick, section and field",
          "[games][mutation]") {
    require_all_found<games::Swarm>({5, 2, {{"units", "300"}}});
}
