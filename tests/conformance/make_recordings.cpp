// SPDX-License-Identifier: MIT
// Writes recordings of every shape and their text form into a directory, for the Python decoder.
#include "recording_support.hpp"
#include "tracked_game.hpp"

#include "twinstep/replay/keyframes.hpp"

#include <fstream>
#include <iostream>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// The file of the page's worked example: one tick, one slot, one section.
Bytes tiny() {
    auto plan = std::make_shared<SinkPlan>();
    Head head;
    head.session = test_session();
    head.manifest = {{sections_key, "s"}};
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), head);
    TickFrame frame;
    frame.reset(Tick{0}, 1);
    const Bytes input{std::byte{0x19}, std::byte{0xFF}};
    frame.set_input(Slot{0}, input);
    Bytes encoded;
    encode_frame(frame, encoded);
    const bool written = writer->write_tick(0xA1B2C3D4, Bytes{std::byte{0x5E}}, encoded) &&
                         writer->write_chunk_end({1, 2}, std::vector<Hash128>{{3, 4}}) &&
                         writer->write_trailer() && writer->close();
    return written ? plan->file : Bytes();
}

/// Every kind of event, absent and substituted inputs, records of unknown kinds.
Bytes everything(std::uint32_t features) {
    auto plan = std::make_shared<SinkPlan>();
    const bool with_frames = (features & feature::changes) != 0;
    Head head;
    head.session = test_session(77);
    head.incompatible = features;
    head.minor = 4;
    head.compatible = 1;
    head.read_only = 2;
    head.manifest = {{sections_key, "one two"}, {"record.note", "größer"}};
    const bool late = (features & feature::late_start) != 0;
    if (late) {
        head.manifest[first_tick_key] = "250";
    }
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), head);
    bool written = true;
    for (std::uint64_t tick = late ? 250 : 0; tick < 550; ++tick) {
        TickFrame frame;
        frame.reset(Tick{tick}, tick / 2 % 11);
        const Bytes bytes(tick % 257, static_cast<std::byte>(tick));
        for (std::uint16_t slot = 0; slot < frame.slot_count(); ++slot) {
            if (slot != 2) {
                frame.set_input(Slot{slot}, bytes, slot == 1);
            }
        }
        if (tick % 3 == 0) {
            frame.add_event(EventKind::marker, bytes);
            frame.add_event(static_cast<EventKind>(200), Slot{4095}, bytes);
        }
        Bytes encoded;
        encode_frame(frame, encoded);
        written = written && writer->write_tick(static_cast<std::uint32_t>(tick),
                                                Bytes(writer->tick_section_bytes()),
                                                encoded);
        if (tick % 50 == 7) {
            const auto tag = static_cast<std::uint8_t>(4 + tick % 250);
            const auto other = static_cast<std::uint8_t>(5 + tick % 59);
            written = written && writer->write_record(with_frames && tag < 0x80 ? other : tag,
                                                      Bytes(tick * 37));
        }
        if (tick % 60 == 59) {
            written = written && writer->write_chunk_end({tick, 1}, std::vector<Hash128>(2));
        }
        if (with_frames && tick % 120 == 59) {
            written = written && writer->write_frame(0x44, Bytes(3)) &&
                      writer->write_frame(0x7F, Bytes(tick * 200));
        }
    }
    written = written && writer->write_chunk_end({550, 1}, std::vector<Hash128>(2));
    if (late) {
        // A loss of 5 ticks from 550 on, the disk's fault.
        const Bytes loss{std::byte{0xA6}, std::byte{4}, std::byte{5}, std::byte{1}};
        written = written && writer->write_frame(0x43, loss);
    }
    written = written && writer->write_trailer() && writer->close();
    return written ? plan->file : Bytes();
}

