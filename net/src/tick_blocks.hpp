// SPDX-License-Identifier: MIT
// Blocks of bytes that are used again, for what is stored and let go of in the order of ticks.
#pragma once

#include "twinstep/sim/bytes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace twinstep::net {

/// Stores pieces of bytes one behind the other in blocks, each block until its last piece is let
/// go of; then it is used again, so that a store that is as full as before allocates nothing.
class TickBlocks {
public:
    /// Few pieces are longer; those have a block of their own, which is not kept.
    static constexpr std::size_t block_bytes = 4096;
    static constexpr std::size_t piece_bytes_max = 65'535;

    /// Where a piece lies.
    struct Piece {
        std::uint16_t block = 0;
        std::uint16_t offset = 0;
        std::uint16_t size = 0;
    };

    /// Pieces that live about equally long; streams share no block.
    enum class Stream : std::uint8_t { raw, packed };

    /// Empties the store. Blocks take at most `bytes_max` bytes.
    void configure(std::size_t bytes_max);

    /// True if a piece of so many bytes may be added. Gives up unused blocks for it.
    bool has_room(Stream stream, std::size_t size);
    /// Requires has_room.
    Piece add(Stream stream, ByteView bytes);
    void remove(const Piece& piece);

    /// Valid until the piece is removed.
    ByteView view(const Piece& piece) const {
        return ByteView(blocks_[piece.block].bytes).subspan(piece.offset, piece.size);
    }

    /// Allocates what a content that varies a little will need, once it is as large as it gets.
    void take_spares();

    std::size_t memory_bytes() const;

private:
    struct Block {
        Bytes bytes;
        std::uint32_t pieces = 0;
        bool open = false; ///< The last one of a stream: it takes more.
        bool own = false;  ///< Of one long piece.
    };

    static constexpr std::uint16_t none = UINT16_MAX;

    bool fits_open(Stream stream, std::size_t size) const;
    void recycle(std::uint16_t index);
    void discard(std::uint16_t index);
    std::uint16_t allocate(std::size_t size);
    std::uint16_t take(std::size_t size);

    std::uint16_t& open_of(Stream stream) { return open_[static_cast<std::size_t>(stream)]; }

    std::vector<Block> blocks_;
    std::vector<std::uint16_t> spare_;  ///< Blocks of block_bytes without pieces.
    std::vector<std::uint16_t> vacant_; ///< Entries of blocks_ without memory.
    std::array<std::uint16_t, 2> open_{none, none};
    std::size_t bytes_ = 0; ///< Of all blocks.
    std::size_t bytes_max_ = 0;
};

} // namespace twinstep::net
