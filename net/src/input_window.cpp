// SPDX-License-Identifier: MIT
// The ring of unacknowledged inputs.
#include "input_window.hpp"

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/frame.hpp"

#include <algorithm>

namespace twinstep::net {

void assign(wire::InputValue& value, ByteView bytes) {
    TWINSTEP_ASSERT(bytes.size() <= input_bytes_max);
    std::copy(bytes.begin(), bytes.end(), value.bytes.begin());
    value.size = static_cast<std::uint16_t>(bytes.size());
}

void InputWindow::start(std::uint64_t first, ByteView neutral) {
    first_ = first;
    count_ = 0;
    assign(last_, neutral);
}

void InputWindow::append(ByteView input) {
    TWINSTEP_ASSERT(count_ < capacity);
    assign(last_, input);
    values_[next() % capacity] = last_;
    ++count_;
}

std::size_t InputWindow::repeat(std::size_t count) {
    const std::size_t fits = std::min(count, room());
    for (std::size_t i = 0; i < fits; ++i) {
        values_[next() % capacity] = last_;
        ++count_;
    }
    return fits;
}

std::uint64_t InputWindow::acknowledge(std::uint64_t tick) {
    if (tick <= first_) {
        return 0;
    }
    const std::uint64_t beyond = tick > next() ? tick - next() : 0;
    count_ = beyond > 0 ? 0 : static_cast<std::size_t>(next() - tick);
    first_ = tick;
    return beyond;
}

ByteView InputWindow::at(std::uint64_t tick) const {
    TWINSTEP_ASSERT(tick >= first_);
    TWINSTEP_ASSERT(tick < next());
    return values_[tick % capacity].view();
}

std::size_t InputWindow::encode(std::uint64_t first,
                                ByteView neutral,
                                std::size_t bytes_max,
                                Bytes& target) const {
    target.clear();
    wire::RunWriter writer(target, neutral);
    std::size_t count = 0;
    for (std::uint64_t tick = first; tick < next(); ++tick) {
        if (!writer.try_add(at(tick), bytes_max)) {
            break;
        }
        ++count;
    }
    writer.finish();
    return count;
}

} // namespace twinstep::net