/// A late start with its keyframe, a later keyframe, a signature at each chunk end, and a loss that
/// the last of them tells of; without libsodium nothing.
Bytes signed_late() {
    std::array<std::byte, secret_seed_bytes> seed{};
    seed.fill(std::byte{0x17});
    const auto key = SigningKey::from_seed(seed);
    if (!key) {
        return {};
    }
    auto plan = std::make_shared<SinkPlan>();
    Head head;
    head.session = test_session(5);
    head.incompatible = feature::changes | feature::late_start;
    head.manifest = {{sections_key, "s"}, {first_tick_key, "250"}};
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), head);
    Bytes keyframe(64 + 1);
    keyframe[16] = keyframe[24] = keyframe[36] = std::byte{1};
    bool written = true;
    for (std::uint64_t tick = 250; tick < 254; ++tick) {
        if (tick != 251) {
            keyframe[0] = static_cast<std::byte>(tick);
            written = written && writer->write_frame(0x41, keyframe);
        }
        TickFrame frame;
        frame.reset(Tick{tick}, 1);
        Bytes encoded;
        encode_frame(frame, encoded);
        written = written && writer->write_tick(1, Bytes(1), encoded) &&
                  writer->write_record(0x81, Bytes(300)) &&
                  writer->write_chunk_end({1, 2}, std::vector<Hash128>{{3, 4}});
    }
    written = written &&
              writer->write_frame(
                  0x43, Bytes{std::byte{0xFE}, std::byte{0x01}, std::byte{9}, std::byte{1}}) &&
              writer->write_trailer() && writer->close();
    auto signed_plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(plan->file);
    const bool is_signed =
        written && reader &&
        sign(std::move(*reader), std::make_unique<MemorySink>(signed_plan), *key, {1, {}});
    return is_signed ? signed_plan->file : Bytes();
}

bool save(const std::string& directory, const std::string& name, const Bytes& file) {
    const auto text = to_text(file);
    if (!text) {
        std::cerr << name << ": " << to_string(text.error()) << '\n';
        return false;
    }
    std::ofstream binary(directory + "/" + name + ".twin", std::ios::binary);
    binary.write(reinterpret_cast<const char*>(file.data()),
                 static_cast<std::streamsize>(file.size()));
    std::ofstream lines(directory + "/" + name + ".ndjson", std::ios::binary);
    lines << *text;
    return binary.good() && lines.good();
}

/// The same in packed form; level 0 is there in every build.
bool save_packed(const std::string& directory,
                 const std::string& name,
                 const Bytes& file,
                 int level) {
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(file, ReadMode::strict);
    if (!reader) {
        return false;
    }
    const auto packed = pack(*reader, std::make_unique<MemorySink>(plan), {level});
    if (!packed) {
        return packed.error().code == Errc::unsupported_version;
    }
    return save(directory, name, plan->file);
}

bool save_bytes(const std::string& path, ByteView bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return file.good();
}

/// A recording of the toy game with a side file, and one with keyframes inside.
bool save_keyframed(const std::string& directory, const std::string& name, KeyframeCodec codec) {
    if (!has_codec(codec)) {
        return true;
    }
    const Bytes file = record_toy({.ticks = 1300, .slots = 2});
    const std::string path = directory + "/keyframes-" + name;
    const AddKeyframesOptions options{150, {codec, 3}};
    auto simulation = make_simulation<ToyGame>();
    auto side = std::make_shared<SinkPlan>();
    const auto beside = write_side_file(
        *simulation, *Reader::from_memory(file), std::make_unique<MemorySink>(side), options);
    auto copy = std::make_shared<SinkPlan>();
    const auto inside = add_keyframes(
        *simulation, *Reader::from_memory(file), std::make_unique<MemorySink>(copy), options);
    return beside && inside && save_bytes(path + ".twin", file) &&
           save_bytes(path + ".kf", side->file) &&
           save_bytes(directory + "/keyframes-in-" + name + ".twin", copy->file);
}

/// A recording of a game with tracked vectors, with keyframes inside.
bool save_tracked(const std::string& directory) {
    auto plan = std::make_shared<SinkPlan>();
    auto simulation = make_simulation<TrackedGame>();
    if (!simulation->reset({7, 2, {}})) {
        return false;
    }
    {
        auto recorder =
            Recorder::create(std::make_unique<MemorySink>(plan), *simulation, {test_session(), {}});
        ToySource source(2);
        Driver driver(*simulation, source);
        driver.add(*recorder);
        if (!driver.advance(3700) || !recorder->close()) {
            return false;
        }
    }
    auto copy = std::make_shared<SinkPlan>();
    const auto inside = add_keyframes(*simulation,
                                      *Reader::from_memory(plan->file),
                                      std::make_unique<MemorySink>(copy),
                                      {150, {KeyframeCodec::zero_runs, 3}});
    return inside && save_bytes(directory + "/keyframes-in-tracked.twin", copy->file);
}

