// SPDX-License-Identifier: MIT
// A recording, its keyframes and those of a side file, and how each is proved before it is used.
#include "keyframe_recording.hpp"

#include "keyframe_codec.hpp"
#include "keyframe_part.hpp"
#include "keyframe_side_file.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace twinstep::replay {

namespace {

constexpr std::size_t problems_max = 64;

/// A chunk of the recording.
struct IndexedChunk {
    ChunkPlace place;
    Tick end;                     ///< After its last tick.
    std::optional<Hash128> state; ///< From its end, if it has one.
};

/// A keyframe and where it is.
struct IndexedKeyframe {
    KeyframeInfo info;
    bool in_side_file = false;
    ChunkPlace place;
    SideFileReader::At at;
    bool refused = false;
};

Error wrong_keyframe(const char* field, std::string why) {
    return Error(Errc::corrupt_record, field, std::move(why));
}

bool is_keyframe(const Record& record) {
    return record.kind == RecordKind::frame &&
           record.tag == static_cast<std::uint8_t>(RecordTag::keyframe);
}

} // namespace

std::optional<Divergence>
compare_recorded(const StateHashes& hashes, const RecordedState& recorded, bool& checked) {
    checked = recorded.whole || recorded.hash;
    const auto differs = [&hashes](std::string section, std::string expected, std::string actual) {
        return Divergence{
            hashes.tick, std::move(section), {}, std::move(expected), std::move(actual)};
    };
    const Bytes& bytes = recorded.section_bytes;
    for (std::size_t i = 0; i < std::min(bytes.size(), hashes.sections.size()); ++i) {
        const std::byte actual = section_byte(hashes.sections[i].hash);
        if (actual != bytes[i]) {
            return differs(hashes.sections[i].name,
                           to_hex(ByteView(bytes).subspan(i, 1)),
                           to_hex(ByteView(&actual, 1)));
        }
    }
    if (recorded.whole && hashes.state != *recorded.whole) {
        return differs({}, twinstep::to_hex(*recorded.whole), twinstep::to_hex(hashes.state));
    }
    const std::uint32_t actual = short_hash(hashes.state);
    if ((recorded.hash && actual != *recorded.hash) ||
        (!bytes.empty() && bytes.size() != hashes.sections.size())) {
        constexpr std::size_t short_digits = 8;
        return differs(
            {},
            twinstep::to_hex(std::uint64_t{recorded.hash.value_or(0)}).substr(short_digits),
            twinstep::to_hex(std::uint64_t{actual}).substr(short_digits));
    }
    return std::nullopt;
}

namespace {

/// The hashes of a snapshot that is what its keyframe says.
Result<StateHashes> check_snapshot(const KeyframeInfo& info, ByteView snapshot) {
    Result<StateHashes> hashes = hash_snapshot(snapshot);
    if (!hashes) {
        return hashes;
    }
    if (hashes->tick != info.tick) {
        return fail(wrong_keyframe("keyframe.tick",
                                   "the state is of tick " + std::to_string(hashes->tick.value)));
    }
    if (hashes->state != info.state) {
        return fail(wrong_keyframe("keyframe.state", "the state has another hash"));
    }
    return hashes;
}

} // namespace

Result<void> load_snapshot(Simulation& simulation, const KeyframeInfo& info, ByteView snapshot) {
    if (auto checked = check_snapshot(info, snapshot); !checked) {
        return fail(checked.error());
    }
    if (auto loaded = simulation.load(snapshot); !loaded) {
        return loaded;
    }
    // Bytes that a simulation reads but does not write again would pass the first comparison.
    if (simulation.tick() != info.tick || simulation.hash().state != info.state) {
        return fail(wrong_keyframe("keyframe.state", "the loaded state has another hash"));
    }
    return {};
}

Result<void> load_first_keyframe(Simulation& simulation, Reader& reader) {
    const std::optional<ChunkPlace> start = reader.chunk_place();
    TWINSTEP_ASSERT(start && start->records == 0);
    const Tick first = start->tick;
    const auto wrong = [first](const std::string& why) {
        return Error(Errc::corrupt_record,
                     "keyframe",
                     "the recording must begin with the state of tick " +
                         std::to_string(first.value) + ": " + why);
    };
    PartAssembler parts(true, keyframe_bytes_max);
    Result<bool> whole = false;
    while (!*whole) {
        const Result<Record> record = reader.next();
        if (!record) {
            return fail(record.error());
        }
        if (!is_keyframe(*record)) {
            return fail(wrong("it is not there").at(record->offset));
        }
        whole = parts.add(record->payload);
        if (!whole) {
            return fail(wrong(to_string(whole.error())).at(record->offset));
        }
    }
    const KeyframeInfo& info = parts.info();
    if (info.tick != first || info.base) {
        return fail(wrong("it is another one").at(start->offset));
    }
    Bytes snapshot;
    auto done = decompress_keyframe(info.codec, parts.stored(), info.raw_bytes, snapshot);
    if (done) {
        done = load_snapshot(simulation, info, snapshot);
    }
    if (!done) {
        return fail(wrong(to_string(done.error())).at(start->offset));
    }
    return reader.seek(*start);
}

