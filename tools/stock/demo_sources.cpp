// SPDX-License-Identifier: MIT
// Turns demos that people played into sources.
#include "demo_sources.hpp"

#include "marine/demo_lump.hpp"
#include "marine/wad.hpp"

#include <fmt/format.h>

#include <utility>

namespace twinstep::tools {

namespace {

OpenedSource play_demo(games::DemoLump demo, const std::string& name) {
    OpenedSource opened;
    opened.setup = games::setup_for(demo);
    opened.ticks = demo.tics();
    if (!demo.note.empty()) {
        (demo.complete ? opened.remark : opened.loss) = fmt::format("{}: {}", name, demo.note);
    }
    opened.source = std::make_unique<games::DemoSource>(std::move(demo));
    return opened;
}

Result<OpenedSource> open_demo_file(const std::string& path) {
    auto demo = games::read_demo_file(path);
    if (!demo) {
        return fail(std::move(demo.error()).in(path));
    }
    return play_demo(std::move(*demo), path);
}

/// "FILE.wad:LUMP"; the last colon divides, because a path may hold one.
Result<OpenedSource> open_wad_lump(const std::string& rest) {
    const std::size_t colon = rest.rfind(':');
    if (colon == std::string::npos) {
        return fail(Error(SimErrc::bad_setup, "--from wad:" + rest, "write wad:FILE.wad:LUMP"));
    }
    const std::string path = rest.substr(0, colon);
    const auto lump = games::read_wad_lump(path, rest.substr(colon + 1));
    if (!lump) {
        return fail(lump.error());
    }
    auto demo = games::parse_demo(*lump);
    if (!demo) {
        return fail(std::move(demo.error()).in(rest));
    }
    return play_demo(std::move(*demo), rest);
}

} // namespace

void add_demo_sources(GameEntry& marine) {
    marine.sources["demo"] = open_demo_file;
    marine.sources["wad"] = open_wad_lump;
    marine.source_forms = {"demo:FILE.lmp", "wad:FILE.wad:LUMP"};
}

} // namespace twinstep::tools
