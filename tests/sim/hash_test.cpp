// SPDX-License-Identifier: MIT
// State hashing: known answers, any cutting, and what changes a hash.
#include "assertion_of.hpp"
#include "hex.hpp"
#include "test_random.hpp"
#include "toy_game.hpp"

#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace twinstep;

namespace {

/// The top byte of a multiplicative sequence; the answers below were made with it.
Bytes pattern(std::size_t size) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<std::byte>(static_cast<std::uint32_t>(i * 2654435761U) >> 24);
    }
    return bytes;
}

struct Answer {
    std::string_view domain;
    std::uint64_t tick;
    std::string_view name;
    std::size_t size;
    std::string_view hash;
};

// XXH3_128bits of libxxhash 0.8.1 over prefix and pattern, put together by a separate program.
constexpr std::uint64_t some_tick = 1234567890123;
constexpr std::array<Answer, 14> answers{{
    {"", 0, "", 0, "bb039d71e9630a91a68dfbb1d75c6e8d"},
    {"twinstep.section", some_tick, "players", 0, "4416a3f4534ed104943f0df678cd9ac4"},
    {"twinstep.section", some_tick, "players", 1, "8c1fd61b4730908977a3574ac83c377f"},
    {"twinstep.section", some_tick, "players", 17, "b902b9094a97fd458b0fd9f0f061f6df"},
    {"twinstep.section", some_tick, "players", 240, "3a3d312313db2c5368da8839b045deda"},
    {"twinstep.section", some_tick, "players", 1023, "0182555248f018e7d8fb4544c84dc706"},
    {"twinstep.section", some_tick, "players", 1024, "d2d64feec177812d65376266aeced33a"},
    {"twinstep.section", some_tick, "players", 4096, "1a336a55e2a8855a89a6008036add5d4"},
    {"twinstep.section", some_tick, "players", 4097, "3557c87dd2a20aa7c6e2bfd9409a4973"},
    {"twinstep.section", some_tick, "players", 65536, "2d2281cd6f8de1eb5d4ee0d2274ede72"},
    {"twinstep.section", some_tick, "players", 1000000, "93a2fb75d2de468485857d59cf6286a5"},
    {"twinstep.section", some_tick + 1, "players", 17, "0c3b50de1ea21282b1dd8a495a6971ec"},
    {"twinstep.section", some_tick, "players2", 17, "a7cfe287f0d093898cab069df9e90bea"},
    {"twinstep.state", some_tick, "players", 17, "849e18841df311cbc4891de512ef489a"},
}};

/// Adds the bytes in random pieces, some through update and some through space and commit.
Hash128 hash_in_pieces(TestRandom& random, ByteView bytes) {
    Hasher hasher;
    hasher.begin("twinstep.section", Tick{some_tick}, "players");
    while (!bytes.empty()) {
        const std::size_t longest = std::size_t{1} << random.below(14);
        const std::size_t size = std::min(bytes.size(), random.below(longest + 1));
        if (random.below(2) == 0) {
            hasher.update(bytes.first(size));
            bytes = bytes.subspan(size);
        } else {
            const std::span<std::byte> space = hasher.space(1 + random.below(256));
            const std::size_t used = std::min(size, space.size());
            std::copy_n(bytes.begin(), used, space.begin());
            hasher.commit(used);
            bytes = bytes.subspan(used);
        }
    }
    return hasher.finish();
}

} // namespace

TEST_CASE("a hash is XXH3-128 of the prefix and the bytes", "[sim][golden]") {
    for (const Answer& answer : answers) {
        CAPTURE(answer.domain, answer.tick, answer.name, answer.size);
        const Bytes bytes = pattern(answer.size);
        REQUIRE(to_hex(hash_bytes(answer.domain, Tick{answer.tick}, answer.name, bytes)) ==
                answer.hash);
    }
}

TEST_CASE("a checksum is XXH3-64 without a prefix", "[sim][golden]") {
    REQUIRE(to_hex(checksum64({})) == "2d06800538d394c2");
    REQUIRE(to_hex(checksum64(from_hex_text("616263"))) == "78af5f94892f3950");
}

TEST_CASE("a hash does not depend on how the bytes arrive", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (int round = 0; round < 1500; ++round) {
        const std::size_t size = random.below(std::size_t{1} << random.below(16));
        const Bytes bytes = pattern(size);
        CAPTURE(size);
        REQUIRE(hash_in_pieces(random, bytes) ==
                hash_bytes("twinstep.section", Tick{some_tick}, "players", bytes));
    }
}

