// SPDX-License-Identifier: MIT
// Tick frames, manifests and recordings.
#include "fuzz_targets.hpp"
#include "recording_support.hpp"

#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/frame.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/manifest.hpp"

#include <algorithm>
#include <cstring>

using namespace twinstep;
using namespace twinstep::replay;

void fuzz_tick_frame(ByteView bytes) {
    TickFrame frame;
    if (decode_frame(bytes, frame)) {
        Bytes again;
        encode_frame(frame, again);
        require(std::equal(bytes.begin(), bytes.end(), again.begin(), again.end()),
                "a tick frame with two encodings");
    } else {
        require(frame.slot_count() == 0, "a refused frame is not emptied");
    }
}

std::vector<Bytes> tick_frame_seeds() {
    std::vector<Bytes> seeds;
    for (const unsigned number : {0U, 1U, 3U, 20U}) {
        const auto slots = static_cast<std::uint16_t>(number);
        TickFrame frame;
        frame.reset(Tick{slots * std::uint64_t{1000}}, slots);
        for (std::uint16_t slot = 0; slot < slots; slot = static_cast<std::uint16_t>(slot + 2)) {
            frame.set_input(Slot{slot}, Bytes(slot, std::byte{slots == 3}), slot == 4);
        }
        if (slots != 1) {
            frame.add_event(EventKind::marker, Bytes(3, std::byte{'x'}));
            frame.add_event(EventKind::leave, Slot{2});
        }
        encode_frame(frame, seeds.emplace_back());
    }
    return seeds;
}

void fuzz_manifest(ByteView bytes) {
    if (const auto manifest = decode_manifest(bytes)) {
        Bytes again;
        encode_manifest(*manifest, again);
        require(std::equal(bytes.begin(), bytes.end(), again.begin(), again.end()),
                "a manifest with two encodings");
    }
}

std::vector<Bytes> manifest_seeds() {
    std::vector<Bytes> seeds(3);
    encode_manifest({}, seeds[0]);
    encode_manifest({{"sim.name", "toy"}, {"sim.version", "1"}}, seeds[1]);
    encode_manifest({{"record.note", "größer"}, {"record.sections", "a b"}, {"x", ""}}, seeds[2]);
    return seeds;
}

namespace {

/// Makes the checks of a damaged recording right again, as far as its lengths make sense:
/// otherwise nothing behind the first check would ever be reached.
class Repair {
public:
    explicit Repair(Bytes& file)
        : file_(file) {}

    void run() {
        if (file_.size() < preamble_bytes + 4) {
            return;
        }
        put64(56, checksum64(ByteView(file_).first(56)));
        ByteReader reader(ByteView(file_).subspan(preamble_bytes));
        const std::size_t manifest = reader.u32("size");
        const std::size_t check = preamble_bytes + 4 + manifest;
        if (check > file_.size() || file_.size() - check < 8) {
            return;
        }
        put64(check, checksum64(ByteView(file_).first(check)));
        at_ = chunk_ = check + 8;
        chain_ = hash_bytes("twinstep.head", Tick{0}, {}, ByteView(file_).first(at_));
        while (record()) {
        }
    }

private:
    void put64(std::size_t at, std::uint64_t value) {
        const std::uint64_t ordered = detail::little_endian(value);
        std::memcpy(file_.data() + at, &ordered, sizeof(ordered));
    }

    bool record() {
        ByteReader reader(ByteView(file_).subspan(at_));
        const std::uint8_t tag = reader.u8("tag");
        const std::uint64_t size = reader.varint("length", record_payload_bytes_max);
        const std::size_t payload = at_ + reader.offset();
        reader.bytes(size, "payload");
        const std::size_t end = at_ + reader.offset();
        if (!reader.ok() || reader.remaining() < record_check_bytes) {
            return false;
        }
        const bool ends_chunk = tag == static_cast<std::uint8_t>(RecordTag::chunk_end);
        if (ends_chunk && size >= 80 + 16) {
            put64(payload + 48, chain_.low);
            put64(payload + 56, chain_.high);
            Bytes data(file_.begin() + static_cast<std::ptrdiff_t>(chunk_),
                       file_.begin() + static_cast<std::ptrdiff_t>(at_));
            data.insert(data.end(),
                        file_.begin() + static_cast<std::ptrdiff_t>(payload),
                        file_.begin() + static_cast<std::ptrdiff_t>(end - 16));
            chain_ = hash_bytes("twinstep.chunk", Tick{chunks_}, {}, data);
            put64(end - 16, chain_.low);
            put64(end - 8, chain_.high);
        }
        seal(end);
        at_ = end + record_check_bytes;
        ++records_;
        if (ends_chunk) {
            chunk_ = at_;
            ++chunks_;
            records_ = 0;
        }
        return true;
    }

    void seal(std::size_t end) {
        Bytes data(file_.begin() + 32, file_.begin() + 48);
        ByteWriter writer(data);
        writer.u32(chunks_);
        writer.u32(records_);
        writer.bytes(ByteView(file_).subspan(at_, end - at_));
        const auto check = detail::little_endian(static_cast<std::uint32_t>(checksum64(data)));
        std::memcpy(file_.data() + end, &check, sizeof(check));
    }

    Bytes& file_;
    std::size_t at_ = 0;
    std::size_t chunk_ = 0;
    std::uint32_t chunks_ = 0;
    std::uint32_t records_ = 0;
    Hash128 chain_;
};

std::uint64_t count_ticks(ByteView file, ReadMode mode) {
    auto reader = Reader::from_memory(file, mode);
    if (!reader) {
        return 0;
    }
    std::uint64_t ticks = 0;
    while (true) {
        const auto record = reader->next();
        if (!record || record->kind == RecordKind::end) {
            break;
        }
        require(record->offset + record->size <= file.size(), "a record beyond the file");
        if (record->kind == RecordKind::tick) {
            require(record->tick.tick == Tick{ticks}, "ticks out of order");
            Bytes again;
            encode_frame(*record->tick.frame, again);
            require(std::equal(again.begin(),
                               again.end(),
                               record->tick.encoded.begin(),
                               record->tick.encoded.end()),
                    "a tick frame with two encodings");
            ++ticks;
        }
    }
    require(reader->ticks() == ticks, "ticks counted wrongly");
    return ticks;
}

} // namespace

/// As it is, and with its checks made right.
void fuzz_recording(ByteView bytes) {
    Bytes file(bytes.begin(), bytes.end());
    for (const bool repaired : {false, true}) {
        if (repaired) {
            Repair(file).run();
        }
        const std::uint64_t strict = count_ticks(file, ReadMode::strict);
        const std::uint64_t prefix = count_ticks(file, ReadMode::prefix);
        require(strict <= prefix, "a strict reader reads more");
        static_cast<void>(count_ticks(file, ReadMode::tail));
        static_cast<void>(summarise(file));
    }
}

std::vector<Bytes> recording_seeds() {
    return {record_toy({.ticks = 0}),
            record_toy({.ticks = 3}),
            record_toy({.ticks = 12, .slots = 3, .close = false}),
            record_small_chunks(6, 2, 2)};
}