struct KeyframedRecording::Impl {
    explicit Impl(Reader reader)
        : playback(std::move(reader)) {}

    Playback playback;
    KeyframedOptions options;
    ChunkPlace start;
    Tick end;
    FileState state = FileState::open;
    std::vector<Defect> defects;
    std::vector<IndexedChunk> chunks;
    std::vector<IndexedKeyframe> keyframes;
    std::vector<KeyframeInfo> infos;
    std::optional<SideFileReader> side;
    std::vector<KeyframeProblem> problems;
    std::uint64_t problems_left_out = 0;

    void note(std::optional<Tick> tick, Error error);
    Result<void> index();
    void index_side_file();
    void add(IndexedKeyframe keyframe);
    void arrange();
    const IndexedKeyframe* base_of(const IndexedKeyframe& keyframe) const;
    Result<void> assemble(const IndexedKeyframe& keyframe, PartAssembler& parts);
    Result<Bytes> decode(const IndexedKeyframe& keyframe);
    Result<Bytes> read(const IndexedKeyframe& keyframe);
    Result<RecordedState> recorded(Tick tick);
    Result<void> load(Simulation& simulation, const IndexedKeyframe& keyframe);
    std::size_t chunk_of(Tick tick) const;
};

namespace {

/// Collects the keyframes of a stream of parts and tells what is wrong with the others.
class KeyframeCollector {
public:
    explicit KeyframeCollector(std::uint64_t state_bytes_max)
        : parts_(false, state_bytes_max) {}

    /// Takes a part that is at a place; the keyframe if it is whole.
    Result<std::optional<IndexedKeyframe>> add(ByteView payload, const IndexedKeyframe& place) {
        const bool first = is_first_part(payload);
        if (skipping_ && !first) {
            return std::nullopt;
        }
        skipping_ = false;
        if (first && parts_.is_open()) {
            parts_.reset();
            dropped_ = true;
        }
        if (first) {
            place_ = place;
        }
        const Result<bool> whole = parts_.add(payload);
        if (!whole) {
            skipping_ = true;
            return fail(whole.error());
        }
        if (!*whole) {
            return std::nullopt;
        }
        place_.info = parts_.info();
        return place_;
    }

    /// What is between parts ends the keyframe. True if one was cut by it.
    bool interrupt() {
        const bool cut = parts_.is_open();
        parts_.reset();
        return cut;
    }

    /// True if the last call to add began a keyframe while another was not whole.
    bool dropped() { return std::exchange(dropped_, false); }

private:
    PartAssembler parts_;
    IndexedKeyframe place_;
    bool skipping_ = false;
    bool dropped_ = false;
};

} // namespace

void KeyframedRecording::Impl::note(std::optional<Tick> tick, Error error) {
    if (problems.size() == problems_max) {
        ++problems_left_out;
        return;
    }
    problems.push_back({tick, std::move(error)});
}

Result<void> KeyframedRecording::Impl::index() {
    Reader& reader = playback.reader();
    TWINSTEP_ASSERT(reader.records() == 0 && reader.chunk_place());
    start = *reader.chunk_place();
    KeyframeCollector collector(options.state_bytes_max);
    IndexedKeyframe here;
    bool in_chunk = false;
    const auto drop_cut = [this](std::uint64_t offset) {
        note({}, wrong_keyframe("keyframe.part", "parts are missing").at(offset));
    };
    while (true) {
        if (const auto place = reader.chunk_place()) {
            here.place = *place;
        }
        const Result<Record> record = reader.next();
        if (!record) {
            return fail(record.error());
        }
        if (is_keyframe(*record)) {
            auto keyframe = collector.add(record->payload, here);
            if (collector.dropped()) {
                drop_cut(record->offset);
            }
            if (!keyframe) {
                note({}, std::move(keyframe.error()).at(record->offset));
            } else if (*keyframe) {
                add(std::move(**keyframe));
            }
            continue;
        }
        if (collector.interrupt()) {
            drop_cut(record->offset);
        }
        if (record->kind == RecordKind::end) {
            break;
        }
        if (record->kind == RecordKind::chunk_end) {
            chunks.back().state = record->chunk_end.state;
            in_chunk = false;
        } else if (record->kind == RecordKind::tick || record->kind == RecordKind::unknown) {
            if (!in_chunk) {
                chunks.push_back({here.place, here.place.tick, {}});
                in_chunk = true;
            }
            chunks.back().end = reader.next_tick();
        }
    }
    end = reader.next_tick();
    state = reader.state();
    defects = reader.defects();
    return {};
}

