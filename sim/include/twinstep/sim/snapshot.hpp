// SPDX-License-Identifier: MIT
// The two sinks behind a state's archive: snapshot bytes, and section hashes.
#pragma once

#include "twinstep/sim/archive.hpp"
#include "twinstep/sim/hash.hpp"

#include <cstddef>
#include <string_view>

namespace twinstep {

/// Largest snapshot that is loaded, in bytes.
inline constexpr std::uint64_t snapshot_bytes_max = std::uint64_t{1} << 30;
/// Most sections in a state.
inline constexpr std::size_t sections_max = 64;

namespace detail {

/// In the length of a section's name: its bytes are those of a tracked vector, hashed in chunks.
inline constexpr std::uint8_t chunked_mark = 0x80;

} // namespace detail

/// Collects canonical bytes in a buffer that the caller owns. Sections are framed: name length
/// (u8), name, byte count (u64), bytes. Values are gathered in a small stage first, so that the
/// buffer grows by what is written and is never filled with zeros in advance.
class BufferSink : public ByteSink {
public:
    /// Appends to `target`. Call finish() before using it.
    explicit BufferSink(Bytes& target);

    void put_run(ByteView bytes) override;
    void begin_section(std::string_view name) override;
    void end_section() override;
    void put_chunked_section(std::string_view name, const detail::ChunkedContent& content) override;
    /// Moves what is left in the stage to the buffer.
    void finish();

protected:
    /// Frame and count of a section whose elements follow.
    void begin_chunked_section(std::string_view name, const detail::ChunkedContent& content);

private:
    static constexpr std::size_t stage_bytes = 1024;

    void put_name(std::string_view name, std::uint8_t mark);

    void make_room(std::size_t size) override;

    Bytes& target_;
    std::size_t section_start_ = 0;
    std::array<std::byte, stage_bytes> stage_; // Written before it is read.
};

/// Hashes sections as they are written, without keeping their bytes.
class HashSink final : public ByteSink {
public:
    /// Starts the hashes of a state; `hashes` receives them and keeps its memory from tick to tick.
    void begin(Tick tick, StateHashes& hashes);
    /// Combines the sections into the state hash.
    void finish();

    void put_run(ByteView bytes) override;
    void begin_section(std::string_view name) override;
    void end_section() override;
    void put_chunked_section(std::string_view name, const detail::ChunkedContent& content) override;

    /// Each chunk of a tracked vector is computed again once in so many hashes. Requires at
    /// least 1.
    void set_recheck_hashes(std::uint32_t hashes);

private:
    void make_room(std::size_t size) override;
    void name_section(std::string_view name);
    void commit();

    Hasher hasher_;
    std::byte* space_ = nullptr;
    StateHashes* hashes_ = nullptr;
    std::size_t section_count_ = 0;
    std::uint32_t recheck_hashes_ = recheck_hashes_default();
    bool in_section_ = false;
};

namespace detail {

template <class T>
bool contiguity_holds() {
    static_assert(PaddingFree<T>,
                  "a contiguous type is trivially copyable, without padding and "
                  "without floats");
    // Bytes are only ever 0 or 1, so that a bool or an enum among the members stays valid. Pattern
    // p holds bit p of each byte's index; the inverted patterns find bytes that are never written.
    std::size_t patterns = 1;
    while ((std::size_t{1} << patterns) < sizeof(T)) {
        ++patterns;
    }
    Bytes encoded;
    for (std::size_t pattern = 0; pattern < 2 * patterns; ++pattern) {
        std::array<std::byte, sizeof(T)> memory;
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            const std::size_t bit = (i >> (pattern % patterns)) & 1U;
            memory[i] = static_cast<std::byte>(pattern < patterns ? bit : 1U - bit);
        }
        const auto value = std::bit_cast<T>(memory);
        encoded.clear();
        BufferSink sink(encoded);
        OutArchive archive(sink);
        archive(value);
        sink.finish();
        if (encoded.size() != sizeof(T) ||
            std::memcmp(encoded.data(), memory.data(), sizeof(T)) != 0) {
            return false;
        }
    }
    return true;
}

} // namespace detail

/// The head of a snapshot: magic, version, tick.
void write_snapshot_head(Bytes& target, Tick tick);
/// Checks the head and yields the tick. Errors: malformed, truncated, limit_exceeded.
Result<Tick> read_snapshot_head(ByteReader& reader);

} // namespace twinstep