TEST_CASE("a hasher is used again without a trace of what it hashed before", "[sim][unit]") {
    Hasher hasher;
    hasher.begin("twinstep.section", Tick{1}, "a-much-longer-name");
    hasher.update(pattern(100000));
    static_cast<void>(hasher.finish());
    hasher.begin("twinstep.section", Tick{some_tick}, "players");
    hasher.update(pattern(17));
    REQUIRE(to_hex(hasher.finish()) == "b902b9094a97fd458b0fd9f0f061f6df");
}

TEST_CASE("each flipped bit of a section's bytes changes its hash", "[sim][property]") {
    Bytes bytes = pattern(300);
    const Hash128 before = hash_bytes("twinstep.section", Tick{0}, "s", bytes);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        REQUIRE(hash_bytes("twinstep.section", Tick{0}, "s", bytes) != before);
        bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
}

TEST_CASE("domains and names that are too long are a programmer's error", "[sim][unit]") {
    REQUIRE(assertion_of([] {
                hash_bytes(std::string(hash_domain_bytes_max + 1, 'd'), Tick{0}, "s", {});
            }) == "domain.size() <= hash_domain_bytes_max");
    REQUIRE(assertion_of([] {
                hash_bytes("d", Tick{0}, std::string(section_name_bytes_max + 1, 's'), {});
            }) == "name.size() <= section_name_bytes_max");
}

TEST_CASE("more space than a hasher has is a programmer's error", "[sim][unit]") {
    Hasher hasher;
    hasher.begin("d", Tick{0}, "s");
    REQUIRE(assertion_of([&] { static_cast<void>(hasher.space(257)); }) ==
            "size <= hash_prefix_bytes");
    REQUIRE(assertion_of([&] { hasher.commit(hasher.space(1).size() + 1); }) ==
            "size <= state_->buffer.size() - state_->used");
    REQUIRE(assertion_of([&] { hasher.commit(hasher.space(256).size()); }) == "no assertion");
}

TEST_CASE("a snapshot's bytes hash to the state hash at every tick", "[sim][unit]") {
    auto simulation = make_simulation<ToyGame>();
    REQUIRE(simulation->reset({7, 3, {}}));
    ToySource source(3);
    Driver driver(*simulation, source);
    Bytes snapshot;
    for (int tick = 0; tick < 200; ++tick) {
        const StateHashes& direct = simulation->hash();
        simulation->save(snapshot);
        const auto from_bytes = hash_snapshot(snapshot);
        REQUIRE(text_of(from_bytes) == "ok");
        REQUIRE(from_bytes->tick == direct.tick);
        REQUIRE(from_bytes->state == direct.state);
        REQUIRE(from_bytes->sections.size() == direct.sections.size());
        for (std::size_t i = 0; i < direct.sections.size(); ++i) {
            REQUIRE(from_bytes->sections[i].name == direct.sections[i].name);
            REQUIRE(from_bytes->sections[i].hash == direct.sections[i].hash);
        }
        REQUIRE(combine_sections(direct.tick, direct.sections) == direct.state);
        REQUIRE(driver.advance(1));
    }
}

TEST_CASE("the section that holds a changed field is the first that differs", "[sim][unit]") {
    auto simulation = make_simulation<ToyGame>();
    REQUIRE(simulation->reset({7, 1, {}}));
    Bytes snapshot;
    simulation->save(snapshot);
    const StateHashes before = *hash_snapshot(snapshot);
    REQUIRE(before.sections[0].name == "random");
    REQUIRE(before.sections[1].name == "bodies");
    REQUIRE(before.sections[2].name == "world");
    // The last byte of the state belongs to "world"; the body's x to "bodies".
    const std::string_view text(reinterpret_cast<const char*>(snapshot.data()), snapshot.size());
    const std::size_t bodies = text.find("bodies") + 6 + 8 + 8;
    for (const auto& [offset, section] :
         {std::pair{snapshot.size() - 1, std::size_t{2}}, std::pair{bodies, std::size_t{1}}}) {
        Bytes changed = snapshot;
        changed[offset] ^= std::byte{1};
        const auto after = hash_snapshot(changed);
        REQUIRE(after);
        REQUIRE(after->state != before.state);
        for (std::size_t i = 0; i < 3; ++i) {
            REQUIRE((after->sections[i].hash != before.sections[i].hash) == (i == section));
        }
    }
}

