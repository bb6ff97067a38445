// SPDX-License-Identifier: MIT
// Evidence bundles: magic, manifest, section names, rows, a snapshot, checksum.
#include "evidence.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/file_sink.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace twinstep::tools {

namespace {

constexpr std::string_view magic = "twinstep evidence 1\n";
constexpr std::uint64_t file_bytes_max = manifest_bytes_max + snapshot_bytes_max + (1U << 27U);

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

void write_hash(ByteWriter& writer, const Hash128& hash) {
    writer.u64(hash.low);
    writer.u64(hash.high);
}

Hash128 read_hash(ByteReader& reader) {
    const std::uint64_t low = reader.u64("hash");
    return {low, reader.u64("hash")};
}

Result<Bytes> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
    if (size < 0 || static_cast<std::uint64_t>(size) > file_bytes_max) {
        return fail(Error(replay::Errc::io_error, {}, "cannot be read, or is too large").in(path));
    }
    Bytes bytes(static_cast<std::size_t>(size));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(bytes.data()), size);
    if (!file) {
        return fail(Error(replay::Errc::io_error, {}, "cannot be read").in(path));
    }
    return bytes;
}

/// The rows of a bundle, into `evidence`.
void read_rows(ByteReader& reader, Evidence& evidence) {
    std::vector<std::string> names(reader.varint("sections", sections_max));
    for (std::string& name : names) {
        name = reader.text("section", section_name_bytes_max);
    }
    const std::uint64_t first = reader.varint("first tick", tick_max);
    const std::uint64_t count = reader.varint("ticks", EvidenceRing::ticks_kept);
    for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
        EvidenceRow row;
        const ByteView frame = reader.bytes(reader.varint("frame size", frame_bytes_max), "frame");
        row.frame.assign(frame.begin(), frame.end());
        row.hashes.tick = Tick{first} + i;
        row.hashes.state = read_hash(reader);
        for (const std::string& name : names) {
            row.hashes.sections.push_back({name, read_hash(reader)});
        }
        evidence.rows.push_back(std::move(row));
    }
}

} // namespace

EvidenceRing::EvidenceRing(Simulation& simulation, std::size_t budget_bytes)
    : simulation_(simulation) {
    Bytes snapshot;
    simulation.save(snapshot);
    while (stride_ < ticks_kept && snapshot.size() * (ticks_kept / stride_) > budget_bytes) {
        stride_ *= 2;
    }
}

void EvidenceRing::before(const TickBegin& begin) {
    frame_.assign(begin.encoded.begin(), begin.encoded.end());
}

void EvidenceRing::after(const StateHashes& hashes) {
    // After a jump to a snapshot what was kept leads nowhere.
    count_ = hashes.tick.value == newest_ + 1 ? std::min<std::uint64_t>(count_ + 1, ticks_kept) : 1;
    newest_ = hashes.tick.value;
    Row& row = rows_[newest_ % ticks_kept];
    row.frame.assign(frame_.begin(), frame_.end());
    row.hashes = hashes;
    row.snapshot.clear();
    if (newest_ % stride_ == 0) {
        simulation_.save(row.snapshot);
    }
}

bool EvidenceRing::has(Tick tick) const {
    return tick.value <= newest_ && newest_ - tick.value < count_;
}

Result<void> EvidenceRing::write(const std::string& path, Tick tick) const {
    if (!has(tick)) {
        return fail(Error(SimErrc::wrong_tick,
                          fmt::format("evidence of tick {}", tick.value),
                          "the state is no longer kept"));
    }
    Bytes manifest;
    encode_manifest(make_manifest(simulation_.info(), simulation_.setup()), manifest);
    Bytes bytes;
    ByteWriter writer(bytes);
    writer.bytes(std::as_bytes(std::span(magic)));
    writer.varint(manifest.size());
    writer.bytes(manifest);
    const StateHashes& sample = row(newest_).hashes;
    writer.varint(sample.sections.size());
    for (const SectionHash& section : sample.sections) {
        writer.text(section.name);
    }
    const std::uint64_t first = newest_ + 1 - count_;
    writer.varint(first);
    writer.varint(count_);
    for (std::uint64_t at = first; at <= newest_; ++at) {
        writer.varint(row(at).frame.size());
        writer.bytes(row(at).frame);
        write_hash(writer, row(at).hashes.state);
        for (const SectionHash& section : row(at).hashes.sections) {
            write_hash(writer, section.hash);
        }
    }
    std::uint64_t shown = tick.value;
    while (shown <= newest_ && row(shown).snapshot.empty()) {
        ++shown;
    }
    const bool has_snapshot = shown <= newest_;
    writer.u8(has_snapshot ? 1 : 0);
    if (has_snapshot) {
        writer.varint(shown);
        writer.varint(row(shown).snapshot.size());
        writer.bytes(row(shown).snapshot);
    }
    writer.u64(checksum64(bytes));
    return write_all(path, bytes);
}

bool is_evidence(const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) {
        return false; // Opening a pipe would wait for its writer.
    }
    std::ifstream file(path, std::ios::binary);
    std::string head(magic.size(), '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    return file && head == magic;
}

Result<Evidence> read_evidence(const std::string& path) {
    const auto bytes = read_file(path);
    if (!bytes) {
        return fail(bytes.error());
    }
    auto evidence = decode_evidence(*bytes);
    if (!evidence) {
        return fail(std::move(evidence.error()).in(path));
    }
    return evidence;
}

Result<Evidence> decode_evidence(ByteView bytes) {
    ByteReader reader(bytes);
    const ByteView head = reader.bytes(magic.size(), "magic");
    const ByteView manifest =
        reader.bytes(reader.varint("manifest size", manifest_bytes_max), "manifest");
    Evidence evidence;
    read_rows(reader, evidence);
    const std::uint8_t has_snapshot = reader.u8("has snapshot");
    if (has_snapshot > 1) {
        reader.fail(SimErrc::malformed, "has snapshot");
    }
    if (has_snapshot == 1) {
        evidence.snapshot_tick = Tick{reader.varint("snapshot tick", tick_max)};
        const ByteView snapshot =
            reader.bytes(reader.varint("snapshot size", snapshot_bytes_max), "snapshot");
        evidence.snapshot.assign(snapshot.begin(), snapshot.end());
    }
    const std::size_t checked = reader.offset();
    const std::uint64_t checksum = reader.u64("checksum");
    reader.finish("end");
    if (!reader.ok()) {
        return fail(reader.error());
    }
    if (!std::ranges::equal(head, std::as_bytes(std::span(magic))) ||
        checksum != checksum64(bytes.first(checked))) {
        return fail(Error(SimErrc::malformed, "checksum").at(checked));
    }
    auto decoded = decode_manifest(manifest);
    if (!decoded) {
        return fail(decoded.error());
    }
    evidence.manifest = std::move(*decoded);
    return evidence;
}

} // namespace twinstep::tools