void KeyframedRecording::Impl::index_side_file() {
    const std::string name =
        options.side_file.empty() ? std::string("side file") : options.side_file;
    std::unique_ptr<Input> input;
    if (!options.side_file.empty()) {
        Result<std::unique_ptr<Input>> opened = open_input(options.side_file);
        if (!opened) {
            note({}, opened.error());
            return;
        }
        input = std::move(*opened);
    } else if (options.side_bytes.data() != nullptr) {
        input = memory_input(options.side_bytes);
    } else {
        return;
    }
    Result<SideFileReader> opened =
        SideFileReader::open(std::move(input), playback.reader().head().session);
    if (!opened) {
        note({}, std::move(opened.error()).in(name));
        return;
    }
    side = std::move(*opened);
    KeyframeCollector collector(options.state_bytes_max);
    while (true) {
        IndexedKeyframe here;
        here.in_side_file = true;
        here.at = side->at();
        const Result<ByteView> payload = side->next();
        if (!payload) {
            note({}, Error(payload.error()).in(name));
        }
        if (!payload || payload->empty()) {
            break;
        }
        auto keyframe = collector.add(*payload, here);
        const bool dropped = collector.dropped();
        if (dropped || !keyframe) {
            Error error =
                keyframe ? wrong_keyframe("keyframe.part", "parts are missing") : keyframe.error();
            note({}, std::move(error).at(here.at.offset).in(name));
        }
        if (keyframe && *keyframe) {
            add(std::move(**keyframe));
        }
    }
    if (collector.interrupt()) {
        note({}, Error(Errc::truncated, "keyframe.part", "parts are missing").in(name));
    }
}

void KeyframedRecording::Impl::add(IndexedKeyframe keyframe) {
    const KeyframeInfo& info = keyframe.info;
    if (!keyframes.empty() && keyframes.back().in_side_file == keyframe.in_side_file &&
        keyframes.back().info.tick >= info.tick) {
        note(info.tick, wrong_keyframe("keyframe.tick", "not later than the one before it"));
        return;
    }
    if (info.base) {
        const IndexedKeyframe* base = base_of(keyframe);
        if (base == nullptr) {
            note(info.tick, wrong_keyframe("keyframe.base", "not a whole keyframe before it"));
            return;
        }
        if (!is_plausible(info, base->info.raw_bytes)) {
            note(info.tick,
                 wrong_keyframe("keyframe.raw_bytes", "more than the stored bytes can hold"));
            return;
        }
    }
    keyframes.push_back(std::move(keyframe));
}

/// The keyframe that a delta differs from. While indexing, those of one origin are the last ones,
/// in order; afterwards all are in order.
const IndexedKeyframe* KeyframedRecording::Impl::base_of(const IndexedKeyframe& keyframe) const {
    const Tick tick = *keyframe.info.base;
    const bool in_side_file = keyframe.in_side_file;
    auto begin = keyframes.begin();
    if (infos.empty() && in_side_file) {
        begin = std::partition_point(begin, keyframes.end(), [](const IndexedKeyframe& other) {
            return !other.in_side_file;
        });
    }
    auto found = std::lower_bound(
        begin, keyframes.end(), tick, [](const IndexedKeyframe& other, Tick wanted) {
            return other.info.tick < wanted;
        });
    while (found != keyframes.end() && found->info.tick == tick) {
        if (found->in_side_file == in_side_file && !found->info.base) {
            return &*found;
        }
        ++found;
    }
    return nullptr;
}

void KeyframedRecording::Impl::arrange() {
    std::stable_sort(keyframes.begin(),
                     keyframes.end(),
                     [](const IndexedKeyframe& left, const IndexedKeyframe& right) {
                         return left.info.tick < right.info.tick;
                     });
    for (const IndexedKeyframe& keyframe : keyframes) {
        infos.push_back(keyframe.info);
    }
}

// --- loading ---

