// SPDX-License-Identifier: MIT
// Runs: sequences of inputs as full values, XOR differences and repetitions.
#include "twinstep/net/wire.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <cstring>

namespace twinstep::net::wire {

namespace {

constexpr unsigned repeat_base = 0x7F; ///< Byte of a repetition, minus how often.
constexpr std::uint8_t repeats_max = 128;
constexpr std::size_t groups = 7;

constexpr std::size_t group_bytes(std::size_t size) {
    return (size + groups - 1) / groups;
}

void assign(InputValue& target, ByteView value) {
    if (!value.empty()) {
        std::memcpy(target.bytes.data(), value.data(), value.size());
    }
    target.size = static_cast<std::uint16_t>(value.size());
}

bool equal(const InputValue& last, ByteView value) {
    return last.size == value.size() &&
           (value.empty() || std::memcmp(last.bytes.data(), value.data(), value.size()) == 0);
}

/// Appends the mask of the groups that differ and their XOR. Requires equal sizes.
void put_difference(Bytes& target, const InputValue& last, ByteView value) {
    const std::size_t size = value.size();
    const std::size_t width = group_bytes(size);
    const std::size_t start = target.size();
    target.resize(start + 1 + size);
    std::byte* const out = target.data() + start + 1;
    std::size_t written = 0;
    unsigned mask = 0;
    for (std::size_t i = 0, from = 0; from < size; ++i, from += width) {
        const std::size_t end = std::min(size, from + width);
        std::byte changed{0};
        for (std::size_t at = from; at < end; ++at) {
            const std::byte difference = value[at] ^ last.bytes[at];
            out[written + at - from] = difference;
            changed |= difference;
        }
        if (changed != std::byte{0}) {
            mask |= 1U << i;
            written += end - from;
        }
    }
    target[start] = static_cast<std::byte>(mask);
    target.resize(start + 1 + written);
}

} // namespace

RunWriter::RunWriter(Bytes& target, ByteView neutral)
    : target_(&target) {
    TWINSTEP_ASSERT(neutral.size() <= input_bytes_max);
    assign(last_, neutral);
}

void RunWriter::add(ByteView value) {
    TWINSTEP_ASSERT(value.size() <= input_bytes_max);
    if (equal(last_, value)) {
        if (++repeats_ == repeats_max) {
            finish();
        }
        return;
    }
    finish();
    if (value.size() == last_.size) {
        put_difference(*target_, last_, value);
    } else {
        ByteWriter writer(*target_);
        writer.u8(0);
        writer.varint(value.size());
        writer.bytes(value);
    }
    assign(last_, value);
}

bool RunWriter::try_add(ByteView value, std::size_t bytes_max) {
    const std::size_t size = target_->size();
    const std::uint8_t repeats = repeats_;
    add(value);
    if (finished_bytes() <= bytes_max) {
        return true;
    }
    roll_back(size, repeats);
    return false;
}

void RunWriter::roll_back(std::size_t size, std::uint8_t repeats) {
    target_->resize(size);
    repeats_ = repeats;
}

void RunWriter::finish() {
    if (repeats_ != 0) {
        target_->push_back(static_cast<std::byte>(repeat_base + repeats_));
        repeats_ = 0;
    }
}

RunReader::RunReader(ByteView runs, ByteView neutral, std::size_t value_bytes_max)
    : runs_(runs)
    , value_bytes_max_(std::min(value_bytes_max, input_bytes_max)) {
    TWINSTEP_ASSERT(neutral.size() <= input_bytes_max);
    assign(last_, neutral);
}

Result<ByteView> RunReader::next() {
    if (values_ == window_ticks_max) {
        return stop(SimErrc::limit_exceeded, "runs");
    }
    if (repeats_ == 0) {
        if (at_ == runs_.size()) {
            return stop(SimErrc::truncated, "runs");
        }
        const unsigned head = std::to_integer<unsigned>(runs_[at_++]);
        if (head > repeat_base) {
            // Two in a row would be another spelling of one, unless the first is full.
            if (open_repeat_) {
                return stop(SimErrc::malformed, "repeat");
            }
            repeats_ = static_cast<std::uint8_t>(head - repeat_base);
            open_repeat_ = repeats_ != repeats_max;
        } else {
            open_repeat_ = false;
            Result<void> read = head == 0 ? read_full() : read_difference(head);
            if (!read) {
                return fail(std::move(read.error()));
            }
            ++values_;
            return last_.view();
        }
    }
    --repeats_;
    ++values_;
    return last_.view();
}

Result<void> RunReader::read_full() {
    ByteReader reader(runs_.subspan(at_), at_);
    const std::uint64_t size = reader.varint("input.size", value_bytes_max_);
    if (reader.ok() && size == last_.size) {
        reader.fail(SimErrc::malformed, "input.size"); // A difference or a repetition is shorter.
    }
    const ByteView value = reader.bytes(size, "input");
    if (!reader.ok()) {
        at_ = runs_.size();
        return fail(reader.error());
    }
    at_ += reader.offset();
    assign(last_, value);
    return {};
}

Result<void> RunReader::read_difference(unsigned mask) {
    const std::size_t size = last_.size;
    const std::size_t width = group_bytes(size);
    for (std::size_t i = 0; i < groups; ++i) {
        if ((mask >> i & 1U) == 0) {
            continue;
        }
        const std::size_t from = i * width;
        if (from >= size) {
            return stop(SimErrc::malformed, "groups");
        }
        const std::size_t count = std::min(width, size - from);
        if (count > runs_.size() - at_) {
            return stop(SimErrc::truncated, "groups");
        }
        std::byte changed{0};
        for (std::size_t k = 0; k < count; ++k) {
            const std::byte difference = runs_[at_ + k];
            last_.bytes[from + k] ^= difference;
            changed |= difference;
        }
        if (changed == std::byte{0}) {
            return stop(SimErrc::malformed, "groups");
        }
        at_ += count;
    }
    return {};
}

tl::unexpected<Error> RunReader::stop(SimErrc code, const char* field) {
    const std::size_t offset = at_;
    at_ = runs_.size();
    repeats_ = 0;
    return fail(Error(code, field).at(offset));
}

} // namespace twinstep::net::wire
