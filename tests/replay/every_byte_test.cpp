// SPDX-License-Identifier: MIT
// Files of ten chunks in every form, cut at every byte and with every bit flipped: the right
// verdict in bounded memory.
#include "allocation_counter.hpp"
#include "layout.hpp"
#include "pack_support.hpp"
#include "record_pass.hpp"

#include "twinstep/replay/keyframes.hpp"
#include "twinstep/sim/hash.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <optional>
#include <vector>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// Sanitizers make a read twenty times as long: there every so many bits and bytes; a prime, so
/// that all bits of a byte have their turn.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t damage_stride = 23;
#else
constexpr std::size_t damage_stride = 1;
#endif

constexpr std::uint64_t damaged_ticks = 40;
/// Everything that reading such a file may ask for, all told, most of it for buffers that every
/// file needs; unpacking needs more. The bound of the format is 4 MiB, and 6 MiB for a packed file.
constexpr std::size_t open_bytes_max = std::size_t{192} * 1024;
constexpr std::size_t packed_bytes_max = std::size_t{768} * 1024;

/// A part of a file that is good or damaged as a whole.
struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint64_t ticks = 0; ///< In it and before it.
};

struct DamagedForm {
    const char* name = "";
    Bytes file;
    std::size_t head_bytes = 0;
    std::vector<Part> parts;
    bool packed = false;
};

/// The records of a file as they lie there.
std::vector<Part> parts_of(ByteView file, std::size_t head_bytes, bool packed) {
    std::vector<Part> parts;
    std::uint64_t ticks = 0;
    for (std::size_t at = head_bytes; at < file.size();) {
        ByteReader reader(file.subspan(at));
        const std::uint8_t tag = reader.u8("tag");
        const ByteView payload = reader.bytes(reader.varint("length"), "payload");
        reader.u32("check");
        REQUIRE(reader.ok());
        if (packed && tag == static_cast<std::uint8_t>(RecordTag::packed)) {
            ByteReader front(payload);
            front.bytes(6, "marker, codec, layout");
            front.varint("chunks");
            ticks += front.varint("ticks");
        } else if (tag == static_cast<std::uint8_t>(RecordTag::tick) ||
                   tag == static_cast<std::uint8_t>(RecordTag::tick_changes)) {
            ++ticks;
        }
        parts.push_back({at, at + reader.offset(), ticks});
        at += reader.offset();
    }
    return parts;
}

DamagedForm form_of(const char* name, Bytes file, bool packed) {
    DamagedForm form;
    form.name = name;
    form.head_bytes = static_cast<std::size_t>(64 + 4 + 8) +
                      ByteReader(ByteView(file).subspan(64)).u32("manifest size");
    form.parts = parts_of(file, form.head_bytes, packed);
    form.file = std::move(file);
    form.packed = packed;
    return form;
}

/// A copy with a frame that says what could not be recorded, in front of the trailer.
Bytes with_loss(ByteView file) {
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(file, ReadMode::strict);
    REQUIRE(reader);
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), reader->head());
    REQUIRE(writer);
    for (auto record = reader->next(); record->kind != RecordKind::end; record = reader->next()) {
        if (record->kind == RecordKind::trailer) {
            Bytes loss;
            encode_loss({reader->next_tick(), 17, LossReason::slow_disk}, loss);
            REQUIRE(writer->write_frame(static_cast<std::uint8_t>(RecordTag::loss), loss));
        }
        REQUIRE(copy_record(*writer, *record));
    }
    return plan->file;
}

Bytes with_keyframes(ByteView file) {
    auto plan = std::make_shared<SinkPlan>();
    auto simulation = make_simulation<ToyGame>();
    AddKeyframesOptions options;
    options.every_ticks = damaged_ticks / 4;
    const auto report = add_keyframes(
        *simulation, *Reader::from_memory(file), std::make_unique<MemorySink>(plan), options);
    REQUIRE(report);
    REQUIRE(report->keyframes >= 3);
    return plan->file;
}

/// In packed files a frame holds all chunks up to a frame of another kind.
Bytes with_packed_chunks(ByteView file) {
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(file, ReadMode::strict);
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), reader->head());
    for (auto record = reader->next(); record->kind != RecordKind::end; record = reader->next()) {
        REQUIRE(copy_record(*writer, *record));
        if (record->kind == RecordKind::chunk_end) {
            REQUIRE(writer->write_frame(0x50, Bytes(3)));
        }
    }
    return pack_bytes(plan->file);
}

std::vector<DamagedForm> damaged_forms() {
    const Bytes open = record_small_chunks(damaged_ticks, damaged_ticks / 10);
    REQUIRE(summarise(open)->chunks == 10);
    std::vector<DamagedForm> forms;
    forms.push_back(form_of("open", open, false));
    forms.push_back(form_of("packed", with_packed_chunks(open), true));
    forms.push_back(form_of("keyframes and loss", with_loss(with_keyframes(open)), false));
    for (const DamagedForm& form : forms) {
        REQUIRE(form.parts.back().ticks == damaged_ticks);
        REQUIRE(summarise(form.file)->state == FileState::closed);
    }
    REQUIRE(summarise(forms[2].file)->loss->ticks == 17);
    return forms;
}

/// What reading to the end comes to.
struct FileVerdict {
    std::optional<Error> refused; ///< By open or, in strict and tail mode, by a record.
    bool opened = false;
    FileState state = FileState::open;
    std::uint64_t ticks = 0;
    std::optional<Defect> defect;
};

