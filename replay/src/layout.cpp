// SPDX-License-Identifier: MIT
// Layout of preamble, chunk end and trailer; docs/recording-format.md.
#include "layout.hpp"

#include "twinstep/sim/snapshot.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <random>
#include <set>

namespace twinstep::replay {

namespace {

constexpr std::string_view head_domain = "twinstep.head";
constexpr std::string_view chunk_domain = "twinstep.chunk";
constexpr std::size_t preamble_check_offset = 56;

void put(Bytes& target, const std::array<std::uint8_t, 8>& text) {
    ByteWriter(target).bytes(std::as_bytes(std::span(text)));
}

bool starts_with(ByteView bytes, const std::array<std::uint8_t, 8>& text) {
    return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

Hash128 read_hash(ByteReader& reader, const char* field) {
    const std::uint64_t low = reader.u64(field);
    const std::uint64_t high = reader.u64(field);
    return {low, high};
}

} // namespace

Error as(Errc code, const Error& error) {
    Error result = error;
    result.code = code;
    result.detail = error.detail.empty() ? error.code.message() : error.detail;
    return result;
}

std::string shown(std::string_view text) {
    constexpr std::size_t bytes_max = 120;
    std::string line(text.substr(0, bytes_max));
    for (char& c : line) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < ' ' || byte == 0x7F) {
            c = '?';
        }
    }
    return text.size() > bytes_max ? line + "..." : line;
}

bool is_utf8(std::string_view text) {
    std::size_t i = 0;
    while (i < text.size()) {
        const auto lead = static_cast<std::uint8_t>(text[i]);
        const std::size_t more = lead < 0x80              ? 0
                                 : (lead & 0xE0U) == 0xC0 ? 1
                                 : (lead & 0xF0U) == 0xE0 ? 2
                                 : (lead & 0xF8U) == 0xF0 ? 3
                                                          : text.size();
        if (more >= text.size() - i) {
            return false;
        }
        std::uint32_t code = more == 0 ? lead : lead & (0x3FU >> more);
        for (std::size_t k = 1; k <= more; ++k) {
            const auto byte = static_cast<std::uint8_t>(text[i + k]);
            if ((byte & 0xC0U) != 0x80) {
                return false;
            }
            code = (code << 6) | (byte & 0x3FU);
        }
        constexpr std::array<std::uint32_t, 4> smallest{0, 0x80, 0x800, 0x10000};
        const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
        if (code < smallest[more] || code > 0x10FFFF || surrogate) {
            return false;
        }
        i += more + 1;
    }
    return true;
}

Result<SessionId> make_session_id() {
    SessionId id;
    try {
        // tidy: allow c-random: names a file's session; nothing that is simulated depends on it
        std::random_device device;
        for (std::size_t i = 0; i < id.size(); i += 4) {
            const std::uint32_t word = device();
            std::memcpy(id.data() + i, &word, sizeof(word));
        }
    } catch (const std::exception& exception) {
        return fail(Error(Errc::io_error, "session", exception.what()));
    }
    return id;
}

std::string to_hex(ByteView bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const std::byte byte : bytes) {
        text += digits[static_cast<std::size_t>(byte) >> 4];
        text += digits[static_cast<std::size_t>(byte) & 15U];
    }
    return text;
}

std::string to_hex(const SessionId& id) {
    return to_hex(ByteView(id));
}

Result<Tick> first_tick(const Head& head) {
    const bool late = (head.incompatible & feature::late_start) != 0;
    const auto found = head.manifest.find(first_tick_key);
    if (!late && found == head.manifest.end()) {
        return Tick{0};
    }
    const auto wrong = [](const char* why) {
        return fail(Error(Errc::corrupt_head, first_tick_key, why));
    };
    if (!late || found == head.manifest.end()) {
        return wrong("the key and the feature of a late start belong together");
    }
    const std::string& text = found->second;
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc{} || parsed.ptr != end || value == 0 || value > tick_max ||
        text.front() == '0') {
        return wrong("must be a whole number from 1 to 2^63 - 1");
    }
    return Tick{value};
}

Result<std::vector<std::string>> section_names(const Manifest& manifest) {
    const auto found = manifest.find(sections_key);
    if (found == manifest.end()) {
        return fail(Error(Errc::corrupt_head, sections_key, "the key is missing"));
    }
    std::vector<std::string> names;
    std::set<std::string_view> seen;
    std::string_view rest = found->second;
    while (names.size() <= sections_max) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        const std::string_view name = rest.substr(0, end);
        const bool printable =
            std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7F; });
        if (name.empty() || name.size() > section_name_bytes_max || !printable ||
            !seen.insert(name).second) {
            break;
        }
        names.emplace_back(name);
        if (end == rest.size()) {
            if (names.size() <= sections_max) {
                return names;
            }
            break;
        }
        rest.remove_prefix(end + 1);
    }
    return fail(Error(Errc::corrupt_head, sections_key, "not a list of section names"));
}

