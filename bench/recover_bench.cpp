// SPDX-License-Identifier: MIT
// How fast damaged recordings are recovered, next to reading the same file and hashing it once.
#include "report.hpp"

#include "twinstep/replay/recover.hpp"
#include "twinstep/replay/writer.hpp"
#include "twinstep/sim.hpp"

#include <cstdio>
#include <filesystem>
#include <system_error>

namespace {

using namespace twinstep;

/// Takes everything and keeps nothing.
class NowhereSink final : public replay::FileSink {
public:
    std::size_t write(ByteView bytes, std::error_code&) override { return bytes.size(); }

    std::error_code truncate(std::uint64_t) override { return {}; }

    std::error_code sync() override { return {}; }

    std::error_code close() override { return {}; }
};

/// A folder that goes away with what is in it.
class BenchFolder {
public:
    BenchFolder()
        : path_(std::filesystem::temp_directory_path() /
                fmt::format("twinstep-recover-{}",
                            std::chrono::steady_clock::now().time_since_epoch().count())) {
        std::filesystem::create_directory(path_);
    }

    ~BenchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    BenchFolder(const BenchFolder&) = delete;
    BenchFolder& operator=(const BenchFolder&) = delete;

    std::string file(std::string_view name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

/// A recording of one slot that moves now and then: 14 bytes a tick.
bool write_recording(const std::string& path, std::uint64_t ticks, std::uint64_t chunk) {
    auto file = replay::create_file(path);
    replay::Head head;
    head.manifest[replay::sections_key] = "a b c";
    auto writer = file ? replay::Writer::create(std::move(*file), head)
                       : Result<replay::Writer>(fail(file.error()));
    TickFrame frame;
    Bytes encoded;
    const std::vector<Hash128> sections(3);
    for (std::uint64_t tick = 0; writer && tick < ticks; ++tick) {
        frame.reset(Tick{tick}, 1);
        const Bytes input{static_cast<std::byte>(tick / 3), std::byte{2}};
        frame.set_input(Slot{0}, input);
        encoded.clear();
        encode_frame(frame, encoded);
        const Bytes section_bytes(3, static_cast<std::byte>(tick * 7));
        const auto hash = static_cast<std::uint32_t>(tick * 2654435761U);
        if (!writer->write_tick(hash, section_bytes, encoded)) {
            return false;
        }
        const bool due = writer->chunk_ticks() == chunk || tick + 1 == ticks;
        if (due && !writer->write_chunk_end({tick, 1}, sections)) {
            return false;
        }
    }
    return writer && writer->write_trailer() && writer->close();
}

/// Reads a file in large pieces and hashes each: what any check must cost at least.
std::uint64_t read_and_hash(const std::string& path) {
    static std::vector<std::byte> piece(std::size_t{1} << 20);
    std::FILE* file = std::fopen(path.c_str(), "rb");
    std::uint64_t sum = 0;
    for (std::size_t count = piece.size(); count == piece.size();) {
        count = std::fread(piece.data(), 1, piece.size(), file);
        sum += checksum64(ByteView(piece).first(count));
    }
    std::fclose(file);
    return sum;
}

struct RecoverRow {
    std::uint64_t ticks = 0;
    std::uint64_t chunk = 0;
    bool into_file = false; ///< And that is read back, as the verb does.
    double goal = 0;
};

volatile std::uint64_t benchmark_sum = 0;

bool recover_row(bench::Report& report, const RecoverRow& row) {
    const BenchFolder folder;
    const std::string source = folder.file("source.twin");
    const std::string target = folder.file("target.twin");
    if (!write_recording(source, row.ticks, row.chunk)) {
        fmt::print(stderr, "no recording to recover\n");
        return false;
    }
    const auto bytes = static_cast<double>(std::filesystem::file_size(source));
    const auto sinks = [&](std::size_t, Tick) -> Result<std::unique_ptr<replay::FileSink>> {
        if (row.into_file) {
            return replay::create_file(target);
        }
        return std::make_unique<NowhereSink>();
    };
    bool whole = true;
    const bench::Pair time = bench::measure(
        9,
        bytes,
        [&] {
            std::filesystem::remove(target);
            const auto done = replay::recover(source, sinks, {.sync = false});
            whole = whole && done && done->kept_ticks == row.ticks && done->lost_bytes == 0;
            if (row.into_file) {
                const auto proved = replay::prove(target);
                whole = whole && proved && proved->ticks == row.ticks;
            }
        },
        [&] { benchmark_sum = read_and_hash(source); });
    if (!whole) {
        fmt::print(stderr, "a whole recording was not recovered whole\n");
        return false;
    }
    report.add({fmt::format("recover {}, {}-tick chunks; read and hash",
                            row.into_file ? "and read back" : "to nowhere",
                            row.chunk),
                1.0 / time.ours_ns,
                1.0 / time.reference_ns,
                "GB/s",
                1.0 / time.ours_ns,
                row.goal > 0 ? bench::Goal::at_least : bench::Goal::none,
                row.goal});
    return true;
}

} // namespace

int main(int argc, char** argv) {
    bench::Report report(argc, argv);
    const bool measured = recover_row(report, {4'000'000, 600, false, 1.0}) &&
                          recover_row(report, {4'000'000, 600, true, 1.0}) &&
                          recover_row(report, {1'000'000, 60, false, 1.0}) &&
                          recover_row(report, {1'000'000, 4, false, 0.0});
    return measured ? report.print() : 1;
}
