// SPDX-License-Identifier: MIT
// What the files of the codec share: frames around bodies, signed distances, flags, endings.
#pragma once

#include "twinstep/net/wire.hpp"
#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace twinstep::net::wire::detail {

inline constexpr unsigned reaches_to_end_bit = 0x40;
inline constexpr unsigned may_be_skipped_bit = 0x80;
inline constexpr unsigned type_bits = 0x3F;

/// Writes a frame's head when made and its length when it ends; between the two the body is
/// appended to the same bytes.
class FrameScope {
public:
    FrameScope(Bytes& target, FrameType type, bool last = false)
        : target_(target)
        , last_(last) {
        const auto number = static_cast<unsigned>(type);
        target.push_back(static_cast<std::byte>(last ? number | reaches_to_end_bit : number));
        if (!last) {
            target.push_back(std::byte{0});
        }
        body_ = target.size();
    }

    FrameScope(const FrameScope&) = delete;
    FrameScope& operator=(const FrameScope&) = delete;

    ~FrameScope() {
        if (last_) {
            return;
        }
        const std::size_t size = target_.size() - body_;
        TWINSTEP_ASSERT(size < std::size_t{1} << 14U);
        if (size < 0x80) {
            target_[body_ - 1] = static_cast<std::byte>(size);
        } else {
            // Few bodies are that long, and moving one costs less than measuring each before.
            target_[body_ - 1] = static_cast<std::byte>((size & 0x7FU) | 0x80U);
            target_.insert(target_.begin() + static_cast<std::ptrdiff_t>(body_),
                           static_cast<std::byte>(size >> 7U));
        }
    }

private:
    Bytes& target_;
    std::size_t body_ = 0;
    bool last_ = false;
};

/// Zigzag of `to - from`; both are ticks, so the distance fits.
inline std::uint64_t distance(std::uint64_t from, std::uint64_t to) {
    return to >= from ? (to - from) << 1U : ((from - to) << 1U) - 1;
}

/// The tick `base + d` (or `base - d` if `back`) for a zigzag d; fails outside of the ticks.
inline std::uint64_t
tick_at(ByteReader& reader, const char* field, std::uint64_t base, bool back = false) {
    const std::uint64_t zigzag = reader.varint(field);
    const std::uint64_t steps = (zigzag >> 1U) + (zigzag & 1U);
    const bool down = ((zigzag & 1U) != 0) != back;
    if (down ? steps > base : steps > tick_max - base) {
        reader.fail(SimErrc::limit_exceeded, field);
        return 0;
    }
    return down ? base - steps : base + steps;
}

/// A byte that may be 0 or 1.
inline bool flag(ByteReader& reader, const char* field) {
    const std::uint8_t value = reader.u8(field);
    if (value > 1) {
        reader.fail(SimErrc::malformed, field);
    }
    return value == 1;
}

/// An enumerator between two others, both included.
template <class E>
E enumerator(ByteReader& reader, const char* field, E least, E greatest) {
    const std::uint8_t value = reader.u8(field);
    if (value < static_cast<std::uint8_t>(least) || value > static_cast<std::uint8_t>(greatest)) {
        reader.fail(SimErrc::malformed, field);
        return least;
    }
    return static_cast<E>(value);
}

/// Everything that is left, at most `limit` bytes.
inline ByteView rest(ByteReader& reader, const char* field, std::size_t limit) {
    if (reader.remaining() > limit) {
        reader.fail(SimErrc::limit_exceeded, field);
    }
    return reader.bytes(reader.remaining(), field);
}

inline std::string_view as_text(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline void put_hash(ByteWriter& writer, const Hash128& hash) {
    writer.u64(hash.low);
    writer.u64(hash.high);
}

inline Hash128 get_hash(ByteReader& reader, const char* field) {
    Hash128 hash;
    hash.low = reader.u64(field);
    hash.high = reader.u64(field);
    return hash;
}

/// The value if everything was read and nothing is left, otherwise the first failure.
template <class T>
Result<T> finished(ByteReader& reader, T&& value) {
    reader.finish("end");
    if (!reader.ok()) {
        return fail(reader.error());
    }
    return std::forward<T>(value);
}

/// The same for a decoder that has no value of its own.
inline Result<void> finished_void(ByteReader& reader) {
    reader.finish("end");
    if (!reader.ok()) {
        return fail(reader.error());
    }
    return {};
}

} // namespace twinstep::net::wire::detail
