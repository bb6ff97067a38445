// SPDX-License-Identifier: MIT
// Recordings of many kinds to pack, and packing in memory.
#pragma once

#include "compression.hpp"
#include "recording_support.hpp"
#include "test_random.hpp"

#include "twinstep/replay/pack.hpp"
#include "twinstep/sim/hash.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twinstep::replay {

inline Bytes
pack_bytes(ByteView bytes, const PackOptions& options = {}, PackReport* report = nullptr) {
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(bytes, ReadMode::strict);
    REQUIRE(reader);
    PackOptions possible = options;
    possible.level = has_compression() ? options.level : 0;
    const auto packed = pack(*reader, std::make_unique<MemorySink>(plan), possible);
    INFO((packed ? std::string() : to_string(packed.error())));
    REQUIRE(packed);
    if (report != nullptr) {
        *report = *packed;
    }
    return plan->file;
}

inline Bytes unpack_bytes(ByteView bytes) {
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(bytes, ReadMode::strict);
    REQUIRE(reader);
    const auto unpacked = unpack(*reader, std::make_unique<MemorySink>(plan));
    INFO((unpacked ? std::string() : to_string(unpacked.error())));
    REQUIRE(unpacked);
    return plan->file;
}

inline Hash128 chain_of(ByteView bytes) {
    const auto summary = summarise(bytes);
    REQUIRE(summary);
    REQUIRE(summary->defects.empty());
    return summary->chain;
}

/// A tick of which most inputs repeat and some vary in length.
inline TickFrame
random_tick(TestRandom& random, Tick tick, std::size_t slots, bool with_events = false) {
    TickFrame frame;
    frame.reset(tick, slots);
    for (std::size_t i = 0; i < slots; ++i) {
        if (random.below(8) != 0) {
            const std::size_t size = random.below(16) == 0 ? random.below(257) : random.below(4);
            Bytes input(size, static_cast<std::byte>(random.below(3)));
            frame.set_input(Slot{static_cast<std::uint16_t>(i)}, input, random.below(5) == 0);
        }
    }
    for (std::size_t left = with_events ? 1 + random.below(3) : 0; left > 0; --left) {
        const Bytes payload(random.below(5), std::byte{9});
        if (random.below(2) == 0) {
            frame.add_event(EventKind::marker, payload);
        } else {
            frame.add_event(
                EventKind::join, Slot{static_cast<std::uint16_t>(random.below(99))}, payload);
        }
    }
    return frame;
}

/// Writes a recording into memory.
struct TestRecording {
    std::shared_ptr<SinkPlan> plan = std::make_shared<SinkPlan>();
    std::optional<Writer> writer;
    std::uint64_t counter = 0;

    explicit TestRecording(Head head = {}) {
        head.session = test_session();
        head.manifest[sections_key] = "a bc d";
        auto created = Writer::create(std::make_unique<MemorySink>(plan), head);
        REQUIRE(created);
        writer.emplace(std::move(*created));
    }

    void tick(const TickFrame& frame) {
        Bytes encoded;
        encode_frame(frame, encoded);
        const Bytes sections(writer->tick_section_bytes(), static_cast<std::byte>(++counter * 37));
        const auto written = writer->write_tick(
            static_cast<std::uint32_t>(counter * 2654435761U), sections, encoded);
        REQUIRE(written);
    }

    /// With a state hash that is made of the section hashes, as a simulation's is, or any other.
    void end_chunk(bool made = false) {
        const Hash128 section{++counter, 99};
        const std::vector<Hash128> hashes(3, section);
        const std::vector<SectionHash> sections(3, SectionHash{{}, section});
        const Hash128 state =
            made ? combine_sections(writer->next_tick(), sections) : Hash128{counter, 2};
        REQUIRE(writer->write_chunk_end(state, hashes));
    }

    Bytes close() {
        REQUIRE(writer->write_trailer());
        return plan->file;
    }

    const Bytes& file() const { return plan->file; }
};

/// A recording of any version and kind.
inline Bytes random_recording(TestRandom& random) {
    Head head;
    const bool old = random.below(4) == 0;
    head.minor = old ? 0 : 1;
    head.incompatible = old ? 0 : feature::changes;
    if (!old && random.below(3) == 0) {
        head.incompatible |= feature::late_start;
        head.manifest[first_tick_key] = random.below(2) == 0 ? "1" : "123456789012345";
    }
    if (!old && random.below(3) == 0) {
        head.incompatible |= feature::no_section_bytes;
    }
    TestRecording recording(head);
    Writer& writer = *recording.writer;
    const bool made = random.below(2) == 0;
    std::size_t slots = random.below(6);
    for (std::size_t steps = random.below(120); steps > 0; --steps) {
        switch (random.below(12)) {
        case 0:
            if (writer.chunk_ticks() > 0) {
                recording.end_chunk(made || random.below(4) == 0);
            }
            break;
        case 1:
            REQUIRE(writer.write_record(static_cast<std::uint8_t>(0x80 + random.below(128)),
                                        Bytes(random.below(300), std::byte{5})));
            break;
        case 2:
            // What frames are later is data in 1.0.
            if (old) {
                REQUIRE(writer.write_record(random.below(2) == 0 ? 0x04 : 0x40, Bytes(3)));
            } else if (writer.chunk_records() == 0) {
                const auto tag =
                    static_cast<std::uint8_t>(0x44 + random.below(60)); // Of later versions.
                REQUIRE(writer.write_frame(tag, Bytes(random.below(5000), std::byte{6})));
            }
            break;
        case 3:
            slots = random.below(4) == 0 ? random.below(300) : random.below(6);
            break;
        default:
            recording.tick(random_tick(random, writer.next_tick(), slots, random.below(10) == 0));
        }
    }
    if (writer.chunk_ticks() > 0 && random.below(2) == 0) {
        recording.end_chunk(made);
    }
    return writer.chunk_records() == 0 && random.below(2) == 0 ? recording.close()
                                                               : recording.file();
}

/// A small recording that needs many packed frames: 24 chunks with a frame after every second.
inline Bytes many_frames() {
    TestRandom random(17);
    TestRecording recording;
    for (int chunk = 0; chunk < 24; ++chunk) {
        for (int i = 0; i < 5; ++i) {
            recording.tick(random_tick(random, recording.writer->next_tick(), 2, i == 3));
        }
        recording.end_chunk();
        if (chunk % 2 == 1) {
            REQUIRE(recording.writer->write_frame(0x41, Bytes(40, std::byte{3})));
        }
    }
    return recording.close();
}

} // namespace twinstep::replay
