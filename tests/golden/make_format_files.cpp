// SPDX-License-Identifier: MIT
// Writes one small recording of each shape that version 1.1 has, of a game that no command knows.
//
//     make_format_files DIRECTORY     prints the files it made, one a line
#include "keyframe_part.hpp"
#include "recording_support.hpp"

#include "twinstep/replay/keyframes.hpp"
#include "twinstep/replay/pack.hpp"
#include "twinstep/replay/signature.hpp"

#include <iostream>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

std::string directory; // NOLINT: of the whole program

/// A shape that this build cannot make (without zstd, say) is told of and left out.
bool save(const std::string& name, const Bytes& file) {
    if (file.empty()) {
        std::cerr << name << ": cannot be made by this build\n";
        return false;
    }
    std::ofstream stream(directory + "/" + name, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(file.data()),
                 static_cast<std::streamsize>(file.size()));
    std::cout << name << '\n';
    return stream.good();
}

Bytes packed(const Bytes& file, const PackOptions& options) {
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(file, ReadMode::strict);
    const bool done =
        reader && pack(*reader, std::make_unique<MemorySink>(plan), options).has_value();
    return done ? plan->file : Bytes();
}

Bytes unpacked(const Bytes& file) {
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(file, ReadMode::strict);
    const bool done = reader && unpack(*reader, std::make_unique<MemorySink>(plan)).has_value();
    return done ? plan->file : Bytes();
}

Result<SigningKey> format_key() {
    std::array<std::byte, secret_seed_bytes> seed{};
    seed.fill(std::byte{0x11});
    return SigningKey::from_seed(seed);
}

Bytes signed_copy(const Bytes& file, std::uint64_t every) {
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(file, ReadMode::strict);
    const auto key = format_key();
    const bool done =
        reader && key &&
        sign(std::move(*reader), std::make_unique<MemorySink>(plan), *key, {every, {}});
    return done ? plan->file : Bytes();
}

Bytes with_keyframes(const Bytes& file, const KeyframeFileWriter::Options& form) {
    auto plan = std::make_shared<SinkPlan>();
    auto simulation = toy_simulation();
    const bool done = add_keyframes(*simulation,
                                    *Reader::from_memory(file),
                                    std::make_unique<MemorySink>(plan),
                                    {.every_ticks = 40, .form = form})
                          .has_value();
    return done ? plan->file : Bytes();
}

Bytes side_file(const Bytes& file) {
    auto plan = std::make_shared<SinkPlan>();
    auto simulation = toy_simulation();
    const bool done = write_side_file(*simulation,
                                      *Reader::from_memory(file),
                                      std::make_unique<MemorySink>(plan),
                                      {.every_ticks = 40})
                          .has_value();
    return done ? plan->file : Bytes();
}

/// The records of a recording as they are, but for what `change` does instead and says so.
template <class Change>
Bytes rewritten(const Bytes& file, const Head& head, const Change& change) {
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(file);
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), head);
    bool written = reader && writer;
    while (written) {
        const auto record = reader->next();
        if (!record || record->kind == RecordKind::end) {
            break;
        }
        if (change(*writer, *record, written)) {
            continue;
        }
        if (record->kind == RecordKind::tick) {
            written = written && writer->write_tick(record->tick.hash,
                                                    record->tick.section_bytes,
                                                    record->tick.encoded);
        } else if (record->kind == RecordKind::chunk_end) {
            written = written &&
                      writer->write_chunk_end(record->chunk_end.state, record->chunk_end.sections);
        } else if (record->kind == RecordKind::trailer) {
            written = written && writer->write_trailer();
        } else {
            written = written && writer->write_frame(record->tag, record->payload);
        }
    }
    return written && writer->close() ? plan->file : Bytes();
}

/// From a tick on, with the state of that tick.
Bytes late(const Bytes& file, Tick first) {
    auto simulation = make_simulation<ToyGame>();
    auto player = Player::open(*simulation, *Reader::from_memory(file));
    if (!player || !player->seek(first)) {
        return {};
    }
    Bytes snapshot;
    simulation->save(snapshot);
    const KeyframeInfo info{first,
                            simulation->hash().state,
                            snapshot.size(),
                            snapshot.size(),
                            KeyframeCodec::raw,
                            std::nullopt};
    Head head = Reader::from_memory(file)->head();
    head.incompatible |= feature::late_start;
    head.manifest[first_tick_key] = std::to_string(first.value);
    bool began = false;
    return rewritten(file, head, [&](Writer& writer, const Record& record, bool& written) {
        if (!began) {
            began = true;
            written = write_parts(info, snapshot, [&writer](ByteView payload) {
                          return writer.write_frame(0x41, payload);
                      }).has_value();
        }
        return (record.kind == RecordKind::tick && record.tick.tick < first) ||
               (record.kind == RecordKind::chunk_end && writer.chunk_ticks() == 0);
    });
}

