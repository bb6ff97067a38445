// SPDX-License-Identifier: MIT
// Manifests: what they say, what must be equal, and hostile bytes.
#include "hex.hpp"
#include "toy_game.hpp"

#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;

namespace {

Manifest toy_manifest() {
    return make_manifest(make_simulation<ToyGame>()->info(), {7, 2, {{"map", "small"}, {"a", ""}}});
}

Bytes encoded_manifest(const Manifest& manifest) {
    Bytes bytes;
    encode_manifest(manifest, bytes);
    return bytes;
}

std::string refusal_of(std::string_view hex) {
    return text_of(decode_manifest(from_hex_text(hex)));
}

std::vector<std::string> keys(const std::vector<ManifestDifference>& differences) {
    std::vector<std::string> names;
    for (const ManifestDifference& difference : differences) {
        names.push_back(difference.key);
    }
    return names;
}

} // namespace

TEST_CASE("a manifest says what decides a session", "[sim][golden]") {
    Manifest manifest = toy_manifest();
    REQUIRE(manifest.erase("build.compiler") == 1);
    REQUIRE(manifest.erase("build.target") == 1);
    REQUIRE(manifest == Manifest{
                            {"config.a", ""},
                            {"config.map", "small"},
                            {"float.fingerprint", float_fingerprint()},
                            {"hash.algorithm", "xxh3-128/prefix256/1"},
                            {"input.fingerprint", "115ec911443db02e"},
                            {"input.schema", "{dx:i8,dy:i8,turn:u16,fire:bool}"},
                            {"random.algorithm", "philox4x32-10/1"},
                            {"session.seed", "7"},
                            {"session.slots", "2"},
                            {"sim.id", "toy"},
                            {"sim.source_digest", "unknown"},
                            {"sim.tick_rate", "50/1"},
                            {"sim.version", "1"},
                            {"state.fingerprint", "3523dc5a549bd67c"},
                        });
}

TEST_CASE("a manifest is a count and sorted texts, and reads back", "[sim][golden]") {
    const Manifest small{{"b", ""}, {"a", "xy"}};
    REQUIRE(to_hex_text(encoded_manifest(small)) == "02"
                                                    "0161"
                                                    "027879"
                                                    "0162"
                                                    "00");
    REQUIRE(*decode_manifest(encoded_manifest(small)) == small);
    REQUIRE(*decode_manifest(encoded_manifest({})) == Manifest{});
    REQUIRE(*decode_manifest(encoded_manifest(toy_manifest())) == toy_manifest());
    // Keys that only a later version knows are kept.
    Manifest later = toy_manifest();
    later["zebra.stripes"] = "40";
    REQUIRE(*decode_manifest(encoded_manifest(later)) == later);
}

TEST_CASE("a set-up comes back out of its manifest", "[sim][unit]") {
    const auto setup = setup_of(toy_manifest());
    REQUIRE(setup);
    REQUIRE(setup->seed == 7);
    REQUIRE(setup->slots == 2);
    REQUIRE(setup->config == std::map<std::string, std::string>{{"a", ""}, {"map", "small"}});
    const auto with = [](const char* key, const char* value) {
        Manifest manifest = toy_manifest();
        manifest[key] = value;
        return text_of(setup_of(manifest));
    };
    REQUIRE(with("session.seed", "18446744073709551615") == "ok");
    REQUIRE(with("session.seed", "18446744073709551616") ==
            "session.seed: the value is not valid: not a number");
    REQUIRE(with("session.seed", "") == "session.seed: the value is not valid: not a number");
    REQUIRE(with("session.seed", "7 ") == "session.seed: the value is not valid: not a number");
    REQUIRE(with("session.slots", "-1") == "session.slots: the value is not valid: not a number");
    REQUIRE(with("session.slots", "65536") ==
            "session.slots: the value is not valid: not a number");
    Manifest missing = toy_manifest();
    missing.erase("session.slots");
    REQUIRE(text_of(setup_of(missing)) ==
            "session.slots: the value is not valid: the key is missing");
}

