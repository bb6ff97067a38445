// SPDX-License-Identifier: MIT
// Snapshot bytes, section hashes and the hash of a snapshot.
#include "twinstep/sim/snapshot.hpp"

#include "section_frame.hpp"

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/simulation.hpp"
#include "twinstep/sim/tracked.hpp"

#include <algorithm>

namespace twinstep {

namespace {

constexpr std::string_view section_domain = "twinstep.section";
constexpr std::string_view chunked_domain = "twinstep.chunked";
constexpr std::string_view state_domain = "twinstep.state";
constexpr std::uint32_t snapshot_magic = 0x4E535754; // "TWSN"
constexpr std::uint16_t snapshot_version = 1;

bool is_section_name(std::string_view name) {
    return !name.empty() && name.size() <= section_name_bytes_max &&
           std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

void combine(Hasher& hasher, StateHashes& hashes) {
    hasher.begin(state_domain, hashes.tick, {});
    for (const SectionHash& section : hashes.sections) {
        const std::array<std::uint64_t, 2> words{detail::little_endian(section.hash.low),
                                                 detail::little_endian(section.hash.high)};
        hasher.update(std::as_bytes(std::span(words)));
    }
    hashes.state = hasher.finish();
}

Hash128 hash_plain(Hasher& hasher, Tick tick, std::string_view name, ByteView bytes) {
    hasher.begin(section_domain, tick, name);
    hasher.update(bytes);
    return hasher.finish();
}

/// The hash of a section in chunks: its count, the bytes of its elements, and the digests of these.
Hash128 combine_chunks(Hasher& hasher,
                       Tick tick,
                       std::string_view name,
                       std::array<std::uint64_t, 2> count_and_bytes,
                       std::span<const detail::ChunkDigest> digests) {
    hasher.begin(chunked_domain, tick, name);
    for (std::uint64_t& word : count_and_bytes) {
        word = detail::little_endian(word);
    }
    hasher.update(std::as_bytes(std::span(count_and_bytes)));
    hasher.update(std::as_bytes(digests));
    return hasher.finish();
}

/// The same from a snapshot's bytes, of which the first eight are the count.
Hash128 hash_chunked(Hasher& hasher, Tick tick, std::string_view name, ByteView bytes) {
    ByteReader reader(bytes);
    const std::uint64_t count = reader.u64("count");
    ByteView elements = bytes.subspan(sizeof(count));
    const std::uint64_t size = elements.size();
    std::vector<detail::ChunkDigest> digests;
    digests.reserve(detail::chunks_of(elements.size()));
    while (!elements.empty()) {
        const ByteView chunk = elements.first(std::min(chunk_bytes, elements.size()));
        digests.push_back(detail::digest_of(chunk));
        elements = elements.subspan(chunk.size());
    }
    return combine_chunks(hasher, tick, name, {count, size}, digests);
}

} // namespace

// --- BufferSink ---

BufferSink::BufferSink(Bytes& target)
    : target_(target) {
    cursor_ = stage_.data();
    limit_ = stage_.data() + stage_.size();
}

void BufferSink::make_room(std::size_t size) {
    TWINSTEP_ASSERT(size <= stage_bytes);
    finish();
}

void BufferSink::put_run(ByteView bytes) {
    finish();
    target_.insert(target_.end(), bytes.begin(), bytes.end());
}

void BufferSink::put_name(std::string_view name, std::uint8_t mark) {
    TWINSTEP_ASSERT(is_section_name(name));
    const auto length = static_cast<std::uint8_t>(name.size() | mark);
    put(&length, 1);
    put(name.data(), name.size());
}

void BufferSink::begin_chunked_section(std::string_view name,
                                       const detail::ChunkedContent& content) {
    put_name(name, detail::chunked_mark);
    const std::uint64_t size = content.size + sizeof(content.count);
    for (const std::uint64_t word : {size, content.count}) {
        const std::uint64_t ordered = detail::little_endian(word);
        put(&ordered, sizeof(ordered));
    }
}

void BufferSink::put_chunked_section(std::string_view name, const detail::ChunkedContent& content) {
    begin_chunked_section(name, content);
    if (content.memory != nullptr) {
        put_run({content.memory, content.size});
        return;
    }
    detail::ChunkBuffer buffer;
    for (std::size_t chunk = 0; chunk < content.chunks(); ++chunk) {
        put_run(content.chunk(chunk, buffer));
    }
}

void BufferSink::begin_section(std::string_view name) {
    put_name(name, 0);
    const std::uint64_t unknown = 0;
    put(&unknown, sizeof(unknown));
    finish();
    section_start_ = target_.size();
}

void BufferSink::end_section() {
    finish();
    const std::uint64_t size =
        detail::little_endian(static_cast<std::uint64_t>(target_.size() - section_start_));
    std::memcpy(target_.data() + section_start_ - sizeof(size), &size, sizeof(size));
}

void BufferSink::finish() {
    const auto staged = static_cast<std::size_t>(cursor_ - stage_.data());
    const ByteView bytes = ByteView(stage_).first(staged);
    target_.insert(target_.end(), bytes.begin(), bytes.end());
    cursor_ = stage_.data();
}

// --- HashSink ---

void HashSink::begin(Tick tick, StateHashes& hashes) {
    hashes_ = &hashes;
    hashes_->tick = tick;
    section_count_ = 0;
    // A game whose serialize threw half-way has left its section open.
    in_section_ = false;
    cursor_ = nullptr;
    limit_ = nullptr;
}

void HashSink::set_recheck_hashes(std::uint32_t hashes) {
    TWINSTEP_ASSERT(hashes >= 1);
    recheck_hashes_ = hashes;
}

void HashSink::name_section(std::string_view name) {
    TWINSTEP_ASSERT(!in_section_);
    TWINSTEP_ASSERT(section_count_ < sections_max);
    if (section_count_ == hashes_->sections.size()) {
        TWINSTEP_ASSERT(is_section_name(name));
        hashes_->sections.push_back({std::string(name), {}});
    } else if (hashes_->sections[section_count_].name != name) {
        TWINSTEP_ASSERT(is_section_name(name));
        hashes_->sections[section_count_].name = name;
    }
}

void HashSink::put_chunked_section(std::string_view name, const detail::ChunkedContent& content) {
    name_section(name);
    content.tracker.refresh(content, name, recheck_hashes_);
    hashes_->sections[section_count_].hash = combine_chunks(
        hasher_, hashes_->tick, name, {content.count, content.size}, content.tracker.digests());
    ++section_count_;
}

void HashSink::begin_section(std::string_view name) {
    name_section(name);
    in_section_ = true;
    hasher_.begin(section_domain, hashes_->tick, name);
    make_room(1);
}

void HashSink::commit() {
    hasher_.commit(static_cast<std::size_t>(cursor_ - space_));
    space_ = cursor_;
}

void HashSink::make_room(std::size_t size) {
    // A value outside every section would be state that nobody can name in a report.
    TWINSTEP_ASSERT(in_section_);
    if (cursor_ != nullptr) {
        commit();
    }
    const std::span<std::byte> space = hasher_.space(std::max<std::size_t>(size, 16));
    space_ = space.data();
    cursor_ = space.data();
    limit_ = space.data() + space.size();
}

void HashSink::put_run(ByteView bytes) {
    TWINSTEP_ASSERT(in_section_);
    commit();
    hasher_.update(bytes);
    cursor_ = nullptr;
    make_room(1);
}

void HashSink::end_section() {
    commit();
    hashes_->sections[section_count_].hash = hasher_.finish();
    ++section_count_;
    in_section_ = false;
    cursor_ = nullptr;
    limit_ = nullptr;
}

void HashSink::finish() {
    TWINSTEP_ASSERT(!in_section_);
    hashes_->sections.resize(section_count_);
    combine(hasher_, *hashes_);
}

// --- snapshots ---

void Simulation::save_sections(ByteSink& sink) {
    Bytes whole;
    save(whole);
    ByteReader reader(whole);
    const Result<Tick> tick = read_snapshot_head(reader);
    TWINSTEP_ASSERT(tick.has_value());
    sink.put_run(ByteView(whole).subspan(reader.offset()));
}

Result<bool> Simulation::load_in_place(Tick, ByteView, detail::ChunkSource&) {
    return false;
}

void write_snapshot_head(Bytes& target, Tick tick) {
    ByteWriter writer(target);
    writer.u32(snapshot_magic);
    writer.u16(snapshot_version);
    writer.u64(tick.value);
}

Result<Tick> read_snapshot_head(ByteReader& reader) {
    if (reader.remaining() > snapshot_bytes_max) {
        reader.fail(SimErrc::limit_exceeded, "snapshot");
    }
    if (reader.u32("snapshot.magic") != snapshot_magic) {
        reader.fail(SimErrc::malformed, "snapshot.magic");
    }
    if (reader.u16("snapshot.version") != snapshot_version) {
        reader.fail(SimErrc::malformed, "snapshot.version");
    }
    const Tick tick{reader.u64("snapshot.tick")};
    if (tick.value > tick_max) {
        reader.fail(SimErrc::limit_exceeded, "snapshot.tick");
    }
    if (!reader.ok()) {
        return fail(reader.error());
    }
    return tick;
}

Hash128 combine_sections(Tick tick, std::span<const SectionHash> sections) {
    Hasher hasher;
    StateHashes hashes{tick, {}, {sections.begin(), sections.end()}};
    combine(hasher, hashes);
    return hashes.state;
}

detail::SectionFrame detail::read_section(ByteReader& reader, std::size_t number) {
    const unsigned length = reader.u8("section.name");
    const ByteView name = reader.bytes(length & ~unsigned{chunked_mark}, "section.name");
    SectionFrame section;
    section.name = {reinterpret_cast<const char*>(name.data()), name.size()};
    section.chunked = (length & chunked_mark) != 0;
    if (reader.ok() && (!is_section_name(section.name) || number >= sections_max)) {
        reader.fail(SimErrc::malformed, "section.name");
    }
    section.bytes = reader.bytes(reader.u64("section.size"), "section.bytes");
    return section;
}

Result<StateHashes> hash_snapshot(ByteView snapshot) {
    ByteReader reader(snapshot);
    const Result<Tick> tick = read_snapshot_head(reader);
    if (!tick) {
        return fail(tick.error());
    }
    StateHashes hashes;
    hashes.tick = *tick;
    Hasher hasher;
    while (reader.ok() && reader.remaining() > 0) {
        const detail::SectionFrame section = detail::read_section(reader, hashes.sections.size());
        if (reader.ok() && section.chunked && section.bytes.size() < sizeof(std::uint64_t)) {
            reader.fail(SimErrc::malformed, "section.count");
        }
        if (reader.ok()) {
            const auto hash = section.chunked ? hash_chunked : hash_plain;
            hashes.sections.push_back(
                {std::string(section.name), hash(hasher, *tick, section.name, section.bytes)});
        }
    }
    if (!reader.ok()) {
        return fail(reader.error());
    }
    combine(hasher, hashes);
    return hashes;
}

} // namespace twinstep
