// SPDX-License-Identifier: MIT
// Doom's demos: what people pressed, 35 times a second.
#pragma once

#include "marine/marine.hpp"

#include "twinstep/sim.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace twinstep::games {

/// Longest demo that is read: 16 MiB are 33 hours of one player.
inline constexpr std::size_t demo_bytes_max = 16 * 1024 * 1024;

/// A demo, decoded. Player k of the tics is the k-th player who is in the game.
struct DemoLump {
    std::uint8_t version = 0;
    std::uint8_t skill = 0;      ///< 0 to 4.
    std::uint8_t episode = 0;    ///< 1 to 9; 1 for games without episodes.
    std::uint8_t map = 0;        ///< 1 to 99.
    std::uint8_t deathmatch = 0; ///< 0 to 2.
    std::uint8_t respawn = 0;    ///< 0 or 1, as the next two.
    std::uint8_t fast = 0;
    std::uint8_t no_monsters = 0;
    std::uint8_t console_player = 0; ///< Doom's number of the player whose eyes were shown.
    std::array<std::uint8_t, 4> in_game{};
    std::uint16_t players = 0;         ///< 1 to 4.
    std::vector<Marine::Input> inputs; ///< Tic by tic, `players` each.
    bool complete = false;             ///< The end marker follows the last tic.
    std::string note;                  ///< What is missing or left over, for people; or empty.

    std::uint64_t tics() const { return players == 0 ? 0 : inputs.size() / players; }
};

/// Decodes a demo of version 109, that of Doom 1.9: a header of 13 bytes, then a tic of 4 bytes a player, then 0x80. A first byte of 0x80 in a tic is the end, even where a
/// player's forward of -128 was meant; Doom reads it the same way. A demo that ends early is kept
/// up to its last whole tic, with `complete` false and a note. Errors: truncated, malformed or
/// limit_exceeded with offset and field.
/// Source: G_DoPlayDemo and G_ReadDemoTiccmd in g_game.c of id Software's linuxdoom 1.10.
Result<DemoLump> parse_demo(ByteView bytes);

/// Reads and decodes a demo file. Errors: also std::errc for a file that cannot be read.
Result<DemoLump> read_demo_file(const std::string& path);

/// The set-up of a session that plays the demo: one slot a player, the header as config. The seed
/// is 0: a demo carries none.
Setup setup_for(const DemoLump& demo);

/// Hands out a demo's tics; ends with the last one.
class DemoSource final : public Source {
public:
    explicit DemoSource(DemoLump demo)
        : demo_(std::move(demo)) {}

    Result<Supply> next(Tick tick, TickFrame& frame) override;

    const DemoLump& demo() const { return demo_; }

private:
    DemoLump demo_;
    Bytes bytes_;
};

} // namespace twinstep::games