Result<void> check_manifest(const Head& head) {
    for (const auto& [key, value] : head.manifest) {
        if (!is_utf8(key)) {
            return fail(Error(Errc::corrupt_head, "manifest.key", "not UTF-8"));
        }
        if (!is_utf8(value)) {
            return fail(Error(Errc::corrupt_head, shown(key), "not UTF-8"));
        }
    }
    if (auto names = section_names(head.manifest); !names) {
        return fail(names.error());
    }
    if (auto first = first_tick(head); !first) {
        return fail(first.error());
    }
    return {};
}

std::uint32_t record_check(const Place& place, ByteView record, Bytes& scratch) {
    scratch.clear();
    ByteWriter writer(scratch);
    writer.bytes(place.session);
    writer.u32(place.chunk);
    writer.u32(place.record);
    // Copying is faster than streaming for records, streaming for frames.
    constexpr std::size_t copied_bytes_max = 4096;
    if (record.size() > copied_bytes_max) {
        return static_cast<std::uint32_t>(checksum64(scratch, record));
    }
    writer.bytes(record);
    return static_cast<std::uint32_t>(checksum64(scratch));
}

// --- head ---

void encode_head(const Head& head, Bytes& target) {
    const std::size_t start = target.size();
    ByteWriter writer(target);
    put(target, magic);
    writer.u16(format_major);
    writer.u16(head.minor);
    writer.u32(static_cast<std::uint32_t>(preamble_bytes));
    writer.u32(head.compatible);
    writer.u32(head.read_only);
    writer.u32(head.incompatible);
    writer.u32(0);
    writer.bytes(head.session);
    writer.u64(0);
    writer.u64(checksum64(ByteView(target).subspan(start)));
    Bytes manifest;
    encode_manifest(head.manifest, manifest);
    writer.u32(static_cast<std::uint32_t>(manifest.size()));
    writer.bytes(manifest);
    writer.u64(checksum64(ByteView(target).subspan(start)));
}

Result<Head> decode_preamble(ByteView bytes) {
    ByteReader reader(bytes);
    reader.bytes(magic.size(), "magic");
    const std::uint16_t major = reader.u16("major");
    Head head;
    head.minor = reader.u16("minor");
    const std::uint32_t size = reader.u32("preamble.size");
    head.compatible = reader.u32("features.compatible");
    head.read_only = reader.u32("features.read_only");
    head.incompatible = reader.u32("features.incompatible");
    const std::uint32_t reserved = reader.u32("preamble.reserved");
    const ByteView session = reader.bytes(head.session.size(), "session");
    const std::uint64_t reserved_tail = reader.u64("preamble.reserved");
    const std::uint64_t check = reader.u64("preamble.check");
    if (!reader.ok()) {
        return fail(as(Errc::corrupt_head, reader.error()));
    }
    std::copy(session.begin(), session.end(), head.session.begin());
    // The check comes first, so that a flipped bit is never taken for a version.
    if (check != checksum64(bytes.first(preamble_check_offset))) {
        return fail(Error(Errc::corrupt_head, "preamble.check", "the check is wrong").at(56));
    }
    if (major != format_major) {
        return fail(Error(Errc::unsupported_version,
                          "major",
                          "version " + std::to_string(major) + ", this program reads " +
                              std::to_string(format_major))
                        .at(8));
    }
    if (const std::uint32_t unknown = head.incompatible & ~feature::known; unknown != 0) {
        return fail(Error(Errc::unsupported_version,
                          "features.incompatible",
                          "bits " + twinstep::to_hex(unknown) + " are not known here")
                        .at(24));
    }
    if (size != preamble_bytes) {
        return fail(Error(Errc::corrupt_head, "preamble.size", "must be 64").at(12));
    }
    if (reserved != 0 || reserved_tail != 0) {
        return fail(Error(Errc::corrupt_head, "preamble.reserved", "must be zero")
                        .at(reserved != 0 ? 28 : 48));
    }
    return head;
}

bool is_known_tag(std::uint8_t tag, bool with_changes) {
    const RecordTag last = with_changes ? RecordTag::tick_changes : RecordTag::trailer;
    return tag <= static_cast<std::uint8_t>(last);
}

Hash128 head_digest(ByteView head) {
    return hash_bytes(head_domain, Tick{0}, {}, head);
}

// --- chunk end ---

void begin_chunk_digest(Hasher& hasher, std::uint64_t chunk) {
    hasher.begin(chunk_domain, Tick{chunk}, {});
}

void encode_hash(const Hash128& hash, Bytes& target) {
    ByteWriter writer(target);
    writer.u64(hash.low);
    writer.u64(hash.high);
}

void encode_chunk_end(const ChunkEnd& end, Bytes& target) {
    ByteWriter writer(target);
    writer.u32(sync_marker);
    writer.u32(end.number);
    writer.u64(end.first.value);
    writer.u64(end.last.value);
    writer.u32(end.ticks);
    writer.u32(end.records);
    writer.u32(end.chunk_bytes);
    writer.u16(static_cast<std::uint16_t>(end.sections.size()));
    writer.u16(0);
    writer.u64(end.back_offset);
    encode_hash(end.previous, target);
    encode_hash(end.state, target);
    for (const Hash128& section : end.sections) {
        encode_hash(section, target);
    }
}

