// SPDX-License-Identifier: MIT
// Differences, runs of zeros, and the place where a compressor is plugged in.
#include "keyframe_codec.hpp"

#include "compression.hpp"
#include "keyframe_part.hpp"
#include "layout.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace twinstep::replay {

namespace {

/// Shorter runs cost more as runs than as zeros.
constexpr std::size_t zero_run_bytes_min = 4;

/// First zero of a run of at least zero_run_bytes_min, from `from` on, or the end.
std::size_t find_zero_run(ByteView raw, std::size_t from) {
    std::size_t zeros = 0;
    for (std::size_t i = from; i < raw.size(); ++i) {
        zeros = raw[i] == std::byte{0} ? zeros + 1 : 0;
        if (zeros == zero_run_bytes_min) {
            return i + 1 - zeros;
        }
    }
    return raw.size();
}

std::size_t count_zeros(ByteView raw, std::size_t from) {
    std::size_t end = from;
    while (end < raw.size() && raw[end] == std::byte{0}) {
        ++end;
    }
    return end - from;
}

void write_zero_runs(ByteView raw, Bytes& target) {
    ByteWriter writer(target);
    std::size_t at = 0;
    while (at < raw.size()) {
        const std::size_t zeros = count_zeros(raw, at);
        const std::size_t begin = at + zeros;
        const std::size_t end = find_zero_run(raw, begin);
        writer.varint(zeros);
        writer.varint(end - begin);
        writer.bytes(raw.subspan(begin, end - begin));
        at = end;
    }
}

Result<void> read_zero_runs(ByteView stored, std::uint64_t raw_bytes, Bytes& target) {
    // All zeros first, so that none of the many runs makes the list grow. The size is one that the
    // stored bytes may have.
    target.resize(static_cast<std::size_t>(raw_bytes));
    std::size_t end = 0;
    ByteReader reader(stored);
    while (reader.ok() && reader.remaining() > 0) {
        const std::uint64_t zeros = reader.varint("keyframe.zeros", target.size() - end);
        end += static_cast<std::size_t>(zeros);
        const std::uint64_t count = reader.varint("keyframe.bytes", target.size() - end);
        const ByteView bytes = reader.bytes(count, "keyframe.bytes");
        std::copy(bytes.begin(), bytes.end(), target.begin() + static_cast<std::ptrdiff_t>(end));
        end += bytes.size();
        if (reader.ok() && zeros == 0 && count == 0) {
            reader.fail(SimErrc::malformed, "keyframe.zeros");
        }
    }
    target.resize(end);
    if (!reader.ok()) {
        return fail(as(Errc::corrupt_record, reader.error()));
    }
    return {};
}

Error no_such_codec(KeyframeCodec codec) {
    return Error(Errc::unsupported_version,
                 "keyframe.codec",
                 std::string("this build has no ") + to_string(codec));
}

/// Fast to write, and most of what higher levels gain.
constexpr int zstd_level = 3;

Result<void> read_zstd(ByteView stored, std::uint64_t raw_bytes, Bytes& target) {
    // How much a keyframe may grow was decided where its base is known; see is_plausible.
    const auto bytes = static_cast<std::size_t>(raw_bytes);
    Result<void> done =
        decompress(stored, {bytes, static_cast<std::size_t>(keyframe_bytes_max), bytes}, target);
    if (!done) {
        done.error().field = "keyframe.data";
    }
    return done;
}

} // namespace

const char* to_string(KeyframeCodec codec) {
    switch (codec) {
    case KeyframeCodec::raw:
        return "raw";
    case KeyframeCodec::zero_runs:
        return "zero_runs";
    case KeyframeCodec::zstd:
        return "zstd";
    }
    return "unknown";
}

bool has_codec(KeyframeCodec codec) {
    switch (codec) {
    case KeyframeCodec::raw:
    case KeyframeCodec::zero_runs:
        return true;
    case KeyframeCodec::zstd:
        return has_compression();
    }
    return false;
}

Result<void> compress_keyframe(KeyframeCodec codec, ByteView raw, Bytes& target) {
    target.clear();
    if (!has_codec(codec)) {
        return fail(no_such_codec(codec));
    }
    switch (codec) {
    case KeyframeCodec::raw:
        target.assign(raw.begin(), raw.end());
        return {};
    case KeyframeCodec::zero_runs:
        write_zero_runs(raw, target);
        return {};
    case KeyframeCodec::zstd:
        return compress(raw, zstd_level, target);
    }
    return fail(no_such_codec(codec));
}

Result<void>
decompress_keyframe(KeyframeCodec codec, ByteView stored, std::uint64_t raw_bytes, Bytes& target) {
    target.clear();
    if (!has_codec(codec)) {
        return fail(no_such_codec(codec));
    }
    Result<void> done;
    switch (codec) {
    case KeyframeCodec::raw:
        target.assign(stored.begin(), stored.end());
        break;
    case KeyframeCodec::zero_runs:
        done = read_zero_runs(stored, raw_bytes, target);
        break;
    case KeyframeCodec::zstd:
        done = read_zstd(stored, raw_bytes, target);
        break;
    }
    if (done && target.size() != raw_bytes) {
        return fail(Error(Errc::corrupt_record, "keyframe.data", "not as large as it should be"));
    }
    return done;
}

void xor_keyframe(std::span<std::byte> bytes, ByteView base) {
    const std::size_t count = std::min(bytes.size(), base.size());
    std::size_t i = 0;
    // In words, because compilers are told not to do it by themselves (docs/decisions/0006).
    for (; count - i >= sizeof(std::uint64_t); i += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::uint64_t other = 0;
        std::memcpy(&word, bytes.data() + i, sizeof(word));
        std::memcpy(&other, base.data() + i, sizeof(other));
        word ^= other;
        std::memcpy(bytes.data() + i, &word, sizeof(word));
    }
    for (; i < count; ++i) {
        bytes[i] ^= base[i];
    }
}

Result<ByteView>
KeyframeEncoder::encode(Tick tick, const Hash128& state, ByteView snapshot, KeyframeInfo& info) {
    TWINSTEP_ASSERT(!snapshot.empty());
    if (snapshot.size() > keyframe_bytes_max) {
        return fail(Error(Errc::limit_exceeded, "keyframe.raw_bytes", "the state is too large"));
    }
    info = {tick, state, snapshot.size(), 0, options_.codec, std::nullopt};
    const bool is_whole = options_.whole_every <= 1 || count_ % options_.whole_every == 0;
    ByteView raw = snapshot;
    if (is_whole) {
        base_.assign(snapshot.begin(), snapshot.end());
        base_tick_ = tick;
    } else {
        delta_.assign(snapshot.begin(), snapshot.end());
        xor_keyframe(delta_, base_);
        raw = delta_;
        info.base = base_tick_;
    }
    if (auto done = compress_keyframe(options_.codec, raw, stored_); !done) {
        return fail(done.error());
    }
    ++count_;
    ByteView stored = stored_;
    info.stored_bytes = stored.size();
    const bool believed = is_plausible(info, is_whole ? 0 : base_.size());
    if (stored.size() >= snapshot.size() || !believed) {
        // Nothing is gained, or a reader would not believe it.
        info.codec = KeyframeCodec::raw;
        info.base = std::nullopt;
        stored = snapshot;
    }
    info.stored_bytes = stored.size();
    return stored;
}

} // namespace twinstep::replay
