// SPDX-License-Identifier: MIT
// Runs: sequences of inputs as full values, XOR differences and repetitions.
#include "wire_runs.hpp"

#include "twinstep/net/wire.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <cstring>

namespace twinstep::net::wire {

using namespace detail;

namespace {

void assign(InputValue& target, ByteView value) {
    if (!value.empty()) {
        std::memcpy(target.bytes.data(), value.data(), value.size());
    }
    target.size = static_cast<std::uint16_t>(value.size());
}

/// Appends the mask of the groups that differ and their XOR. Requires equal sizes.
void put_difference(Bytes& target, ByteView last, ByteView value) {
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
            const std::byte difference = value[at] ^ last[at];
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

void detail::put_changed(Bytes& target, ByteView last, ByteView value) {
    if (value.size() == last.size()) {
        put_difference(target, last, value);
    } else {
        ByteWriter writer(target);
        writer.u8(0);
        writer.varint(value.size());
        writer.bytes(value);
    }
}

RunWriter::RunWriter(Bytes& target, ByteView neutral)
    : target_(&target) {
    TWINSTEP_ASSERT(neutral.size() <= input_bytes_max);
    assign(last_, neutral);
}

void RunWriter::add(ByteView value) {
    TWINSTEP_ASSERT(value.size() <= input_bytes_max);
    if (same_value(last_.view(), value)) {
        if (++repeats_ == repeats_max) {
            finish();
        }
        return;
    }
    finish();
    put_changed(*target_, last_.view(), value);
    assign(last_, value);
}

bool RunWriter::try_add(ByteView value, std::size_t bytes_max) {
    const std::size_t size = target_->size();
    const std::uint8_t repeats = repeats_;
    add(value);
    if (finished_bytes() <= bytes_max) {
        return true;
    }
    target_->resize(size);
    repeats_ = repeats;
    return false;
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
