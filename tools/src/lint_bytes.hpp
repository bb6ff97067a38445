// SPDX-License-Identifier: MIT
// Numbers and names in object files, of either byte order, without a step outside of the file.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace twinstep::tools::lint {

/// Longest name that is looked at; what follows is cut off. Bounds the work for files whose names
/// all begin in one long run of bytes.
inline constexpr std::size_t name_bytes_max = 4096;

/// A view that knows its byte order. What lies outside reads as zero; whoever has to know asks
/// part() first.
class ObjectBytes {
public:
    ObjectBytes() = default;

    ObjectBytes(ByteView bytes, bool big_endian)
        : bytes_(bytes)
        , big_endian_(big_endian) {}

    std::uint64_t size() const { return bytes_.size(); }

    ByteView view() const { return bytes_; }

    std::uint8_t u8(std::uint64_t at) const { return static_cast<std::uint8_t>(number(at, 1)); }

    std::uint16_t u16(std::uint64_t at) const { return static_cast<std::uint16_t>(number(at, 2)); }

    std::uint32_t u32(std::uint64_t at) const { return static_cast<std::uint32_t>(number(at, 4)); }

    std::uint64_t u64(std::uint64_t at) const { return number(at, 8); }

    /// 4 or 8 bytes.
    std::uint64_t word(std::uint64_t at, bool wide) const { return wide ? u64(at) : u32(at); }

    bool has(std::uint64_t at, std::uint64_t bytes) const {
        return at <= size() && bytes <= size() - at;
    }

    /// `bytes` bytes at `at`. Errors: truncated, with `what` and the offset.
    Result<ObjectBytes> part(std::uint64_t at, std::uint64_t bytes, std::string_view what) const {
        if (!has(at, bytes)) {
            return fail(
                Error(SimErrc::truncated, std::string(what), "it lies beyond the end of the file")
                    .at(std::min(at, size())));
        }
        return ObjectBytes(
            bytes_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(bytes)),
            big_endian_);
    }

    /// The text at `at` up to a zero byte, or up to `bytes_max`; empty outside.
    std::string_view name(std::uint64_t at, std::uint64_t bytes_max = name_bytes_max) const {
        if (at >= size()) {
            return {};
        }
        const auto longest = static_cast<std::size_t>(std::min(bytes_max, size() - at));
        const char* begin = reinterpret_cast<const char*>(bytes_.data()) + at;
        const void* end = std::memchr(begin, 0, longest);
        return {begin,
                end == nullptr ? longest
                               : static_cast<std::size_t>(static_cast<const char*>(end) - begin)};
    }

private:
    std::uint64_t number(std::uint64_t at, std::uint64_t bytes) const {
        std::uint64_t value = 0;
        if (has(at, bytes)) {
            for (std::uint64_t i = 0; i < bytes; ++i) {
                const std::uint64_t place = big_endian_ ? at + i : at + bytes - 1 - i;
                value = value << 8 |
                        std::to_integer<std::uint64_t>(bytes_[static_cast<std::size_t>(place)]);
            }
        }
        return value;
    }

    ByteView bytes_;
    bool big_endian_ = false;
};

} // namespace twinstep::tools::lint