TEST_CASE("the state hash covers tick, order and number of the sections", "[sim][unit]") {
    const std::vector<SectionHash> sections{{"a", {1, 2}}, {"b", {3, 4}}};
    const std::vector<SectionHash> swapped{{"b", {3, 4}}, {"a", {1, 2}}};
    const std::vector<SectionHash> fewer{{"a", {1, 2}}};
    const Hash128 hash = combine_sections(Tick{5}, sections);
    REQUIRE(hash == combine_sections(Tick{5}, sections));
    REQUIRE(hash != combine_sections(Tick{6}, sections));
    REQUIRE(hash != combine_sections(Tick{5}, swapped));
    REQUIRE(hash != combine_sections(Tick{5}, fewer));
    // Low then high, each little-endian, behind the prefix of the state's own domain.
    REQUIRE(hash == hash_bytes("twinstep.state",
                               Tick{5},
                               {},
                               from_hex_text("0100000000000000 0200000000000000"
                                             "0300000000000000 0400000000000000")));
}

TEST_CASE("a damaged snapshot is refused before it is hashed", "[sim][fault]") {
    auto simulation = make_simulation<ToyGame>();
    REQUIRE(simulation->reset({7, 1, {}}));
    Bytes snapshot;
    simulation->save(snapshot);
    const auto damaged = [&](std::size_t offset, unsigned value) {
        Bytes bytes = snapshot;
        bytes[offset] = static_cast<std::byte>(value);
        return text_of(hash_snapshot(bytes));
    };
    REQUIRE(text_of(hash_snapshot({})) == "byte 0: snapshot.magic: the bytes end too early");
    REQUIRE(damaged(0, 0) == "byte 4: snapshot.magic: the value is not valid");
    REQUIRE(damaged(4, 2) == "byte 6: snapshot.version: the value is not valid");
    REQUIRE(damaged(13, 0x80) == "byte 14: snapshot.tick: a limit is exceeded");
    REQUIRE(damaged(14, 0) == "byte 15: section.name: the value is not valid");
    REQUIRE(damaged(15, ' ') == "byte 21: section.name: the value is not valid");
    REQUIRE(damaged(28, 0xFF) == "byte 29: section.bytes: the bytes end too early");
    for (std::size_t size = 0; size < snapshot.size(); ++size) {
        const auto cut = hash_snapshot(ByteView(snapshot).first(size));
        // A cut between two sections is a snapshot of fewer sections: another state hash.
        if (cut) {
            REQUIRE(cut->state != simulation->hash().state);
        } else {
            REQUIRE(cut.error().offset <= size);
        }
    }
    Bytes many;
    write_snapshot_head(many, Tick{0});
    for (std::size_t i = 0; i <= sections_max; ++i) {
        const Bytes section = from_hex_text("0161 0000000000000000");
        many.insert(many.end(), section.begin(), section.end());
    }
    REQUIRE(text_of(hash_snapshot(many)) == "byte 656: section.name: the value is not valid");
}

TEST_CASE("a value outside every section stops the program when it is hashed", "[sim][fault]") {
    StateHashes hashes;
    HashSink sink;
    OutArchive archive(sink);
    std::uint32_t value = 1;
    std::vector<std::uint8_t> run(2000);
    const auto start = [&] {
        sink.begin(Tick{0}, hashes);
        archive(section("a", value));
    };
    REQUIRE(assertion_of([&] {
                start();
                archive(value);
            }) == "in_section_");
    REQUIRE(assertion_of([&] {
                start();
                archive(run);
            }) == "in_section_");
    REQUIRE(assertion_of([&] {
                start();
                archive(section("b", section("c", value)));
            }) == "!in_section_");
    REQUIRE(assertion_of([&] {
                start();
                archive(section("no good", value));
            }) == "is_section_name(name)");
    REQUIRE(assertion_of([&] {
                start();
                sink.finish();
            }) == "no assertion");
}

TEST_CASE("one sink serves states of different sections", "[sim][unit]") {
    HashSink sink;
    OutArchive archive(sink);
    StateHashes hashes;
    std::uint8_t value = 1;
    sink.begin(Tick{1}, hashes);
    archive(section("a", value), section("b", value), section("c", value));
    sink.finish();
    sink.begin(Tick{2}, hashes);
    archive(section("b", value));
    sink.finish();
    REQUIRE(hashes.tick == Tick{2});
    REQUIRE(hashes.sections.size() == 1);
    REQUIRE(hashes.sections[0].name == "b");
    REQUIRE(hashes.sections[0].hash ==
            hash_bytes("twinstep.section", Tick{2}, "b", from_hex_text("01")));
    REQUIRE(hashes.state == combine_sections(Tick{2}, hashes.sections));
}