TEST_CASE("the largest set-up that is accepted fits a manifest", "[sim][unit]") {
    Setup setup{1, 1, {}};
    std::size_t bytes = 0;
    for (int i = 100; bytes + 6 + config_text_bytes_max <= config_bytes_max; ++i) {
        setup.config["key" + std::to_string(i)] = std::string(config_text_bytes_max, 'x');
        bytes += 6 + config_text_bytes_max;
    }
    const auto toy = make_simulation<ToyGame>();
    REQUIRE(toy->reset(setup));
    const Bytes manifest = encoded_manifest(make_manifest(toy->info(), setup));
    REQUIRE(manifest.size() < manifest_bytes_max);
    REQUIRE(setup_of(*decode_manifest(manifest))->config == setup.config);
}

TEST_CASE("damaged manifests are refused", "[sim][fault]") {
    REQUIRE(refusal_of("") == "byte 0: manifest.count: the bytes end too early");
    REQUIRE(refusal_of("01 01") == "byte 2: manifest.key: the bytes end too early");
    REQUIRE(refusal_of("01 0161 05 78") == "byte 4: manifest.value: the bytes end too early");
    REQUIRE(refusal_of("01 00 00") == "byte 3: manifest.key: the value is not valid");
    REQUIRE(refusal_of("02 0162 00 0161 00") == "byte 7: manifest.key: the value is not valid");
    REQUIRE(refusal_of("02 0161 00 0161 00") == "byte 7: manifest.key: the value is not valid");
    REQUIRE(refusal_of("00 00") == "byte 1: manifest: bytes are left over");
    REQUIRE(refusal_of("8120") == "byte 0: manifest.count: a limit is exceeded");
    REQUIRE(refusal_of("01 818040") == "byte 1: manifest.key: a limit is exceeded");
    REQUIRE(code_of(decode_manifest(Bytes(manifest_bytes_max + 1))) == SimErrc::limit_exceeded);
    const Bytes bytes = encoded_manifest(toy_manifest());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        REQUIRE(code_of(decode_manifest(ByteView(bytes).first(size))) == SimErrc::truncated);
    }
}

TEST_CASE("a manifest with any bit flipped is refused or encodes to exactly those bytes",
          "[sim][fault]") {
    Bytes bytes = encoded_manifest(toy_manifest());
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        const auto manifest = decode_manifest(bytes);
        if (manifest && encoded_manifest(*manifest) != bytes) {
            FAIL("bit " << bit);
        }
        bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
}

TEST_CASE("two sessions are comparable only where everything that decides is equal",
          "[sim][unit]") {
    const Manifest expected = toy_manifest();
    REQUIRE(incompatibilities(expected, expected).empty());
    for (const auto& [key, value] : expected) {
        Manifest actual = expected;
        actual[key] = value + "!";
        const auto differences = incompatibilities(expected, actual);
        const bool decides = !key.starts_with("build.") && key != "sim.source_digest";
        CAPTURE(key);
        REQUIRE(must_be_equal(key) == decides);
        REQUIRE(differences.size() == (decides ? 1 : 0));
        if (decides) {
            REQUIRE(differences[0].key == key);
            REQUIRE(differences[0].expected == value);
            REQUIRE(differences[0].actual == value + "!");
        }
    }
}

TEST_CASE("another game is named before what differs because of it", "[sim][unit]") {
    const Manifest expected = toy_manifest();
    Manifest actual = expected;
    actual["sim.id"] = "other";
    actual["config.map"] = "large";
    actual["config.new"] = "1";
    actual.erase("config.a");
    const auto differences = incompatibilities(expected, actual);
    REQUIRE(keys(differences) ==
            std::vector<std::string>{"sim.id", "config.a", "config.map", "config.new"});
    REQUIRE(differences[1].actual == "(missing)");
    REQUIRE(differences[3].expected == "(missing)");
    // The word for a missing value is not a value.
    Manifest literal = expected;
    literal["config.extra"] = "(missing)";
    REQUIRE(keys(incompatibilities(expected, literal)) == std::vector<std::string>{"config.extra"});
}
