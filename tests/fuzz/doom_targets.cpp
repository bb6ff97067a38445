// SPDX-License-Identifier: MIT
// Doom's files: demos, and the archives that hold them.
#include "fuzz_targets.hpp"
#include "marine/demo_lump.hpp"
#include "marine/wad.hpp"
#include "scratch_file.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

using namespace twinstep;
using namespace twinstep::games;

namespace {

/// The bytes of a demo's header and whole tics.
Bytes written_demo(const DemoLump& demo) {
    Bytes bytes;
    ByteWriter writer(bytes);
    for (const std::uint8_t value : {demo.version,
                                     demo.skill,
                                     demo.episode,
                                     demo.map,
                                     demo.deathmatch,
                                     demo.respawn,
                                     demo.fast,
                                     demo.no_monsters,
                                     demo.console_player}) {
        writer.u8(value);
    }
    for (const std::uint8_t flag : demo.in_game) {
        writer.u8(flag);
    }
    for (const Marine::Input& input : demo.inputs) {
        writer.u8(static_cast<std::uint8_t>(input.forward));
        writer.u8(static_cast<std::uint8_t>(input.side));
        writer.u8(static_cast<std::uint8_t>(static_cast<std::uint16_t>(input.turn) >> 8));
        writer.u8(input.buttons);
    }
    return bytes;
}

} // namespace

/// What is taken for a demo has exactly its bytes, and can be played.
void fuzz_doom_demo(ByteView bytes) {
    auto demo = parse_demo(bytes);
    if (!demo) {
        return;
    }
    const Bytes written = written_demo(*demo);
    require(written.size() <= bytes.size() &&
                std::equal(written.begin(), written.end(), bytes.begin()),
            "a demo is not what its bytes say");
    const ByteView rest = bytes.subspan(written.size());
    const bool marked = !rest.empty() && rest.front() == std::byte{0x80};
    require(demo->complete == marked, "the end marker was judged wrongly");
    require(marked || rest.size() < std::size_t{4} * demo->players, "whole tics were left out");
    require(Marine::check(setup_for(*demo)).has_value(), "a demo's set-up is refused");
    GameSimulation<Marine> marine;
    require(marine.reset(setup_for(*demo)).has_value(), "a demo's set-up cannot be played");
    const std::uint64_t tics = std::min<std::uint64_t>(demo->tics(), 4);
    DemoSource source(std::move(*demo));
    Driver driver(marine, source);
    const auto advance = driver.advance(tics);
    require(advance && advance->ticks == tics, "a demo's tics cannot be played");
}

std::vector<Bytes> doom_demo_seeds() {
    std::vector<Bytes> seeds;
    for (const std::uint8_t players : {std::uint8_t{1}, std::uint8_t{4}}) {
        Bytes& bytes = seeds.emplace_back();
        ByteWriter writer(bytes);
        for (const unsigned value : {109U, 3U, 1U, 7U, players == 4 ? 2U : 0U, 0U, 0U, 0U, 0U}) {
            writer.u8(static_cast<std::uint8_t>(value));
        }
        for (std::uint8_t player = 0; player < 4; ++player) {
            writer.u8(player < players ? 1 : 0);
        }
        for (int tic = 0; tic < 10 * players; ++tic) {
            writer.u8(50);
            writer.u8(static_cast<std::uint8_t>(tic));
            writer.u8(3);
            writer.u8(static_cast<std::uint8_t>(tic % 3));
        }
        writer.u8(0x80);
    }
    return seeds;
}

namespace {

constexpr std::size_t wad_header_bytes = 12;
constexpr std::size_t wad_entry_bytes = 16;

/// A second reader of WADs, on bytes in memory: the last lump with the name, if it can be had.
std::optional<ByteView> lump_of(ByteView bytes, const std::string& name) {
    if (bytes.size() < wad_header_bytes) {
        return std::nullopt;
    }
    ByteReader header(bytes);
    const ByteView magic = header.bytes(4, "magic");
    const std::string_view kind(reinterpret_cast<const char*>(magic.data()), magic.size());
    const std::uint64_t lumps = header.u32("lumps");
    const std::uint64_t directory = header.u32("directory");
    if ((kind != "IWAD" && kind != "PWAD") || lumps > wad_lumps_max || directory > INT32_MAX ||
        directory + lumps * wad_entry_bytes > bytes.size()) {
        return std::nullopt;
    }
    std::optional<ByteView> found;
    for (std::uint64_t i = 0; i < lumps; ++i) {
        ByteReader entry(bytes.subspan(static_cast<std::size_t>(directory) + i * wad_entry_bytes));
        const std::uint64_t offset = entry.u32("offset");
        const std::uint64_t size = entry.u32("size");
        std::string entry_name;
        for (const std::byte letter : entry.bytes(8, "name")) {
            if (letter == std::byte{0}) {
                break;
            }
            entry_name += static_cast<char>(std::toupper(std::to_integer<unsigned char>(letter)));
        }
        if (entry_name != name) {
            continue;
        }
        const bool inside = offset <= INT32_MAX && size <= wad_lump_bytes_max &&
                            offset <= bytes.size() && size <= bytes.size() - offset;
        found = inside ? std::optional(bytes.subspan(static_cast<std::size_t>(offset),
                                                     static_cast<std::size_t>(size)))
                       : std::nullopt;
    }
    return found;
}

} // namespace

/// Two readers of WADs agree.
void fuzz_doom_wad(ByteView bytes) {
    static ScratchFile file("wad");
    file.write(bytes);
    for (const char* name : {"DEMO1", "demo2"}) {
        std::string upper(name);
        std::ranges::transform(upper, upper.begin(), [](unsigned char letter) {
            return static_cast<char>(std::toupper(letter));
        });
        const std::optional<ByteView> expected = lump_of(bytes, upper);
        const auto lump = read_wad_lump(file.path(), name);
        require(lump.has_value() == expected.has_value(), "two readers of a WAD disagree");
        require(!lump || std::ranges::equal(*lump, *expected), "a lump has other bytes");
    }
}

std::vector<Bytes> doom_wad_seeds() {
    std::vector<Bytes> seeds;
    for (const unsigned lumps : {0U, 1U, 3U}) {
        Bytes& bytes = seeds.emplace_back();
        ByteWriter writer(bytes);
        writer.bytes(std::as_bytes(std::span(lumps == 1 ? "PWAD" : "IWAD", 4)));
        writer.u32(lumps);
        writer.u32(wad_header_bytes + 5 * lumps);
        for (unsigned i = 0; i < lumps; ++i) {
            writer.bytes(Bytes(5, static_cast<std::byte>('a' + i)));
        }
        for (unsigned i = 0; i < lumps; ++i) {
            writer.u32(static_cast<std::uint32_t>(wad_header_bytes + 5 * i));
            writer.u32(5);
            writer.bytes(std::as_bytes(std::span(i == 1 ? "demo2\0\0\0" : "DEMO1\0\0\0", 8)));
        }
    }
    return seeds;
}
