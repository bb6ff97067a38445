// SPDX-License-Identifier: MIT
// Blocks of bytes that are used again.
#include "tick_blocks.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>

namespace twinstep::net {

void TickBlocks::configure(std::size_t bytes_max) {
    TWINSTEP_ASSERT(bytes_max / block_bytes < none);
    *this = {};
    bytes_max_ = bytes_max;
}

bool TickBlocks::fits_open(Stream stream, std::size_t size) const {
    const std::uint16_t open = open_[static_cast<std::size_t>(stream)];
    return open != none && blocks_[open].bytes.size() + size <= blocks_[open].bytes.capacity();
}

/// Gives the block's memory back to the system.
void TickBlocks::discard(std::uint16_t index) {
    bytes_ -= blocks_[index].bytes.capacity();
    blocks_[index].bytes = Bytes();
    vacant_.push_back(index);
}

void TickBlocks::recycle(std::uint16_t index) {
    Block& block = blocks_[index];
    block.bytes.clear();
    if (block.own) {
        discard(index);
    } else {
        spare_.push_back(index);
    }
}

bool TickBlocks::has_room(Stream stream, std::size_t size) {
    if (fits_open(stream, size) || (size <= block_bytes && !spare_.empty())) {
        return true;
    }
    const std::size_t wanted = std::max(size, block_bytes);
    while (bytes_ + wanted > bytes_max_ && !spare_.empty()) {
        discard(spare_.back());
        spare_.pop_back();
    }
    return bytes_ + wanted <= bytes_max_;
}

std::uint16_t TickBlocks::allocate(std::size_t size) {
    if (vacant_.empty()) {
        blocks_.emplace_back();
        // Letting go of a block never allocates.
        spare_.reserve(blocks_.capacity());
        vacant_.reserve(blocks_.capacity());
        vacant_.push_back(static_cast<std::uint16_t>(blocks_.size() - 1));
    }
    const std::uint16_t index = vacant_.back();
    vacant_.pop_back();
    blocks_[index].bytes.reserve(std::max(size, block_bytes));
    blocks_[index].own = size > block_bytes;
    bytes_ += blocks_[index].bytes.capacity();
    return index;
}

std::uint16_t TickBlocks::take(std::size_t size) {
    if (size > block_bytes || spare_.empty()) {
        return allocate(size);
    }
    const std::uint16_t index = spare_.back();
    spare_.pop_back();
    return index;
}

TickBlocks::Piece TickBlocks::add(Stream stream, ByteView bytes) {
    TWINSTEP_ASSERT(bytes.size() <= piece_bytes_max);
    std::uint16_t& open = open_of(stream);
    if (!fits_open(stream, bytes.size())) {
        if (open != none) {
            blocks_[open].open = false;
            if (blocks_[open].pieces == 0) {
                recycle(open);
            }
        }
        open = take(bytes.size());
        blocks_[open].open = true;
    }
    Block& block = blocks_[open];
    const Piece piece{open,
                      static_cast<std::uint16_t>(block.bytes.size()),
                      static_cast<std::uint16_t>(bytes.size())};
    block.bytes.insert(block.bytes.end(), bytes.begin(), bytes.end());
    ++block.pieces;
    return piece;
}

void TickBlocks::remove(const Piece& piece) {
    Block& block = blocks_[piece.block];
    TWINSTEP_ASSERT(block.pieces > 0);
    --block.pieces;
    if (block.pieces != 0) {
        return;
    }
    if (block.open) {
        block.bytes.clear();
    } else {
        recycle(piece.block);
    }
}

void TickBlocks::take_spares() {
    // One for where each stream's content begins in a block, and a sixteenth for its length.
    const std::size_t used = blocks_.size() - vacant_.size();
    const std::size_t wanted = spare_.size() + 2 + used / 16;
    while (spare_.size() < wanted && bytes_ + block_bytes <= bytes_max_) {
        spare_.push_back(allocate(block_bytes));
    }
}

std::size_t TickBlocks::memory_bytes() const {
    return bytes_ + blocks_.capacity() * sizeof(Block) +
           (spare_.capacity() + vacant_.capacity()) * sizeof(std::uint16_t);
}

} // namespace twinstep::net
