// SPDX-License-Identifier: MIT
// The manifest: what must be equal for two runs to be comparable, and what is only good to know.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep {

/// Largest encoded manifest, in bytes; most entries.
inline constexpr std::size_t manifest_bytes_max = std::size_t{1} << 20;
inline constexpr std::size_t manifest_entries_max = 4096;

/// Sorted keys and values, both UTF-8. Keys of later versions are kept as they are.
using Manifest = std::map<std::string, std::string>;

/// A key whose value differs.
struct ManifestDifference {
    std::string key;
    std::string expected;
    std::string actual;
};

/// The manifest of a session: identity, schemas, tick rate, seed, slots, config, algorithms and the
/// float fingerprint; and, only good to know, compiler, target and source digest.
Manifest make_manifest(const SimulationInfo& info, const Setup& setup);

/// The set-up a manifest describes. Errors: malformed, with the key as field.
Result<Setup> setup_of(const Manifest& manifest);

/// The keys that must be equal and are not, sim.id first. Empty: the two are comparable.
std::vector<ManifestDifference> incompatibilities(const Manifest& expected, const Manifest& actual);

/// True for keys that must be equal: "sim.", "input.", "state.", "session.", "config.", "hash.",
/// "random." and "float." keys, except sim.source_digest.
bool must_be_equal(std::string_view key);

/// Appends: entry count (varint), then key and value as varint length and bytes, sorted by key.
void encode_manifest(const Manifest& manifest, Bytes& target);
/// Errors: truncated, malformed (unsorted or repeated key), limit_exceeded, trailing_bytes.
Result<Manifest> decode_manifest(ByteView bytes);

} // namespace twinstep
