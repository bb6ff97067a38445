// SPDX-License-Identifier: MIT
// State hashing: XXH3 over canonical bytes behind a constant prefix, one hash a section.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/types.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace twinstep {

/// Name of hash and prefix in manifests; a recording made with another one is refused.
inline constexpr const char* hash_algorithm = "xxh3-128/prefix256/1";

/// Bytes of the prefix in front of everything that is hashed. XXH3's path for 17 to 240 bytes lets
/// pairs of complemented words cancel (xxHash issue 1127); behind 256 bytes no message takes it.
inline constexpr std::size_t hash_prefix_bytes = 256;

/// Longest section name and longest domain, in bytes of ASCII.
inline constexpr std::size_t section_name_bytes_max = 63;
inline constexpr std::size_t hash_domain_bytes_max = 31;

/// XXH3-128 over a prefix and then bytes that arrive in pieces of any size. Small pieces are
/// gathered first, long runs are hashed where they lie, so a large contiguous state is never
/// copied. Determinism: the result depends on the bytes only, never on how they were cut.
class Hasher {
public:
    Hasher();
    ~Hasher();
    Hasher(Hasher&&) noexcept;
    Hasher& operator=(Hasher&&) noexcept;

    /// Starts a hash. Requires short enough domain and name. Nothing is allocated.
    void begin(std::string_view domain, Tick tick, std::string_view name);

    /// Adds bytes.
    void update(ByteView bytes);

    /// At least `size` bytes to write the next bytes into; follow with commit. Requires size <=
    /// 256.
    std::span<std::byte> space(std::size_t size);
    /// Adds the first `size` bytes of the last space(). Requires that it was as large.
    void commit(std::size_t size);

    /// Ends the hash.
    Hash128 finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// One-shot form of Hasher.
Hash128 hash_bytes(std::string_view domain, Tick tick, std::string_view name, ByteView bytes);

/// Bytes of a tracked vector's elements that have one digest together.
inline constexpr std::size_t chunk_bytes = 4096;

/// XXH3-128 of one chunk without a prefix, filled up with zeros to chunk_bytes. It depends on
/// neither tick nor section, so that it can be kept for as long as the chunk stays as it is.
/// Requires at most chunk_bytes.
Hash128 hash_chunk(ByteView bytes);

/// Hashes in which each chunk of a tracked vector is computed again once, unless somebody says
/// otherwise: 512, or 16 in builds with TWINSTEP_VALIDATE. At 512 a hash of 64 MiB computes 32
/// chunks again; a write that was not marked is found within 9 s at 60 ticks a second.
std::uint32_t recheck_hashes_default();

/// XXH3-64 of raw bytes without a prefix, for checks of file structure.
std::uint64_t checksum64(ByteView bytes);

/// The checksum64 of two runs of bytes as if they lay together. Nothing is copied.
std::uint64_t checksum64(ByteView first, ByteView second);

/// The first section whose hashes differ, and both of them; the state hashes if none is named by
/// both. Nothing if the states are equal. The tick is that of `expected`.
std::optional<Divergence> difference(const StateHashes& expected, const StateHashes& actual);

/// The state hash: made from the section hashes, in order.
Hash128 combine_sections(Tick tick, std::span<const SectionHash> sections);

} // namespace twinstep
