// SPDX-License-Identifier: MIT
// Little-endian bytes: a writer that appends, and a sticky reader that never reads past the end.
#pragma once

#include "twinstep/sim/result.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace twinstep {

/// A growable run of bytes.
using Bytes = std::vector<std::byte>;
/// Bytes somebody else owns.
using ByteView = std::span<const std::byte>;

/// Longest varint: ten groups of seven bits.
inline constexpr std::size_t varint_bytes_max = 10;

namespace detail {

/// An unsigned integer with its bytes in little-endian order; its own inverse.
template <class T>
constexpr T little_endian(T value) {
    static_assert(std::is_unsigned_v<T>);
    if constexpr (std::endian::native == std::endian::little || sizeof(T) == 1) {
        return value;
    } else {
        T swapped = 0;
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            swapped = static_cast<T>((swapped << 8) | (value & 0xFF));
            value = static_cast<T>(value >> 8);
        }
        return swapped;
    }
}

} // namespace detail

/// Appends values to a Bytes that the caller owns and may reuse. Nothing is allocated once the
/// buffer has reached its working size.
class ByteWriter {
public:
    explicit ByteWriter(Bytes& target)
        : target_(target) {}

    void u8(std::uint8_t value) { target_.push_back(static_cast<std::byte>(value)); }

    void u16(std::uint16_t value) { fixed(value); }

    void u32(std::uint32_t value) { fixed(value); }

    void u64(std::uint64_t value) { fixed(value); }

    /// LEB128, shortest form: seven bits a byte, least significant first.
    void varint(std::uint64_t value) {
        while (value >= 0x80) {
            u8(static_cast<std::uint8_t>(value | 0x80));
            value >>= 7;
        }
        u8(static_cast<std::uint8_t>(value));
    }

    void bytes(ByteView view) {
        if (!view.empty()) {
            const std::size_t offset = target_.size();
            target_.resize(offset + view.size());
            std::memcpy(target_.data() + offset, view.data(), view.size());
        }
    }

    /// A varint length, then the text.
    void text(std::string_view view) {
        varint(view.size());
        bytes(std::as_bytes(std::span(view)));
    }

private:
    template <class T>
    void fixed(T value) {
        const T ordered = detail::little_endian(value);
        const std::size_t offset = target_.size();
        target_.resize(offset + sizeof(T));
        std::memcpy(target_.data() + offset, &ordered, sizeof(T));
    }

    Bytes& target_;
};

/// Reads values from bytes that may be hostile. After the first failure every read yields zero or
/// an empty view, and `error()` says what failed first, where and in which field. Nothing is
/// allocated.
class ByteReader {
public:
    explicit ByteReader(ByteView source, std::uint64_t base_offset = 0)
        : source_(source)
        , base_offset_(base_offset) {}

    std::uint8_t u8(const char* field) { return fixed<std::uint8_t>(field); }

    std::uint16_t u16(const char* field) { return fixed<std::uint16_t>(field); }

    std::uint32_t u32(const char* field) { return fixed<std::uint32_t>(field); }

    std::uint64_t u64(const char* field) { return fixed<std::uint64_t>(field); }

    /// A shortest-form LEB128 number of at most `limit`. A longer spelling of a number is
    /// malformed: otherwise two different files could mean the same thing.
    std::uint64_t varint(const char* field, std::uint64_t limit = UINT64_MAX);

    /// `count` bytes, still owned by the source.
    ByteView bytes(std::uint64_t count, const char* field);

    /// A varint length of at most `limit`, then that many bytes as text.
    std::string_view text(const char* field, std::uint64_t limit);

    /// Fails with `code` at the current offset unless something failed before.
    void fail(SimErrc code, const char* field);

    /// Fails with trailing_bytes if anything is left.
    void finish(const char* field);

    bool ok() const { return code_ == SimErrc{}; }

    std::size_t offset() const { return offset_; }

    std::size_t remaining() const { return source_.size() - offset_; }

    /// The first failure, with its offset counted from `base_offset`. Requires !ok().
    Error error() const;

private:
    template <class T>
    T fixed(const char* field) {
        if (remaining() < sizeof(T)) {
            fail(SimErrc::truncated, field);
            return 0;
        }
        T value;
        std::memcpy(&value, source_.data() + offset_, sizeof(T));
        offset_ += sizeof(T);
        return detail::little_endian(value);
    }

    ByteView source_;
    std::uint64_t base_offset_ = 0;
    std::size_t offset_ = 0;
    std::size_t error_offset_ = 0;
    SimErrc code_{};
    const char* field_ = "";
};

} // namespace twinstep
