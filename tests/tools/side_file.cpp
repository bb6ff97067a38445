// SPDX-License-Identifier: MIT
// Writes the side file NAME.kf of marine's recording NAME.twin: side_file FILE EVERY_TICKS.
#include "marine/marine.hpp"

#include "twinstep/replay.hpp"
#include "twinstep/sim.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

int main(int argc, char** argv) {
    using namespace twinstep;
    if (argc != 3) {
        return 2;
    }
    const std::string path = argv[1];
    const std::uint64_t every = std::strtoull(argv[2], nullptr, 10);
    auto reader = replay::Reader::open(path);
    auto sink = replay::create_file(path.substr(0, path.rfind(".twin")) + ".kf");
    if (!reader || !sink || every == 0) {
        std::fputs("side_file: a recording, a free name and a number are wanted\n", stderr);
        return 1;
    }
    auto simulation = make_simulation<games::Marine>();
    const auto report = replay::write_side_file(
        *simulation, std::move(*reader), std::move(*sink), {.every_ticks = every});
    if (!report || report->divergence || report->keyframes == 0) {
        std::fputs("side_file: no keyframes\n", stderr);
        return 1;
    }
    return 0;
}
