// SPDX-License-Identifier: MIT
// The ring behind a recording; docs/recording-format.md, "Journal".
#include "journal.hpp"

#include "input.hpp"
#include "path.hpp"

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/hash.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace twinstep::replay {

namespace {

constexpr std::size_t journal_head_bytes = 4096;
constexpr std::size_t journal_check_offset = 32;
constexpr std::size_t written_offset = 64;
constexpr std::size_t drained_offset = 128;
constexpr std::array<std::uint8_t, 8> journal_magic{0x89, 'T', 'W', 'J', 0x0D, 0x0A, 0x1A, 0x0A};
constexpr std::uint32_t journal_version = 1;

Bytes encode_journal_head(const SessionId& session, std::size_t ring_bytes) {
    Bytes head;
    ByteWriter writer(head);
    writer.bytes(std::as_bytes(std::span(journal_magic)));
    writer.u32(journal_version);
    writer.u32(static_cast<std::uint32_t>(ring_bytes));
    writer.bytes(session);
    writer.u64(checksum64(head));
    return head;
}

/// The size of the ring, if the head is one and of this session.
std::optional<std::size_t> decode_journal_head(ByteView head, const SessionId& session) {
    ByteReader reader(head.subspan(journal_magic.size() + sizeof(journal_version)));
    const std::size_t ring_bytes = reader.u32("ring");
    if (ring_bytes < journal_ring_bytes_min || ring_bytes > journal_ring_bytes_max ||
        !std::has_single_bit(ring_bytes)) {
        return std::nullopt;
    }
    const Bytes expected = encode_journal_head(session, ring_bytes);
    const bool equal = std::equal(expected.begin(), expected.end(), head.begin());
    return equal ? std::optional(ring_bytes) : std::nullopt;
}

} // namespace

std::string journal_path(const std::string& recording, const SessionId& session) {
    constexpr std::size_t digits = 8;
    return recording + "." + to_hex(session).substr(0, digits) + ".journal";
}

Journal::Journal(MappedFile file, std::string path)
    : file_(std::move(file))
    , path_(std::move(path))
    , ring_(file_.bytes().subspan(journal_head_bytes))
    , written_(reinterpret_cast<std::uint64_t*>(file_.bytes().data() + written_offset))
    , drained_(reinterpret_cast<std::uint64_t*>(file_.bytes().data() + drained_offset)) {}

Result<Journal>
Journal::create(const std::string& path, const SessionId& session, std::size_t ring_bytes) {
    ring_bytes = std::clamp(ring_bytes, journal_ring_bytes_min, journal_ring_bytes_max);
    ring_bytes = std::bit_ceil(ring_bytes);
    Result<MappedFile> file = MappedFile::create(path, journal_head_bytes + ring_bytes);
    if (!file) {
        return fail(file.error());
    }
    const Bytes head = encode_journal_head(session, ring_bytes);
    std::memcpy(file->bytes().data(), head.data(), head.size());
    Journal journal(std::move(*file), path);
    journal.make_writable();
    return journal;
}

std::uint64_t Journal::load(std::uint64_t& counter, std::memory_order order) {
    return detail::little_endian(std::atomic_ref(counter).load(order));
}

void Journal::store(std::uint64_t& counter, std::uint64_t value) {
    std::atomic_ref(counter).store(detail::little_endian(value), std::memory_order_release);
}

void Journal::start_at(std::uint64_t offset) {
    TWINSTEP_ASSERT(written() == 0);
    store(*drained_, offset);
    store(*written_, offset);
}

std::size_t Journal::room() const {
    const std::uint64_t taken = load(*written_, std::memory_order_relaxed) - drained();
    return ring_.size() - static_cast<std::size_t>(taken);
}

void Journal::append(ByteView bytes) {
    TWINSTEP_ASSERT(bytes.size() <= room());
    const std::uint64_t start = load(*written_, std::memory_order_relaxed);
    const std::size_t at = static_cast<std::size_t>(start) & (ring_.size() - 1);
    const std::size_t first = std::min(bytes.size(), ring_.size() - at);
    if (first > 0) {
        std::memcpy(ring_.data() + at, bytes.data(), first);
    }
    if (bytes.size() > first) {
        std::memcpy(ring_.data(), bytes.data() + first, bytes.size() - first);
    }
    store(*written_, start + bytes.size());
}

ByteView Journal::waiting(std::size_t bytes_max) const {
    const std::uint64_t start = load(*drained_, std::memory_order_relaxed);
    const std::size_t at = static_cast<std::size_t>(start) & (ring_.size() - 1);
    const auto count = static_cast<std::size_t>(written() - start);
    return ring_.subspan(at, std::min({count, bytes_max, ring_.size() - at}));
}

void Journal::drain(std::size_t bytes) {
    store(*drained_, load(*drained_, std::memory_order_relaxed) + bytes);
}

void Journal::make_writable() {
    file_.populate();
}

void Journal::remove() {
    remove_created(path_);
}

std::optional<Bytes>
read_journal(const std::string& path, const SessionId& session, std::uint64_t file_bytes) {
    Result<std::unique_ptr<Input>> input = open_plain_input(path);
    Bytes head(journal_head_bytes);
    const auto read_at = [&input](std::uint64_t offset, std::span<std::byte> target) {
        std::error_code error = (*input)->seek(offset);
        std::size_t done = 0;
        while (!error && done < target.size()) {
            const std::size_t count = (*input)->read(target.subspan(done), error);
            if (count == 0) {
                break;
            }
            done += count;
        }
        return !error && done == target.size();
    };
    if (!input || !read_at(0, head)) {
        return std::nullopt;
    }
    const auto ring_bytes = decode_journal_head(head, session);
    if (!ring_bytes || (*input)->size() < journal_head_bytes + *ring_bytes) {
        return std::nullopt;
    }
    const auto counter = [&head](std::size_t offset) {
        return ByteReader(ByteView(head).subspan(offset)).u64("counter");
    };
    const std::uint64_t written = counter(written_offset);
    const std::uint64_t drained = counter(drained_offset);
    if (drained > file_bytes || file_bytes >= written || written - drained > *ring_bytes) {
        return std::nullopt;
    }
    Bytes tail(static_cast<std::size_t>(written - file_bytes));
    const std::size_t at = static_cast<std::size_t>(file_bytes) & (*ring_bytes - 1);
    const std::size_t first = std::min(tail.size(), *ring_bytes - at);
    if (!read_at(journal_head_bytes + at, std::span(tail).first(first)) ||
        !read_at(journal_head_bytes, std::span(tail).subspan(first))) {
        return std::nullopt;
    }
    // A writer that is still at work writes over nothing but what it has drained.
    if (!read_at(0, head) || counter(drained_offset) > file_bytes) {
        return std::nullopt;
    }
    return tail;
}

} // namespace twinstep::replay
