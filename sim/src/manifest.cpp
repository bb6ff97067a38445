// SPDX-License-Identifier: MIT
// Manifests: made, compared, encoded.
#include "twinstep/sim/manifest.hpp"

#include "twinstep/sim/float_environment.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/random.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace twinstep {

namespace {

constexpr std::string_view config_prefix = "config.";

std::string fingerprint(std::string_view schema) {
    return to_hex(hash_bytes("twinstep.schema", Tick{0}, {}, std::as_bytes(std::span(schema))).low);
}

std::string compiler_name() {
#if defined(__clang__)
    return "clang " + std::to_string(__clang_major__);
#elif defined(__GNUC__)
    return "gcc " + std::to_string(__GNUC__);
#elif defined(_MSC_VER)
    return "msvc " + std::to_string(_MSC_VER);
#else
    return "unknown";
#endif
}

std::string target_name() {
    std::string_view cpu = "unknown";
#if defined(__x86_64__) || defined(_M_X64)
    cpu = "x86_64";
#elif defined(__i386__) || defined(_M_IX86)
    cpu = "x86";
#elif defined(__aarch64__) || defined(_M_ARM64)
    cpu = "aarch64";
#elif defined(__arm__)
    cpu = "arm";
#elif defined(__riscv)
    cpu = "riscv64";
#elif defined(__s390x__)
    cpu = "s390x";
#elif defined(__powerpc64__)
    cpu = "powerpc64";
#elif defined(__wasm__)
    cpu = "wasm";
#endif
    std::string_view system = "unknown";
#if defined(_WIN32)
    system = "windows";
#elif defined(__APPLE__)
    system = "macos";
#elif defined(__linux__)
    system = "linux";
#endif
    return std::string(cpu) + "-" + std::string(system);
}

template <class T>
Result<T> number(const Manifest& manifest, const std::string& key) {
    const auto found = manifest.find(key);
    if (found == manifest.end()) {
        return fail(Error(SimErrc::malformed, key, "the key is missing"));
    }
    T value{};
    const std::string& text = found->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return fail(Error(SimErrc::malformed, key, "not a number"));
    }
    return value;
}

} // namespace

Manifest make_manifest(const SimulationInfo& info, const Setup& setup) {
    Manifest manifest{
        {"build.compiler", compiler_name()},
        {"build.target", target_name()},
        {"float.fingerprint", float_fingerprint()},
        {"hash.algorithm", hash_algorithm},
        {"input.fingerprint", fingerprint(info.input_schema)},
        {"input.schema", info.input_schema},
        {"random.algorithm", random_algorithm},
        {"session.seed", std::to_string(setup.seed)},
        {"session.slots", std::to_string(setup.slots)},
        {"sim.id", info.id},
        {"sim.source_digest", info.source_digest},
        {"sim.tick_rate", to_string(info.tick_rate)},
        {"sim.version", std::to_string(info.version)},
        {"state.fingerprint", fingerprint(info.state_schema)},
    };
    for (const auto& [key, value] : setup.config) {
        manifest.emplace(std::string(config_prefix) + key, value);
    }
    return manifest;
}

Result<Setup> setup_of(const Manifest& manifest) {
    const auto seed = number<std::uint64_t>(manifest, "session.seed");
    if (!seed) {
        return fail(seed.error());
    }
    const auto slots = number<std::uint16_t>(manifest, "session.slots");
    if (!slots) {
        return fail(slots.error());
    }
    Setup setup{*seed, *slots, {}};
    for (const auto& [key, value] : manifest) {
        if (key.starts_with(config_prefix)) {
            setup.config.emplace(key.substr(config_prefix.size()), value);
        }
    }
    return setup;
}

bool must_be_equal(std::string_view key) {
    constexpr std::array<std::string_view, 8> prefixes{
        "sim.", "input.", "state.", "session.", "config.", "hash.", "random.", "float."};
    return key != "sim.source_digest" &&
           std::any_of(prefixes.begin(), prefixes.end(), [key](std::string_view prefix) {
               return key.starts_with(prefix);
           });
}

std::vector<ManifestDifference> incompatibilities(const Manifest& expected,
                                                  const Manifest& actual) {
    constexpr std::string_view missing = "(missing)";
    std::vector<ManifestDifference> differences;
    const auto compare = [&](const std::string& key) {
        const auto left = expected.find(key);
        const auto right = actual.find(key);
        const std::string_view left_value =
            left == expected.end() ? missing : std::string_view(left->second);
        const std::string_view right_value =
            right == actual.end() ? missing : std::string_view(right->second);
        const bool both = (left == expected.end()) == (right == actual.end());
        if (must_be_equal(key) && !(both && left_value == right_value)) {
            differences.push_back({key, std::string(left_value), std::string(right_value)});
        }
    };
    // sim.id first: with another game everything else differs too.
    compare("sim.id");
    for (const auto& [key, value] : expected) {
        if (key != "sim.id") {
            compare(key);
        }
    }
    for (const auto& [key, value] : actual) {
        if (key != "sim.id" && !expected.contains(key)) {
            compare(key);
        }
    }
    return differences;
}

void encode_manifest(const Manifest& manifest, Bytes& target) {
    ByteWriter writer(target);
    writer.varint(manifest.size());
    for (const auto& [key, value] : manifest) {
        writer.text(key);
        writer.text(value);
    }
}

Result<Manifest> decode_manifest(ByteView bytes) {
    ByteReader reader(bytes);
    if (bytes.size() > manifest_bytes_max) {
        reader.fail(SimErrc::limit_exceeded, "manifest");
    }
    const std::uint64_t count = reader.varint("manifest.count", manifest_entries_max);
    Manifest manifest;
    for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
        const std::string_view key = reader.text("manifest.key", manifest_bytes_max);
        const std::string_view value = reader.text("manifest.value", manifest_bytes_max);
        if (reader.ok() &&
            (key.empty() || (!manifest.empty() && manifest.rbegin()->first >= key))) {
            reader.fail(SimErrc::malformed, "manifest.key");
        }
        if (reader.ok()) {
            manifest.emplace_hint(manifest.end(), key, value);
        }
    }
    reader.finish("manifest");
    if (!reader.ok()) {
        return fail(reader.error());
    }
    return manifest;
}

} // namespace twinstep
