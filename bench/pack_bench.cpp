// SPDX-License-Identifier: MIT
// How fast a packed file is checked by its frames, next to reading its bytes at all.
#include "recording_support.hpp"
#include "report.hpp"

#include "twinstep/replay/pack.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace {

using namespace twinstep;
using replay::MemorySink;
using replay::SinkPlan;

/// A packed recording of about 10 MiB: larger than the caches of a core, smaller than a machine's.
Bytes packed_recording() {
    constexpr std::uint64_t ticks = 1'500'000;
    auto open = std::make_shared<SinkPlan>();
    replay::Head head;
    head.session = replay::test_session();
    head.manifest[replay::sections_key] = "a b c";
    auto writer = replay::Writer::create(std::make_unique<MemorySink>(open), head);
    TickFrame frame;
    Bytes encoded;
    Bytes sections(3);
    bool written = writer.has_value();
    for (std::uint64_t i = 0; i < ticks && written; ++i) {
        Random random(1, Tick{i}, 0);
        frame.reset(Tick{i}, 1);
        const std::array<std::byte, 2> input{static_cast<std::byte>(random.below(4)), {}};
        frame.set_input(Slot{0}, input);
        encoded.clear();
        encode_frame(frame, encoded);
        const auto hash = static_cast<std::uint32_t>(random.bits());
        std::memcpy(sections.data(), &hash, sections.size());
        written = writer->write_tick(hash, sections, encoded).has_value();
        if (written && i % 600 == 599) {
            written = writer->write_chunk_end({i, 1}, std::vector<Hash128>(3)).has_value();
        }
    }
    if (!written || !writer->write_trailer()) {
        return {};
    }
    auto packed = std::make_shared<SinkPlan>();
    auto reader = replay::Reader::from_memory(open->file);
    if (!reader || !replay::pack(*reader, std::make_unique<MemorySink>(packed), {1})) {
        return {};
    }
    return packed->file;
}

/// All bytes, as fast as they come: what "memory-read speed" means here.
std::uint64_t exclusive_or(ByteView bytes) {
    constexpr std::size_t lanes = 32;
    std::array<std::uint64_t, lanes> sums{};
    for (std::size_t i = 0; i + sizeof(sums) <= bytes.size(); i += sizeof(sums)) {
        std::array<std::uint64_t, lanes> words;
        std::memcpy(words.data(), bytes.data() + i, sizeof(words));
        for (std::size_t k = 0; k < lanes; ++k) {
            sums[k] ^= words[k];
        }
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t word : sums) {
        sum ^= word;
    }
    return sum;
}

void add_row(bench::Report& report, const char* name, const bench::Pair& time, double target) {
    report.add({name,
                1.0 / time.ours_ns,
                1.0 / time.reference_ns,
                "GB/s",
                time.reference_ns / time.ours_ns,
                target > 0 ? bench::Goal::at_least : bench::Goal::none,
                target});
}

/// A file in the system's cache; it goes away at the end.
class CachedFile {
public:
    explicit CachedFile(const Bytes& bytes)
        : path_(std::filesystem::temp_directory_path() /
                fmt::format("twinstep-pack-bench-{}.twin",
                            std::chrono::steady_clock::now().time_since_epoch().count())) {
        std::ofstream out(path_, std::ios::binary);
        out.write(reinterpret_cast<const char*>(bytes.data()),
                  static_cast<std::streamsize>(bytes.size()));
    }

    ~CachedFile() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }

    CachedFile(const CachedFile&) = delete;
    CachedFile& operator=(const CachedFile&) = delete;

    std::string path() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

} // namespace

int main(int argc, char** argv) {
    bench::Report report(argc, argv);
    const Bytes packed = packed_recording();
    const CachedFile file(packed);
    const auto is_whole = [](const Result<replay::PackedSummary>& summary) {
        return summary && summary->state == replay::FileState::closed && !summary->defect;
    };
    if (!is_whole(replay::check_packed(packed)) || !is_whole(replay::check_packed(file.path()))) {
        fmt::print(stderr, "the packed recording is not whole\n");
        return 1;
    }
    constexpr std::size_t rounds = 25;
    const auto bytes = static_cast<double>(packed.size());
    Bytes copy(packed.size());
    const auto read = [&] { benchmark::DoNotOptimize(exclusive_or(packed)); };
    const auto check_memory = [&] { benchmark::DoNotOptimize(replay::check_packed(packed)); };
    const auto check_file = [&] { benchmark::DoNotOptimize(replay::check_packed(file.path())); };
    const auto copy_memory = [&] {
        std::memcpy(copy.data(), packed.data(), packed.size());
        benchmark::DoNotOptimize(copy.data());
        benchmark::ClobberMemory();
    };
    add_row(report,
            "check of frames in memory, reading memory",
            bench::measure(rounds, bytes, check_memory, read),
            0.5);
    // A file has to be copied before it can be looked at: mapped, it could shrink meanwhile.
    add_row(report,
            "check of frames of a cached file, copying memory",
            bench::measure(rounds, bytes, check_file, copy_memory),
            0.5);
    add_row(report,
            "check of frames of a cached file, reading memory",
            bench::measure(rounds, bytes, check_file, read),
            0);
    const auto check_all = [&] { benchmark::DoNotOptimize(replay::summarise(file.path())); };
    const bench::Pair full = bench::measure(3, 1e6, check_all, check_file);
    report.add({"check of all records of that file, of frames",
                full.ours_ns,
                full.reference_ns,
                "ms",
                full.ours_ns / full.reference_ns});
    return report.print();
}
