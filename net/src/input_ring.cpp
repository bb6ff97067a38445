// SPDX-License-Identifier: MIT
// Input ring and margin window.
#include "input_ring.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <bit>

namespace twinstep::net {

void InputRing::configure(std::size_t ticks, std::size_t bytes_max) {
    TWINSTEP_ASSERT(ticks >= 1);
    bytes_max_ = bytes_max;
    ticks_and_one_.assign(std::bit_ceil(ticks), 0);
    sizes_.assign(ticks_and_one_.size(), 0);
    pool_.assign(ticks_and_one_.size() * bytes_max, std::byte{});
}

void InputRing::clear() {
    std::fill(ticks_and_one_.begin(), ticks_and_one_.end(), 0);
}

InputRing::Put InputRing::put(std::uint64_t tick, ByteView value) {
    TWINSTEP_ASSERT(value.size() <= bytes_max_);
    const std::size_t index = index_of(tick);
    if (has(tick)) {
        const ByteView first = at(tick);
        return std::equal(first.begin(), first.end(), value.begin(), value.end()) ? Put::same
                                                                                  : Put::different;
    }
    ticks_and_one_[index] = tick + 1;
    sizes_[index] = static_cast<std::uint16_t>(value.size());
    std::copy(value.begin(),
              value.end(),
              pool_.begin() + static_cast<std::ptrdiff_t>(index * bytes_max_));
    return Put::accepted;
}

ByteView InputRing::at(std::uint64_t tick) const {
    TWINSTEP_ASSERT(has(tick));
    const std::size_t index = index_of(tick);
    return ByteView(pool_).subspan(index * bytes_max_, sizes_[index]);
}

std::size_t InputRing::memory_bytes() const {
    return ticks_and_one_.capacity() * sizeof(std::uint64_t) +
           sizes_.capacity() * sizeof(std::uint16_t) + pool_.capacity();
}

void MarginWindow::clear() {
    blocks_.fill({});
}

void MarginWindow::add(std::uint64_t tick, Micros early) {
    const std::uint64_t number = tick / block_ticks;
    Block& block = blocks_[static_cast<std::size_t>(number % blocks)];
    constexpr std::int64_t limit = 60'000'000;
    const auto value = static_cast<std::int32_t>(std::clamp(early.value, -limit, limit));
    if (block.number_and_one != number + 1) {
        block = {number + 1, value};
    } else {
        block.least_us = std::min(block.least_us, value);
    }
}

bool MarginWindow::least(std::uint64_t tick, std::int32_t& margin_ms) const {
    const std::uint64_t number = tick / block_ticks;
    bool any = false;
    std::int32_t least_us = 0;
    for (const Block& block : blocks_) {
        // Inputs run ahead of the closed ticks, so younger blocks count too.
        if (block.number_and_one != 0 && block.number_and_one + blocks > number + 1) {
            least_us = any ? std::min(least_us, block.least_us) : block.least_us;
            any = true;
        }
    }
    // Rounded down: half a millisecond late is late.
    margin_ms = least_us >= 0 ? least_us / 1000 : -((-least_us + 999) / 1000);
    return any;
}

} // namespace twinstep::net