Result<void> KeyframedRecording::Impl::assemble(const IndexedKeyframe& keyframe,
                                                PartAssembler& parts) {
    Reader& reader = playback.reader();
    if (auto gone = keyframe.in_side_file ? side->go(keyframe.at) : reader.seek(keyframe.place);
        !gone) {
        return gone;
    }
    while (true) {
        ByteView payload;
        if (keyframe.in_side_file) {
            const Result<ByteView> next = side->next();
            if (!next) {
                return fail(next.error());
            }
            payload = *next;
        } else {
            const Result<Record> record = reader.next();
            if (!record) {
                return fail(record.error());
            }
            payload = is_keyframe(*record) ? record->payload : ByteView();
        }
        if (payload.empty()) {
            return fail(wrong_keyframe("keyframe.part", "the file has changed meanwhile"));
        }
        const Result<bool> whole = parts.add(payload);
        if (!whole) {
            return fail(whole.error());
        }
        if (*whole) {
            return {};
        }
    }
}

/// The bytes of a whole keyframe, or the difference that a delta holds.
Result<Bytes> KeyframedRecording::Impl::decode(const IndexedKeyframe& keyframe) {
    PartAssembler parts(true, options.state_bytes_max);
    if (auto assembled = assemble(keyframe, parts); !assembled) {
        return fail(assembled.error());
    }
    // The file may be another one by now: what was found plausible must still be what is there.
    const KeyframeInfo& info = keyframe.info;
    if (parts.info().raw_bytes != info.raw_bytes || parts.info().codec != info.codec ||
        parts.info().stored_bytes != info.stored_bytes) {
        return fail(wrong_keyframe("keyframe", "the file has changed meanwhile"));
    }
    Bytes raw;
    if (auto done = decompress_keyframe(info.codec, parts.stored(), info.raw_bytes, raw); !done) {
        return fail(done.error());
    }
    return raw;
}

Result<Bytes> KeyframedRecording::Impl::read(const IndexedKeyframe& keyframe) {
    Result<Bytes> bytes = decode(keyframe);
    if (!bytes || !keyframe.info.base) {
        return bytes;
    }
    const IndexedKeyframe* base = base_of(keyframe);
    TWINSTEP_ASSERT(base != nullptr);
    const Result<Bytes> whole = decode(*base);
    if (!whole) {
        return whole;
    }
    xor_keyframe(*bytes, *whole);
    return bytes;
}

/// Index of the chunk that holds a tick, or of the last one. Requires that there is one.
std::size_t KeyframedRecording::Impl::chunk_of(Tick tick) const {
    const auto after = std::upper_bound(
        chunks.begin(), chunks.end(), tick, [](Tick wanted, const IndexedChunk& chunk) {
            return wanted < chunk.place.tick;
        });
    return after == chunks.begin() ? 0 : static_cast<std::size_t>(after - chunks.begin()) - 1;
}

Result<RecordedState> KeyframedRecording::Impl::recorded(Tick tick) {
    RecordedState state_on_record;
    if (chunks.empty() || tick < start.tick || tick > end) {
        return state_on_record;
    }
    const std::size_t number = chunk_of(tick);
    const IndexedChunk& chunk = chunks[number];
    if (chunk.end == tick) {
        state_on_record.whole = chunk.state;
        return state_on_record;
    }
    if (chunk.place.tick == tick && number > 0) {
        state_on_record.whole = chunks[number - 1].state;
    }
    Reader& reader = playback.reader();
    if (auto gone = reader.seek(chunk.place); !gone) {
        return fail(gone.error());
    }
    while (true) {
        const Result<Record> record = reader.next();
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::end) {
            return fail(Error(Errc::io_error, "tick", "the file has changed meanwhile"));
        }
        if (record->kind == RecordKind::tick && record->tick.tick == tick) {
            state_on_record.hash = record->tick.hash;
            state_on_record.section_bytes.assign(record->tick.section_bytes.begin(),
                                                 record->tick.section_bytes.end());
            return state_on_record;
        }
    }
}

