// SPDX-License-Identifier: MIT
// Keyframes in a recording, beside it, and their codecs; and the journal of a recording.
#include "fuzz_targets.hpp"
#include "journal.hpp"
#include "keyframe_codec.hpp"
#include "recording_support.hpp"
#include "repair.hpp"
#include "scratch_file.hpp"

#include "twinstep/replay/keyframes.hpp"
#include "twinstep/sim/hash.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

constexpr std::uint64_t keyed_ticks = 40;
constexpr std::uint64_t keyed_every = 8;
constexpr std::uint64_t keyed_state_bytes_max = std::uint64_t{1} << 20;

/// A short session, and the hash of each of its states.
struct KeyedSession {
    Bytes file = record_small_chunks(keyed_ticks, keyed_every);
    std::vector<Hash128> states;

    KeyedSession() {
        auto simulation = toy_simulation();
        ToySource source(1, keyed_ticks);
        Driver driver(*simulation, source);
        do {
            states.push_back(simulation->hash().state);
        } while (driver.advance(1)->ticks == 1);
    }
};

const KeyedSession& keyed_session() {
    static const KeyedSession session;
    return session;
}

/// Whatever the keyframes claim, what loads is the state that it says it is, and, of a recording
/// that is known, the state that playing from the start leads to.
void load_all(ByteView file, ByteView side, const std::vector<Hash128>* states) {
    auto reader = Reader::from_memory(file, ReadMode::prefix);
    if (!reader) {
        return;
    }
    KeyframedOptions options;
    options.side_bytes = side;
    options.state_bytes_max = keyed_state_bytes_max;
    auto recording = KeyframedRecording::open(std::move(*reader), options);
    auto simulation = make_simulation<ToyGame>();
    if (!recording || !recording->prepare(*simulation)) {
        return;
    }
    for (std::size_t i = 0; i < recording->keyframes().size(); ++i) {
        const KeyframeInfo info = recording->keyframes()[i];
        require(info.raw_bytes <= keyed_state_bytes_max, "a keyframe larger than configured");
        if (!recording->load(*simulation, i)) {
            continue;
        }
        require(simulation->tick() == info.tick, "a keyframe of another tick was loaded");
        require(simulation->hash().state == info.state, "a keyframe of another state was loaded");
        require(states == nullptr ||
                    (info.tick.value < states->size() && info.state == (*states)[info.tick.value]),
                "a keyframe was loaded that playing does not lead to");
    }
}

/// Codec, u16 size, then the stored form.
void unpack_state(ByteView bytes) {
    if (bytes.size() < 3) {
        return;
    }
    ByteReader reader(bytes);
    const auto codec = static_cast<KeyframeCodec>(reader.u8("codec") % 3);
    const std::uint64_t raw_bytes = reader.u16("size");
    Bytes raw;
    if (!decompress_keyframe(codec, bytes.subspan(3), raw_bytes, raw)) {
        return;
    }
    require(raw.size() == raw_bytes, "a state of another size");
    Bytes stored;
    Bytes again;
    require(compress_keyframe(codec, raw, stored) &&
                decompress_keyframe(codec, stored, raw_bytes, again) && again == raw,
            "a codec loses bytes");
}

Bytes with_mode(unsigned mode, ByteView bytes) {
    Bytes seed{static_cast<std::byte>(mode)};
    seed.insert(seed.end(), bytes.begin(), bytes.end());
    return seed;
}

} // namespace

/// A byte for what the rest is: a side file of a known recording, a recording, a stored state.
void fuzz_keyframes(ByteView bytes) {
    if (bytes.empty()) {
        return;
    }
    const unsigned mode = std::to_integer<unsigned>(bytes.front()) % 3;
    bytes = bytes.subspan(1);
    if (mode == 2) {
        unpack_state(bytes);
        return;
    }
    Bytes repaired(bytes.begin(), bytes.end());
    if (mode == 0) {
        const KeyedSession& session = keyed_session();
        load_all(session.file, bytes, &session.states);
        Repair(repaired).run_side_file();
        load_all(session.file, repaired, &session.states);
    } else {
        load_all(bytes, {}, nullptr);
        Repair(repaired).run();
        load_all(repaired, {}, nullptr);
    }
}

std::vector<Bytes> keyframes_seeds() {
    std::vector<Bytes> seeds;
    for (const KeyframeCodec codec : {KeyframeCodec::raw, KeyframeCodec::zero_runs}) {
        for (const bool beside : {true, false}) {
            auto simulation = make_simulation<ToyGame>();
            auto plan = std::make_shared<SinkPlan>();
            AddKeyframesOptions options;
            options.every_ticks = codec == KeyframeCodec::raw ? 3 * keyed_every : keyed_every;
            options.form = {codec, 3};
            auto sink = std::make_unique<MemorySink>(plan);
            auto reader = Reader::from_memory(keyed_session().file);
            const auto written =
                beside ? write_side_file(*simulation, std::move(*reader), std::move(sink), options)
                       : add_keyframes(*simulation, std::move(*reader), std::move(sink), options);
            require(written.has_value(), "a seed cannot be made");
            seeds.push_back(with_mode(beside ? 0 : 1, plan->file));
        }
    }
    for (unsigned codec = 0; codec < 3; ++codec) {
        Bytes raw(300);
        std::fill(raw.begin() + 100, raw.begin() + 140, std::byte{7});
        Bytes stored;
        if (compress_keyframe(static_cast<KeyframeCodec>(codec), raw, stored)) {
            stored.insert(
                stored.begin(),
                {std::byte{2}, static_cast<std::byte>(codec), std::byte{44}, std::byte{1}});
            seeds.push_back(std::move(stored));
        }
    }
    return seeds;
}

