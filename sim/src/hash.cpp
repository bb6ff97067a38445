// SPDX-License-Identifier: MIT
// XXH3 behind the constant prefix. The only file that sees xxHash.
#include "twinstep/sim/hash.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#define XXH_INLINE_ALL
#include "twinstep/sim/assert.hpp"

#include <xxhash.h>

namespace twinstep {

namespace {

// Layout of the prefix; docs/recording-format.md, "State hash".
constexpr std::size_t prefix_tick_offset = 32;
constexpr std::size_t prefix_name_offset = 40;

// Pieces below this size are gathered; measured, gathering wins up to about 1 KiB.
constexpr std::size_t direct_bytes_min = 1024;
constexpr std::size_t gather_bytes = 4096;

Hash128 from_xxhash(XXH128_hash_t hash) {
    return {hash.low64, hash.high64};
}

} // namespace

struct Hasher::State {
    XXH3_state_t stream;
    std::array<std::byte, hash_prefix_bytes + gather_bytes> buffer;
    std::size_t used = 0;
    bool streaming = false;

    void flush() {
        if (!streaming) {
            XXH3_128bits_reset(&stream);
            streaming = true;
        }
        XXH3_128bits_update(&stream, buffer.data(), used);
        used = 0;
    }
};

Hasher::Hasher()
    : state_(std::make_unique<State>()) {}

Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::begin(std::string_view domain, Tick tick, std::string_view name) {
    TWINSTEP_ASSERT(domain.size() <= hash_domain_bytes_max);
    TWINSTEP_ASSERT(name.size() <= section_name_bytes_max);
    std::byte* prefix = state_->buffer.data();
    std::memset(prefix, 0, hash_prefix_bytes);
    std::memcpy(prefix, domain.data(), domain.size());
    const std::uint64_t ordered = detail::little_endian(tick.value);
    std::memcpy(prefix + prefix_tick_offset, &ordered, sizeof(ordered));
    if (!name.empty()) { // memcpy takes no null pointer, not even for nothing.
        std::memcpy(prefix + prefix_name_offset, name.data(), name.size());
    }
    state_->used = hash_prefix_bytes;
    state_->streaming = false;
}

void Hasher::update(ByteView bytes) {
    if (bytes.size() >= direct_bytes_min) {
        state_->flush();
        XXH3_128bits_update(&state_->stream, bytes.data(), bytes.size());
    } else if (!bytes.empty()) {
        if (state_->buffer.size() - state_->used < bytes.size()) {
            state_->flush();
        }
        std::memcpy(state_->buffer.data() + state_->used, bytes.data(), bytes.size());
        state_->used += bytes.size();
    }
}

std::span<std::byte> Hasher::space(std::size_t size) {
    TWINSTEP_ASSERT(size <= hash_prefix_bytes);
    if (state_->buffer.size() - state_->used < size) {
        state_->flush();
    }
    return std::span(state_->buffer).subspan(state_->used);
}

void Hasher::commit(std::size_t size) {
    TWINSTEP_ASSERT(size <= state_->buffer.size() - state_->used);
    state_->used += size;
}

Hash128 Hasher::finish() {
    if (!state_->streaming) {
        return from_xxhash(XXH3_128bits(state_->buffer.data(), state_->used));
    }
    state_->flush();
    return from_xxhash(XXH3_128bits_digest(&state_->stream));
}

Hash128 hash_bytes(std::string_view domain, Tick tick, std::string_view name, ByteView bytes) {
    Hasher hasher;
    hasher.begin(domain, tick, name);
    hasher.update(bytes);
    return hasher.finish();
}

Hash128 hash_chunk(ByteView bytes) {
    TWINSTEP_ASSERT(bytes.size() <= chunk_bytes);
    if (bytes.size() == chunk_bytes) {
        return from_xxhash(XXH3_128bits(bytes.data(), chunk_bytes));
    }
    std::array<std::byte, chunk_bytes> filled{};
    std::copy(bytes.begin(), bytes.end(), filled.begin());
    return from_xxhash(XXH3_128bits(filled.data(), chunk_bytes));
}

std::uint32_t recheck_hashes_default() {
#if defined(TWINSTEP_VALIDATE_ENABLED) && TWINSTEP_VALIDATE_ENABLED
    return 16;
#else
    return 512;
#endif
}

std::uint64_t checksum64(ByteView bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t checksum64(ByteView first, ByteView second) {
    XXH3_state_t stream;
    XXH3_64bits_reset(&stream);
    XXH3_64bits_update(&stream, first.data(), first.size());
    XXH3_64bits_update(&stream, second.data(), second.size());
    return XXH3_64bits_digest(&stream);
}

std::optional<Divergence> difference(const StateHashes& expected, const StateHashes& actual) {
    if (expected.state == actual.state) {
        return std::nullopt;
    }
    const std::size_t both = std::min(expected.sections.size(), actual.sections.size());
    for (std::size_t i = 0; i < both; ++i) {
        const SectionHash& left = expected.sections[i];
        const SectionHash& right = actual.sections[i];
        if (left.hash != right.hash) {
            return Divergence{expected.tick, left.name, {}, to_hex(left.hash), to_hex(right.hash)};
        }
    }
    return Divergence{expected.tick, {}, {}, to_hex(expected.state), to_hex(actual.state)};
}

} // namespace twinstep