Result<ChunkEnd> decode_chunk_end(ByteView payload,
                                  std::size_t section_count,
                                  std::vector<Hash128>& sections,
                                  std::size_t& digest_offset) {
    ByteReader reader(payload);
    ChunkEnd end;
    const std::uint32_t marker = reader.u32("chunk_end.marker");
    end.number = reader.u32("chunk_end.number");
    end.first = Tick{reader.u64("chunk_end.first")};
    end.last = Tick{reader.u64("chunk_end.last")};
    end.ticks = reader.u32("chunk_end.ticks");
    end.records = reader.u32("chunk_end.records");
    end.chunk_bytes = reader.u32("chunk_end.bytes");
    const std::uint16_t count = reader.u16("chunk_end.sections");
    const std::uint16_t reserved = reader.u16("chunk_end.reserved");
    end.back_offset = reader.u64("chunk_end.back_offset");
    end.previous = read_hash(reader, "chunk_end.previous");
    end.state = read_hash(reader, "chunk_end.state");
    if (reader.ok() && marker != sync_marker) {
        return fail(Error(Errc::corrupt_chunk, "chunk_end.marker").at(0));
    }
    if (reader.ok() && count != section_count) {
        return fail(Error(Errc::corrupt_chunk, "chunk_end.sections").at(36));
    }
    if (reader.ok() && reserved != 0) {
        return fail(Error(Errc::corrupt_chunk, "chunk_end.reserved", "must be zero").at(38));
    }
    sections.clear();
    for (std::size_t i = 0; i < section_count; ++i) {
        sections.push_back(read_hash(reader, "chunk_end.section"));
    }
    end.sections = sections;
    digest_offset = reader.offset();
    end.digest = read_hash(reader, "chunk_end.digest");
    reader.finish("chunk_end");
    if (!reader.ok()) {
        return fail(as(Errc::corrupt_chunk, reader.error()));
    }
    return end;
}

// --- trailer ---

void encode_trailer(const Trailer& trailer, Bytes& target) {
    ByteWriter writer(target);
    writer.u64(trailer.last_chunk_end);
    writer.u64(trailer.ticks);
    writer.u32(trailer.chunks);
    writer.u32(0);
    encode_hash(trailer.chain, target);
    put(target, end_magic);
}

Result<Trailer> decode_trailer(ByteView payload) {
    ByteReader reader(payload);
    Trailer trailer;
    trailer.last_chunk_end = reader.u64("trailer.last_chunk_end");
    trailer.ticks = reader.u64("trailer.ticks");
    trailer.chunks = reader.u32("trailer.chunks");
    const std::uint32_t reserved = reader.u32("trailer.reserved");
    trailer.chain = read_hash(reader, "trailer.chain");
    const ByteView tail = reader.bytes(end_magic.size(), "trailer.magic");
    reader.finish("trailer");
    if (!reader.ok()) {
        return fail(as(Errc::corrupt_chunk, reader.error()));
    }
    if (reserved != 0) {
        return fail(Error(Errc::corrupt_chunk, "trailer.reserved", "must be zero").at(20));
    }
    if (!starts_with(tail, end_magic)) {
        return fail(Error(Errc::corrupt_chunk, "trailer.magic").at(40));
    }
    return trailer;
}

// --- loss ---

void encode_loss(const Loss& loss, Bytes& target) {
    ByteWriter writer(target);
    writer.varint(loss.first.value);
    writer.varint(loss.ticks);
    writer.u8(static_cast<std::uint8_t>(loss.reason));
}

Result<Loss> decode_loss(ByteView payload) {
    ByteReader reader(payload);
    Loss loss;
    loss.first = Tick{reader.varint("loss.first", tick_max)};
    loss.ticks = reader.varint("loss.ticks", tick_max);
    loss.reason = static_cast<LossReason>(reader.u8("loss.reason"));
    reader.finish("loss");
    if (!reader.ok()) {
        return fail(as(Errc::corrupt_record, reader.error()));
    }
    if (loss.ticks == 0) {
        return fail(Error(Errc::corrupt_record, "loss.ticks", "must not be 0").at(0));
    }
    return loss;
}

bool has_later_structure(ByteView rest) {
    constexpr std::size_t end_bytes = end_magic.size() + record_check_bytes;
    if (rest.size() >= end_bytes && starts_with(rest.last(end_bytes), end_magic)) {
        return true;
    }
    // From 1 on: a chunk end that is itself cut begins with a tag, never with its marker.
    Bytes marker;
    ByteWriter(marker).u32(sync_marker);
    constexpr std::size_t head_bytes_max = 4;
    const ByteView after = rest.size() > head_bytes_max ? rest.subspan(head_bytes_max) : ByteView();
    return std::search(after.begin(), after.end(), marker.begin(), marker.end()) != after.end();
}

} // namespace twinstep::replay
