// SPDX-License-Identifier: MIT
// Evidence bundles: magic, manifest, tick, snapshot, checksum.
#include "evidence.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/file_sink.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

namespace twinstep::tools {

namespace {

constexpr std::string_view magic = "twinstep evidence 1\n";
constexpr std::size_t checksum_bytes = 8;
constexpr std::uint64_t file_bytes_max =
    magic.size() + 8 + manifest_bytes_max + 8 + 8 + snapshot_bytes_max + checksum_bytes;

Result<void> write_all(const std::string& path, ByteView bytes) {
    auto file = replay::create_file(path);
    if (!file) {
        return fail(file.error());
    }
    while (!bytes.empty()) {
        std::error_code error;
        const std::size_t written = (*file)->write(bytes, error);
        if (written == 0 && error != std::errc::interrupted) {
            return fail(Error(replay::Errc::io_error, {}, error.message()).in(path));
        }
        bytes = bytes.subspan(written);
    }
    if (const std::error_code error = (*file)->close()) {
        return fail(Error(replay::Errc::io_error, {}, error.message()).in(path));
    }
    return {};
}

} // namespace

EvidenceRing::EvidenceRing(Simulation& simulation, std::size_t budget_bytes)
    : simulation_(simulation)
    , budget_bytes_(budget_bytes) {}

void EvidenceRing::after(const StateHashes& hashes) {
    Entry entry;
    // The oldest entry's memory becomes the newest's: nothing is allocated once the ring is full.
    while (!entries_.empty() && (entries_.size() >= states_max ||
                                 bytes_ + entries_.back().snapshot.size() > budget_bytes_)) {
        bytes_ -= entries_.front().snapshot.size();
        entry = std::move(entries_.front());
        entries_.pop_front();
    }
    entry.tick = hashes.tick;
    simulation_.save(entry.snapshot);
    bytes_ += entry.snapshot.size();
    entries_.push_back(std::move(entry));
}

bool EvidenceRing::has(Tick tick) const {
    return std::any_of(entries_.begin(), entries_.end(), [tick](const Entry& entry) {
        return entry.tick == tick;
    });
}

Result<void> EvidenceRing::write(const std::string& path, Tick tick) const {
    const auto entry = std::find_if(
        entries_.begin(), entries_.end(), [tick](const Entry& kept) { return kept.tick == tick; });
    if (entry == entries_.end()) {
        return fail(Error(SimErrc::wrong_tick,
                          fmt::format("evidence of tick {}", tick.value),
                          "the state is no longer kept"));
    }
    Bytes manifest;
    encode_manifest(make_manifest(simulation_.info(), simulation_.setup()), manifest);
    Bytes bytes;
    ByteWriter writer(bytes);
    writer.bytes(std::as_bytes(std::span(magic)));
    writer.u64(manifest.size());
    writer.bytes(manifest);
    writer.u64(tick.value);
    writer.u64(entry->snapshot.size());
    writer.bytes(entry->snapshot);
    writer.u64(checksum64(bytes));
    return write_all(path, bytes);
}

bool is_evidence(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string head(magic.size(), '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    return file && head == magic;
}

Result<Evidence> read_evidence(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
    if (size < 0) {
        return fail(Error(replay::Errc::io_error, {}, "cannot be read").in(path));
    }
    if (static_cast<std::uint64_t>(size) > file_bytes_max) {
        return fail(Error(SimErrc::limit_exceeded, "size").in(path));
    }
    Bytes bytes(static_cast<std::size_t>(size));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(bytes.data()), size);
    if (!file) {
        return fail(Error(replay::Errc::io_error, {}, "cannot be read").in(path));
    }
    ByteReader reader(bytes);
    const ByteView head = reader.bytes(magic.size(), "magic");
    const ByteView manifest = reader.bytes(reader.u64("manifest size"), "manifest");
    const Tick tick{reader.u64("tick")};
    const ByteView snapshot = reader.bytes(reader.u64("snapshot size"), "snapshot");
    const std::size_t checked = reader.offset();
    const std::uint64_t checksum = reader.u64("checksum");
    reader.finish("end");
    if (!reader.ok()) {
        return fail(reader.error().in(path));
    }
    if (!std::ranges::equal(head, std::as_bytes(std::span(magic))) || tick.value > tick_max ||
        checksum != checksum64(ByteView(bytes).first(checked))) {
        return fail(Error(SimErrc::malformed, "checksum").at(checked).in(path));
    }
    auto decoded = decode_manifest(manifest);
    if (!decoded) {
        return fail(std::move(decoded.error()).in(path));
    }
    return Evidence{std::move(*decoded), tick, {snapshot.begin(), snapshot.end()}};
}

} // namespace twinstep::tools