FileVerdict verdict_on(const DamagedForm& form, ByteView file, ReadMode mode) {
    FileVerdict verdict;
    const AllocationCounter counter;
    {
        auto reader = Reader::from_memory(file, mode);
        if (!reader) {
            verdict.refused = reader.error();
        } else {
            verdict.opened = true;
            auto record = reader->next();
            while (record && record->kind != RecordKind::end) {
                record = reader->next();
            }
            if (!record) {
                verdict.refused = record.error();
            }
            verdict.state = reader->state();
            verdict.ticks = reader->ticks();
            if (!reader->defects().empty()) {
                verdict.defect = reader->defects().front();
            }
        }
    }
    REQUIRE(counter.bytes() < (form.packed ? packed_bytes_max : open_bytes_max));
    return verdict;
}

/// Ticks of the parts that end at or before a byte.
std::uint64_t ticks_before(const DamagedForm& form, std::size_t byte) {
    std::uint64_t ticks = 0;
    for (const Part& part : form.parts) {
        if (part.end > byte) {
            break;
        }
        ticks = part.ticks;
    }
    return ticks;
}

bool is_boundary(const DamagedForm& form, std::size_t byte) {
    return byte == form.head_bytes ||
           std::any_of(form.parts.begin(), form.parts.end(), [byte](const Part& part) {
               return part.end == byte;
           });
}

constexpr std::array<ReadMode, 3> read_modes{ReadMode::strict, ReadMode::tail, ReadMode::prefix};

} // namespace

TEST_CASE("ten chunks in each form, cut at every byte (every 23rd under sanitizers): open or "
          "truncated at its tick",
          "[replay][fault]") {
    for (const DamagedForm& form : damaged_forms()) {
        for (std::size_t size = 0; size < form.file.size(); size += damage_stride) {
            INFO(form.name << " cut to " << size << " of " << form.file.size() << " bytes");
            const bool boundary = is_boundary(form, size);
            for (const ReadMode mode : read_modes) {
                const FileVerdict verdict = verdict_on(form, ByteView(form.file).first(size), mode);
                REQUIRE(verdict.opened == (size >= form.head_bytes));
                if (!verdict.opened) {
                    REQUIRE(verdict.refused->code == Errc::truncated);
                    continue;
                }
                REQUIRE(verdict.ticks == ticks_before(form, size));
                REQUIRE(verdict.state == (boundary ? FileState::open : FileState::truncated));
                REQUIRE(verdict.refused.has_value() == (!boundary && mode == ReadMode::strict));
                REQUIRE(verdict.defect.has_value() == !boundary);
                if (!boundary) {
                    REQUIRE(verdict.defect->error.code == Errc::truncated);
                    REQUIRE(verdict.defect->tick == Tick{verdict.ticks});
                }
            }
        }
    }
}

TEST_CASE("ten chunks in each form, each bit flipped (every 23rd under sanitizers): damaged at its "
          "tick",
          "[replay][fault]") {
    for (const DamagedForm& form : damaged_forms()) {
        Bytes bad = form.file;
        for (std::size_t bit = 0; bit < 8 * bad.size(); bit += damage_stride) {
            INFO(form.name << " with bit " << bit % 8 << " of byte " << bit / 8 << " flipped");
            bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
            for (const ReadMode mode : read_modes) {
                const FileVerdict verdict = verdict_on(form, bad, mode);
                REQUIRE(verdict.opened == (bit / 8 >= form.head_bytes));
                if (!verdict.opened) {
                    // Never another version, another simulation, or an error of the disk.
                    const std::error_code code = verdict.refused->code;
                    REQUIRE((code == Errc::corrupt_head || code == Errc::not_a_recording ||
                             code == Errc::truncated || code == Errc::limit_exceeded));
                    continue;
                }
                REQUIRE(verdict.state == FileState::damaged);
                REQUIRE(verdict.ticks == ticks_before(form, bit / 8));
                REQUIRE(verdict.defect);
                REQUIRE(verdict.defect->tick == Tick{verdict.ticks});
                REQUIRE(verdict.defect->error.code != Errc::truncated);
                REQUIRE(verdict.defect->error.code != Errc::unsupported_version);
                REQUIRE(verdict.defect->error.code.category() == replay_category());
                REQUIRE(verdict.refused.has_value() == (mode != ReadMode::prefix));
            }
            bad[bit / 8] = form.file[bit / 8];
        }
    }
}

TEST_CASE("whatever bit of keyframes in a file is flipped, no state loads but the recorded one",
          "[replay][fault][keyframe]") {
    const DamagedForm form = std::move(damaged_forms()[2]);
    std::vector<Hash128> states;
    auto straight = toy_simulation();
    ToySource source(1, damaged_ticks);
    Driver driver(*straight, source);
    do {
        states.push_back(straight->hash().state);
    } while (driver.advance(1)->ticks == 1);
    Bytes bad = form.file;
    std::size_t loaded = 0;
    std::size_t refused = 0;
    auto simulation = make_simulation<ToyGame>();
    for (std::size_t bit = 8 * form.head_bytes; bit < 8 * bad.size(); bit += 7 * damage_stride) {
        INFO("bit " << bit % 8 << " of byte " << bit / 8);
        bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        auto recording = KeyframedRecording::open(*Reader::from_memory(bad, ReadMode::prefix));
        REQUIRE(recording);
        REQUIRE(recording->prepare(*simulation));
        for (std::size_t i = 0; i < recording->keyframes().size(); ++i) {
            if (recording->load(*simulation, i)) {
                ++loaded;
                REQUIRE(simulation->hash().state == states.at(simulation->tick().value));
            } else {
                ++refused;
            }
        }
        bad[bit / 8] = form.file[bit / 8];
    }
    CHECK(loaded > 1000 / damage_stride);
    CAPTURE(refused);
}
