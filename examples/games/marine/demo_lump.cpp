// SPDX-License-Identifier: MIT
// Decoding demos.
#include "marine/demo_lump.hpp"

#include "marine/wad.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::games {

namespace {

constexpr std::size_t header_bytes = 13;
constexpr std::size_t ticcmd_bytes = 4;
constexpr std::byte end_marker{0x80};
constexpr std::uint8_t demo_version = 109;

/// A byte of the header, where it belongs, and what it may be.
struct HeaderField {
    const char* name;
    std::uint8_t DemoLump::*value;
    std::uint8_t low;
    std::uint8_t high;
};

constexpr std::array<HeaderField, 9> header_fields{
    {{"version", &DemoLump::version, demo_version, demo_version},
     {"skill", &DemoLump::skill, 0, 4},
     {"episode", &DemoLump::episode, 1, 9},
     {"map", &DemoLump::map, 1, 99},
     {"deathmatch", &DemoLump::deathmatch, 0, 2},
     {"respawn", &DemoLump::respawn, 0, 1},
     {"fast", &DemoLump::fast, 0, 1},
     {"nomonsters", &DemoLump::no_monsters, 0, 1},
     {"consoleplayer", &DemoLump::console_player, 0, 3}}};

Error bad_value(std::uint64_t offset, const char* field, std::uint8_t value, std::string expected) {
    return Error(SimErrc::malformed,
                 field,
                 std::to_string(value) + ", expected " + std::move(expected))
        .at(offset);
}

/// The bytes from the first one after the header on are tics.
Result<DemoLump> parse_header(ByteView bytes) {
    DemoLump demo;
    ByteReader reader(bytes);
    for (const HeaderField& field : header_fields) {
        const std::size_t offset = reader.offset();
        const std::uint8_t value = reader.u8(field.name);
        if (!reader.ok()) {
            return fail(reader.error());
        }
        if (value < field.low || value > field.high) {
            return fail(bad_value(offset,
                                  field.name,
                                  value,
                                  field.low == field.high ? std::to_string(field.low)
                                                          : std::to_string(field.low) + " to " +
                                                                std::to_string(field.high)));
        }
        demo.*(field.value) = value;
    }
    for (std::uint8_t& flag : demo.in_game) {
        const std::size_t offset = reader.offset();
        flag = reader.u8("playeringame");
        if (!reader.ok()) {
            return fail(reader.error());
        }
        if (flag > 1) {
            return fail(bad_value(offset, "playeringame", flag, "0 or 1"));
        }
        demo.players = static_cast<std::uint16_t>(demo.players + flag);
    }
    if (demo.players == 0) {
        return fail(Error(SimErrc::malformed, "playeringame", "nobody plays").at(9));
    }
    if (demo.in_game[demo.console_player] == 0) {
        return fail(bad_value(8, "consoleplayer", demo.console_player, "a player in the game"));
    }
    return demo;
}

/// Says what the end of the bytes is like, in `complete` and `note`.
void judge_end(ByteView rest, DemoLump& demo) {
    const std::string kept = "; kept " + std::to_string(demo.tics()) + " whole tics";
    if (rest.empty()) {
        demo.note = "the demo has no end marker" + kept;
    } else if (rest.front() != end_marker) {
        demo.note = "the demo is cut within a tic" + kept;
    } else {
        demo.complete = true;
        if (rest.size() > 1) {
            demo.note =
                std::to_string(rest.size() - 1) + " bytes after the end marker are not read";
        }
    }
}

} // namespace

Result<DemoLump> parse_demo(ByteView bytes) {
    if (bytes.size() > demo_bytes_max) {
        return fail(Error(SimErrc::limit_exceeded,
                          "size",
                          std::to_string(bytes.size()) + " bytes, at most " +
                              std::to_string(demo_bytes_max) + " are read"));
    }
    Result<DemoLump> demo = parse_header(bytes);
    if (!demo) {
        return demo;
    }
    const std::size_t tic_bytes = demo->players * ticcmd_bytes;
    ByteView rest = bytes.subspan(header_bytes);
    demo->inputs.reserve(rest.size() / tic_bytes * demo->players);
    while (rest.size() >= tic_bytes && rest.front() != end_marker) {
        ByteReader reader(rest.first(tic_bytes));
        for (std::uint16_t player = 0; player < demo->players; ++player) {
            Marine::Input input;
            input.forward = static_cast<std::int8_t>(reader.u8("forward"));
            input.side = static_cast<std::int8_t>(reader.u8("side"));
            const auto turn = static_cast<std::uint16_t>(reader.u8("turn") << 8);
            input.turn = static_cast<std::int16_t>(turn);
            input.buttons = reader.u8("buttons");
            demo->inputs.push_back(input);
        }
        rest = rest.subspan(tic_bytes);
    }
    judge_end(rest, *demo);
    return demo;
}

Result<DemoLump> read_demo_file(const std::string& path) {
    const Result<Bytes> bytes = read_small_file(path, demo_bytes_max);
    if (!bytes) {
        return fail(bytes.error());
    }
    Result<DemoLump> demo = parse_demo(*bytes);
    if (!demo) {
        return fail(std::move(demo.error()).in(path));
    }
    return demo;
}

Setup setup_for(const DemoLump& demo) {
    Setup setup;
    setup.slots = demo.players;
    // Slots are numbered without the gaps that Doom's player numbers may have.
    const auto before =
        std::count(demo.in_game.begin(), demo.in_game.begin() + demo.console_player, 1);
    setup.config = {{"skill", std::to_string(demo.skill)},
                    {"episode", std::to_string(demo.episode)},
                    {"map", std::to_string(demo.map)},
                    {"deathmatch", std::to_string(demo.deathmatch)},
                    {"respawn", std::to_string(demo.respawn)},
                    {"fast", std::to_string(demo.fast)},
                    {"monsters", demo.no_monsters != 0 ? "0" : "1"},
                    {"console_player", std::to_string(before)}};
    return setup;
}

Result<Supply> DemoSource::next(Tick tick, TickFrame& frame) {
    if (tick.value >= demo_.tics()) {
        return Supply::end;
    }
    frame.reset(tick, demo_.players);
    for (std::uint16_t slot = 0; slot < demo_.players; ++slot) {
        bytes_.clear();
        encode_input(demo_.inputs[tick.value * demo_.players + slot], bytes_);
        frame.set_input(Slot{slot}, bytes_);
    }
    return Supply::ready;
}

} // namespace twinstep::games
