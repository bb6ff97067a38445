// SPDX-License-Identifier: MIT
// Runs kept inputs through the targets without a fuzzer, so that every compiler and system does.
//
//     twinstep_fuzz_replay TARGET CORPUS...      each file of the directories, cut and changed too
//     twinstep_fuzz_replay --seeds CORPUS_ROOT   writes the seeds of all targets
//     twinstep_fuzz_replay --list                NAME BYTES_MAX of each target
#include "fuzz_targets.hpp"
#include "test_random.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#if defined(__linux__)
#include <sys/resource.h>
#endif

using namespace twinstep;

namespace {

namespace fs = std::filesystem;

Bytes read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const ByteView view = std::as_bytes(std::span(text));
    return {view.begin(), view.end()};
}

/// Runs an input within the limits that libFuzzer has as well: ten seconds, and a gigabyte for the
/// whole process.
void run_within_limits(const FuzzTarget& target, ByteView input) {
    constexpr std::chrono::seconds input_time_max{10};
    const auto start = std::chrono::steady_clock::now();
    target.run(input);
    require(std::chrono::steady_clock::now() - start < input_time_max,
            "an input takes ten seconds");
#if defined(__linux__)
    constexpr long kibibytes_max = 1L << 20;

    struct ::rusage usage {};

    require(::getrusage(RUSAGE_SELF, &usage) != 0 || usage.ru_maxrss < kibibytes_max,
            "inputs take a gigabyte");
#endif
}

/// The input, then damaged ones: far fewer than a fuzzer tries, but on every system.
std::size_t run_around(const FuzzTarget& target, const Bytes& input) {
    run_within_limits(target, input);
    std::size_t count = 1;
    TestRandom random(input.size());
    for (int i = 0; i < 200 && !input.empty(); ++i, ++count) {
        Bytes changed = input;
        if (i % 4 == 0) {
            changed.resize(random.below(input.size()));
        } else {
            changed[random.below(input.size())] = static_cast<std::byte>(random.bits());
            changed[random.below(input.size())] ^= std::byte{1} << random.below(8);
        }
        // Exactly as large as its bytes, for the sanitizers.
        changed.shrink_to_fit();
        run_within_limits(target, changed);
    }
    return count;
}

int replay(const FuzzTarget& target, std::span<char*> directories) {
    std::size_t files = 0;
    std::size_t runs = 0;
    for (const Bytes& seed : target.seeds()) {
        runs += run_around(target, seed);
    }
    for (const char* directory : directories) {
        std::vector<fs::path> paths;
        std::copy(
            fs::directory_iterator(directory), fs::directory_iterator(), std::back_inserter(paths));
        std::sort(paths.begin(), paths.end());
        for (const fs::path& path : paths) {
            ++files;
            std::cerr << path.filename().string() << '\n';
            runs += run_around(target, read_file(path));
        }
    }
    std::cout << target.name << ": " << files << " files, " << runs << " runs\n";
    // A replay of nothing is no pass.
    return files == 0 ? 6 : 0;
}

int write_seeds(const fs::path& root) {
    for (const FuzzTarget& target : fuzz_targets()) {
        fs::create_directories(root / target.name);
        std::size_t number = 0;
        for (const Bytes& seed : target.seeds()) {
            std::ofstream file(root / target.name / ("seed_" + std::to_string(number++) + ".bin"),
                               std::ios::binary);
            file.write(reinterpret_cast<const char*>(seed.data()),
                       static_cast<std::streamsize>(seed.size()));
            if (!file.good()) {
                return 1;
            }
        }
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const std::string_view first = argc > 1 ? argv[1] : "";
    if (first == "--list") {
        for (const FuzzTarget& target : fuzz_targets()) {
            std::cout << target.name << ' ' << target.bytes_max << '\n';
        }
        return 0;
    }
    if (first == "--seeds" && argc == 3) {
        return write_seeds(argv[2]);
    }
    for (const FuzzTarget& target : fuzz_targets()) {
        if (first == target.name) {
            return replay(target, std::span(argv, static_cast<std::size_t>(argc)).subspan(2));
        }
    }
    std::cerr << "usage: twinstep_fuzz_replay TARGET CORPUS... | --seeds CORPUS_ROOT | --list\n";
    return 2;
}