/// A side file whose only state is that of the tick after the one it says, in every detail.
bool save_off_by_one(const std::string& path, ByteView recording) {
    constexpr std::uint64_t tick = 150;
    auto simulation = make_simulation<ToyGame>();
    auto reader = Reader::from_memory(recording);
    if (!prepare_simulation(*simulation, *reader)) {
        return false;
    }
    Playback playback(std::move(*reader));
    Driver driver(*simulation, playback.source());
    Bytes snapshot;
    if (!driver.advance(tick + 1)) {
        return false;
    }
    simulation->save(snapshot);
    constexpr std::size_t tick_offset = 6;
    for (std::size_t i = 0; i < 8; ++i) {
        snapshot[tick_offset + i] = static_cast<std::byte>(tick >> (8 * i));
    }
    auto plan = std::make_shared<SinkPlan>();
    auto writer =
        KeyframeFileWriter::create(std::make_unique<MemorySink>(plan), test_session(), {});
    return writer->add(Tick{tick}, hash_snapshot(snapshot)->state, snapshot) && writer->close() &&
           save_bytes(path, plan->file);
}

/// A state that needs more than one part. Nothing is recorded but its hash.
bool save_large(const std::string& directory) {
    constexpr std::uint64_t ticks = 3;
    Bytes snapshot;
    write_snapshot_head(snapshot, Tick{ticks});
    BufferSink sink(snapshot);
    OutArchive archive(sink);
    std::vector<std::uint64_t> words(300'000);
    for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = i * 0x9E3779B97F4A7C15U;
    }
    archive(section("s", cereal::make_nvp("words", words)));
    sink.finish();
    const auto hashes = hash_snapshot(snapshot);
    auto plan = std::make_shared<SinkPlan>();
    Head head;
    head.session = test_session();
    head.manifest = {{sections_key, "s"}};
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), head);
    bool written = writer.has_value();
    for (std::uint64_t tick = 0; written && tick < ticks; ++tick) {
        TickFrame frame;
        frame.reset(Tick{tick}, 1);
        Bytes encoded;
        encode_frame(frame, encoded);
        written = writer->write_tick(0, Bytes(1), encoded).has_value();
    }
    auto side = std::make_shared<SinkPlan>();
    auto keyframes = KeyframeFileWriter::create(
        std::make_unique<MemorySink>(side), test_session(), {KeyframeCodec::raw, 1});
    const std::vector<Hash128> sections{hashes->sections[0].hash};
    written = written && writer->write_chunk_end(hashes->state, sections) &&
              writer->write_trailer() && writer->close() &&
              keyframes->add(Tick{ticks}, hashes->state, snapshot) && keyframes->close();
    return written && save_bytes(directory + "/large.kf", side->file) &&
           save_bytes(directory + "/large.keyframed", plan->file);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return 2;
    }
    const std::string directory = argv[1];
    const bool saved =
        save(directory, "tiny", tiny()) && save(directory, "version_1_0", everything(0)) &&
        save(directory, "everything", everything(feature::changes)) &&
        save(directory,
             "late",
             everything(feature::changes | feature::late_start | feature::no_section_bytes)) &&
        save(directory, "empty", record_toy({.ticks = 0})) &&
        save(directory, "one_player", record_toy({.ticks = 700})) &&
        save(directory, "four_players", record_toy({.ticks = 1300, .slots = 4})) &&
        save(directory, "open", record_toy({.ticks = 650, .close = false})) &&
        save(directory, "small_chunks", record_small_chunks(40, 4, 2));
    const Bytes late =
        everything(feature::changes | feature::late_start | feature::no_section_bytes);
    const bool packed =
        save_packed(directory, "tiny-stored", tiny(), 0) &&
        save_packed(directory, "version_1_0-stored", everything(0), 0) &&
        save_packed(directory, "late-stored", late, 0) &&
        save_packed(directory, "empty-stored", record_toy({.ticks = 0}), 0) &&
        save_packed(directory, "open-stored", record_toy({.ticks = 650, .close = false}), 0) &&
        save_packed(directory, "everything-packed", everything(feature::changes), 19) &&
        save_packed(directory, "four_players-packed", record_toy({.ticks = 1300, .slots = 4}), 19);
    const bool vouched =
        !has_signatures() || (save(directory, "signed", signed_late()) &&
                              save_packed(directory, "signed-stored", signed_late(), 0));
    const bool keyframed = save_keyframed(directory, "side", KeyframeCodec::zero_runs) &&
                           save_keyframed(directory, "raw", KeyframeCodec::raw) &&
                           save_keyframed(directory, "zstd", KeyframeCodec::zstd) &&
                           save_off_by_one(directory + "/keyframes-side.off",
                                           record_toy({.ticks = 1300, .slots = 2})) &&
                           save_large(directory) && save_tracked(directory);
    return saved && packed && keyframed && vouched ? 0 : 1;
}