Result<void> KeyframedRecording::Impl::load(Simulation& simulation,
                                            const IndexedKeyframe& keyframe) {
    if (keyframe.info.tick < start.tick || keyframe.info.tick > end) {
        return fail(wrong_keyframe("keyframe.tick", "the recording has no such tick"));
    }
    const Result<Bytes> snapshot = read(keyframe);
    if (!snapshot) {
        return fail(snapshot.error());
    }
    const Result<StateHashes> hashes = check_snapshot(keyframe.info, *snapshot);
    if (!hashes) {
        return fail(hashes.error());
    }
    const Result<RecordedState> on_record = recorded(keyframe.info.tick);
    if (!on_record) {
        return fail(on_record.error());
    }
    bool checked = false;
    if (const auto divergence = compare_recorded(*hashes, *on_record, checked)) {
        return fail(wrong_keyframe("keyframe.state",
                                   "the recording has " + divergence->section + " " +
                                       divergence->expected + ", the keyframe " +
                                       divergence->actual));
    }
    if (!checked) {
        return fail(wrong_keyframe("keyframe.tick", "the recording has no hash of that state"));
    }
    return load_snapshot(simulation, keyframe.info, *snapshot);
}

// --- KeyframedRecording ---

KeyframedRecording::KeyframedRecording(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

KeyframedRecording::KeyframedRecording(KeyframedRecording&&) noexcept = default;
KeyframedRecording& KeyframedRecording::operator=(KeyframedRecording&&) noexcept = default;
KeyframedRecording::~KeyframedRecording() = default;

Result<KeyframedRecording> KeyframedRecording::open(Reader reader,
                                                    const KeyframedOptions& options) {
    auto impl = std::make_unique<Impl>(std::move(reader));
    impl->options = options;
    if (auto indexed = impl->index(); !indexed) {
        return fail(indexed.error());
    }
    impl->index_side_file();
    impl->arrange();
    if (auto gone = impl->playback.seek(impl->start); !gone) {
        return fail(gone.error());
    }
    return KeyframedRecording(std::move(impl));
}

Tick KeyframedRecording::first_tick() const {
    return impl_->start.tick;
}

Tick KeyframedRecording::end_tick() const {
    return impl_->end;
}

FileState KeyframedRecording::state() const {
    return impl_->state;
}

const std::vector<Defect>& KeyframedRecording::defects() const {
    return impl_->defects;
}

const std::vector<KeyframeInfo>& KeyframedRecording::keyframes() const {
    return impl_->infos;
}

const std::vector<KeyframeProblem>& KeyframedRecording::problems() const {
    return impl_->problems;
}

std::uint64_t KeyframedRecording::problems_left_out() const {
    return impl_->problems_left_out;
}

Result<void> KeyframedRecording::load(Simulation& simulation, std::size_t index) {
    TWINSTEP_ASSERT(index < impl_->keyframes.size());
    if (is_refused(index)) {
        return fail(wrong_keyframe("keyframe", "it was refused before"));
    }
    Result<void> loaded = impl_->load(simulation, impl_->keyframes[index]);
    if (!loaded) {
        refuse(index, loaded.error());
    }
    return loaded;
}

bool KeyframedRecording::is_refused(std::size_t index) const {
    TWINSTEP_ASSERT(index < impl_->keyframes.size());
    return impl_->keyframes[index].refused;
}

void KeyframedRecording::refuse(std::size_t index, Error error) {
    TWINSTEP_ASSERT(index < impl_->keyframes.size());
    impl_->keyframes[index].refused = true;
    impl_->note(impl_->keyframes[index].info.tick, std::move(error));
}

std::optional<std::size_t> KeyframedRecording::find(Tick tick, std::optional<Tick> after) const {
    const auto& keyframes = impl_->keyframes;
    auto found = std::upper_bound(
        keyframes.begin(), keyframes.end(), tick, [](Tick wanted, const IndexedKeyframe& keyframe) {
            return wanted < keyframe.info.tick;
        });
    while (found != keyframes.begin()) {
        --found;
        if (after && found->info.tick <= *after) {
            break;
        }
        if (!found->refused) {
            return static_cast<std::size_t>(found - keyframes.begin());
        }
    }
    return std::nullopt;
}

Result<void> KeyframedRecording::go(Tick tick) {
    Impl& impl = *impl_;
    TWINSTEP_ASSERT(tick >= impl.start.tick && tick <= impl.end);
    return impl.playback.seek(impl.chunks.empty() ? impl.start
                                                  : impl.chunks[impl.chunk_of(tick)].place);
}

Playback& KeyframedRecording::playback() {
    return impl_->playback;
}

Result<bool> KeyframedRecording::prepare(Simulation& simulation) {
    Impl& impl = *impl_;
    if (auto gone = impl.playback.seek(impl.start); !gone) {
        return fail(gone.error());
    }
    return prepare_simulation(simulation, impl.playback.reader());
}

Result<RecordedState> recorded_state(KeyframedRecording& recording, Tick tick) {
    return recording.impl_->recorded(tick);
}

} // namespace twinstep::replay