namespace {

constexpr std::size_t ring_at = 4096;
constexpr std::size_t fuzzed_head_bytes = 136;

std::byte ring_byte(std::uint64_t place) {
    return static_cast<std::byte>((place * 2654435761U) >> 16);
}

/// A journal's file with a ring of the smallest size, whose head is written anew for each input.
class JournalFile {
public:
    explicit JournalFile(const std::string& name, std::size_t bytes)
        : file_(name) {
        Bytes whole(bytes);
        for (std::size_t i = ring_at; i < bytes; ++i) {
            whole[i] = ring_byte(i - ring_at);
        }
        file_.write(whole);
    }

    const std::string& path() const { return file_.path(); }

    void write_head(ByteView head) const {
        std::fstream file(file_.path(), std::ios::binary | std::ios::in | std::ios::out);
        file.write(reinterpret_cast<const char*>(head.data()),
                   static_cast<std::streamsize>(head.size()));
        file.close();
        require(file.good(), "the file for the decoder cannot be written");
    }

private:
    ScratchFile file_;
};

/// What docs/recording-format.md says of a journal that nobody writes to any more.
std::optional<std::uint64_t> expected_tail(ByteView head, std::uint64_t file_bytes, bool whole) {
    const auto number = [&head](std::size_t at) { return ByteReader(head.subspan(at)).u64("n"); };
    const std::uint64_t ring = ByteReader(head.subspan(12)).u32("ring");
    const std::uint64_t written = number(64);
    const std::uint64_t drained = number(128);
    const SessionId session = test_session();
    const bool good =
        std::ranges::equal(head.first(8), std::as_bytes(std::span("\x89TWJ\r\n\x1a\n", 8))) &&
        ByteReader(head.subspan(8)).u32("version") == 1 &&
        ring == journal_ring_bytes_min && // The only power of two that the file has room for.
        std::ranges::equal(head.subspan(16, 16), ByteView(session)) &&
        number(32) == checksum64(head.first(32)) && whole && drained <= file_bytes &&
        file_bytes < written && written - drained <= ring;
    return good ? std::optional(written - file_bytes) : std::nullopt;
}

} // namespace

/// u8 flags, u32 size of the recording's file, then the head of a journal.
void fuzz_journal(ByteView bytes) {
    static const JournalFile whole("journal", ring_at + journal_ring_bytes_min);
    static const JournalFile cut("cut_journal", ring_at + journal_ring_bytes_min - 1);
    if (bytes.size() < 5) {
        return;
    }
    ByteReader reader(bytes);
    const unsigned flags = reader.u8("flags");
    const std::uint64_t file_bytes = reader.u32("size");
    Bytes head(bytes.begin() + 5, bytes.end());
    head.resize(fuzzed_head_bytes);
    if ((flags & 1U) != 0) {
        const std::uint64_t check = detail::little_endian(checksum64(ByteView(head).first(32)));
        std::memcpy(head.data() + 32, &check, sizeof(check));
    }
    const bool is_whole = (flags & 2U) == 0;
    const JournalFile& file = is_whole ? whole : cut;
    file.write_head(head);
    const auto expected = expected_tail(head, file_bytes, is_whole);
    const auto tail = read_journal(file.path(), test_session(), file_bytes);
    require(tail.has_value() == expected.has_value(), "two readers of a journal disagree");
    if (tail) {
        require(tail->size() == *expected, "a journal of another size");
        for (std::size_t i = 0; i < tail->size(); ++i) {
            require((*tail)[i] == ring_byte((file_bytes + i) % journal_ring_bytes_min),
                    "bytes from another place of the ring");
        }
    }
}

std::vector<Bytes> journal_seeds() {
    std::vector<Bytes> seeds;
    for (const std::uint64_t drained : {std::uint64_t{0}, std::uint64_t{1000000}}) {
        Bytes& seed = seeds.emplace_back();
        ByteWriter writer(seed);
        writer.u8(1);
        writer.u32(static_cast<std::uint32_t>(drained + 100));
        writer.bytes(std::as_bytes(std::span("\x89TWJ\r\n\x1a\n", 8)));
        writer.u32(1);
        writer.u32(static_cast<std::uint32_t>(journal_ring_bytes_min));
        writer.bytes(test_session());
        seed.resize(5 + 64);
        writer.u64(drained + 70000);
        seed.resize(5 + 128);
        writer.u64(drained);
    }
    return seeds;
}