/// Seven ticks behind the last one were lost.
Bytes with_loss(const Bytes& file) {
    const Head head = Reader::from_memory(file)->head();
    return rewritten(file, head, [](Writer& writer, const Record& record, bool& written) {
        if (record.kind == RecordKind::trailer) {
            Bytes payload;
            ByteWriter bytes(payload);
            bytes.varint(writer.next_tick().value);
            bytes.varint(7);
            bytes.u8(1);
            written = writer.write_frame(0x43, payload).has_value();
        }
        return false;
    });
}

/// Events, inputs that are absent, substituted, empty or of full length, other numbers of slots,
/// records of applications and of versions to come, frames of versions to come.
Bytes everything() {
    auto plan = std::make_shared<SinkPlan>();
    Head head;
    head.session = test_session(77);
    head.compatible = 1;
    head.read_only = 2;
    head.manifest = {{sections_key, "one two"}, {"record.note", "größer"}};
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), head);
    bool written = writer.has_value();
    for (std::uint64_t tick = 0; tick < 60; ++tick) {
        TickFrame frame;
        frame.reset(Tick{tick}, tick / 4 % 5);
        for (std::uint16_t slot = 0; slot < frame.slot_count(); ++slot) {
            if (slot != 2) {
                const std::size_t size = tick == 30 ? 256 : tick % 5;
                frame.set_input(
                    Slot{slot}, Bytes(size, static_cast<std::byte>(tick / 7)), slot == 1);
            }
        }
        if (tick % 13 == 0) {
            frame.add_event(EventKind::marker, Bytes(tick, std::byte{'m'}));
            frame.add_event(static_cast<EventKind>(200), Slot{4095}, {});
        }
        Bytes encoded;
        encode_frame(frame, encoded);
        const auto hash = static_cast<std::uint32_t>(tick * 0x01010101U);
        written = written && writer->write_tick(hash, Bytes(2, std::byte{7}), encoded);
        if (tick % 20 == 7) {
            written = written && writer->write_record(0x05, Bytes(3)) &&
                      writer->write_record(0x80, {}) && writer->write_record(0xFF, Bytes(200));
        }
        if (tick % 15 == 14) {
            written = written && writer->write_chunk_end({tick, 1}, std::vector<Hash128>(2)) &&
                      writer->write_frame(0x7F, Bytes(tick));
        }
    }
    return written && writer->write_trailer() && writer->close() ? plan->file : Bytes();
}

bool save_all() {
    const Bytes closed = record_small_chunks(200, 40);
    const Bytes players = record_toy({.ticks = 700, .slots = 4});
    const Bytes other = everything();
    const Bytes open = record_toy({.ticks = 650, .close = false});
    const Bytes vouched = signed_copy(closed, 2);
    const std::vector<std::pair<const char*, Bytes>> files{
        {"closed.twin", closed},
        {"empty.twin", record_toy({.ticks = 0})},
        {"open.twin", open},
        {"four-players.twin", players},
        {"everything.twin", other},
        {"late.twin", late(closed, Tick{70})},
        {"loss.twin", with_loss(closed)},
        {"packed-stored.twin", packed(other, {0, true})},
        {"packed-zstd.twin", packed(players, {19, true})},
        {"packed-zstd-everything.twin", packed(other, {19, true})},
        {"packed-open.twin", packed(open, {19, true})},
        {"packed-no-section-bytes.twin", packed(players, {19, false})},
        {"no-section-bytes.twin", unpacked(packed(closed, {0, false}))},
        {"side.twin", closed},
        {"side.kf", side_file(closed)},
        {"keyframes-raw.twin", with_keyframes(closed, {KeyframeCodec::raw, 1})},
        {"keyframes-zero-runs.twin", with_keyframes(closed, {KeyframeCodec::zero_runs, 1})},
        {"keyframes-zstd.twin", with_keyframes(closed, {KeyframeCodec::zstd, 1})},
        {"keyframes-delta.twin", with_keyframes(closed, {KeyframeCodec::zero_runs, 8})},
        {"signed.twin", vouched},
        {"signed-packed.twin", packed(vouched, {19, true})},
        {"signed-late-loss.twin", signed_copy(with_loss(late(closed, Tick{70})), 1)},
    };
    bool saved = true;
    for (const auto& [name, file] : files) {
        saved = save(name, file) && saved;
    }
    return saved;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return 2;
    }
    directory = argv[1];
    const auto key = format_key();
    if (key) {
        std::ofstream(directory + "/signed.key.pub", std::ios::binary)
            << "twinstep-ed25519-public:" << to_hex(key->public_key()) << '\n';
        std::cout << "signed.key.pub\n";
    }
    return save_all() ? 0 : 1;
}
