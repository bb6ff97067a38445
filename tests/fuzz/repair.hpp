// SPDX-License-Identifier: MIT
// Makes the checks of a damaged recording right again, as far as its lengths make sense: otherwise
// nothing behind the first check would ever be reached.
#pragma once

#include "twinstep/replay/format.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/hash.hpp"

#include <cstddef>
#include <cstdint>

/// For recordings of either form and for side files of keyframes.
class Repair {
public:
    explicit Repair(twinstep::Bytes& file)
        : file_(file) {}

    /// Of a recording.
    void run();
    /// Of a side file.
    void run_side_file();

private:
    void put64(std::size_t at, std::uint64_t value);
    bool record();
    void take_place(twinstep::ByteView payload);
    void chain_chunk(std::size_t payload, std::size_t end);
    void seal(std::size_t end, std::uint32_t chunk, std::uint32_t number);

    twinstep::Bytes& file_;
    bool with_frames_ = false;
    bool packed_ = false;
    std::size_t at_ = 0;
    twinstep::Bytes chunk_; ///< Data records of the open chunk; frames belong to none.
    std::uint32_t chunks_ = 0;
    std::uint32_t records_ = 0; ///< In a packed file: data records after the last chunk end.
    std::uint32_t frames_ = 0;
    twinstep::Hash128 chain_;
};
