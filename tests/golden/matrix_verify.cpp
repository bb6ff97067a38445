// SPDX-License-Identifier: MIT
// Verifies recordings of the reference games, with nothing but headers from elsewhere: what the
// matrix builds for each target. Usage: matrix_verify FILE...
// One line a file: name, ticks, hashes compared, final hash, and "-" or tick and section of the
// first divergence. Exit code: 0 all as recorded, 4 a divergence, 1 anything else, 6 no file.
#include "input.hpp"
#include "marine/marine.hpp"
#include "pile/pile.hpp"
#include "swarm/swarm.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/playback.hpp"
#include "twinstep/sim.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#if defined(__wasi__)
// There are no exceptions on this target: what would throw ends the program, and fails the target.
extern "C" void* __cxa_allocate_exception(std::size_t) {
    std::abort();
}

extern "C" void __cxa_throw(void*, void*, void*) {
    std::abort();
}
#endif

// This program reads its files itself and hands them over as memory, so that it links on targets
// without file systems of the C++ library.
twinstep::Result<std::unique_ptr<twinstep::replay::Input>>
twinstep::replay::open_input(const std::string& path) {
    return fail(Error(Errc::io_error, {}, "only memory can be read here").in(path));
}

namespace {

using namespace twinstep;

bool read_file(const char* path, Bytes& bytes) {
    std::FILE* const file = std::fopen(path, "rb");
    if (file == nullptr) {
        return false;
    }
    std::size_t got = 0;
    do {
        const std::size_t had = bytes.size();
        bytes.resize(had + 65536);
        got = std::fread(bytes.data() + had, 1, 65536, file);
        bytes.resize(had + got);
    } while (got > 0);
    const bool good = std::ferror(file) == 0;
    std::fclose(file);
    return good;
}

std::unique_ptr<Simulation> game_of(const Manifest& manifest) {
    const auto id = manifest.find("sim.id");
    if (id == manifest.end()) {
        return nullptr;
    }
    return id->second == "marine"  ? make_simulation<games::Marine>()
           : id->second == "pile"  ? make_simulation<games::Pile>()
           : id->second == "swarm" ? make_simulation<games::Swarm>()
                                   : nullptr;
}

int refuse(const char* path, const std::string& what) {
    std::fprintf(stderr, "matrix_verify: %s: %s\n", path, what.c_str());
    return 1;
}

int verify_one(const char* path) {
    Bytes bytes;
    if (!read_file(path, bytes)) {
        return refuse(path, "cannot be read");
    }
    auto reader = replay::Reader::from_memory(bytes);
    if (!reader) {
        return refuse(path, to_string(reader.error()));
    }
    const std::unique_ptr<Simulation> simulation = game_of(reader->manifest());
    if (simulation == nullptr) {
        return refuse(path, "no game of the matrix");
    }
    const auto report = replay::verify(*simulation, std::move(*reader));
    if (!report) {
        return refuse(path, to_string(report.error()));
    }
    std::string divergence = "-";
    if (report->divergence) {
        divergence =
            std::to_string(report->divergence->tick.value) + " " + report->divergence->section;
    }
    std::printf("%s %llu %llu %s %s\n",
                path,
                static_cast<unsigned long long>(report->ticks),
                static_cast<unsigned long long>(report->hashes_checked),
                to_hex(report->final_hash).c_str(),
                divergence.c_str());
    if (report->divergence) {
        return 4;
    }
    return report->hashes_checked > 0 && report->state == replay::FileState::closed ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        return 6;
    }
    if (const auto environment = check_float_environment(); !environment) {
        return refuse("floating point", to_string(environment.error()));
    }
    int worst = 0;
    for (int i = 1; i < argc; ++i) {
        const int code = verify_one(argv[i]);
        worst = code != 0 && worst != 1 ? code : worst;
    }
    return worst;
}
