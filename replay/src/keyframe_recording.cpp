// SPDX-License-Identifier: MIT
// A recording, its keyframes and those of a side file, and how each is proved before it is used.
#include "keyframe_recording.hpp"

#include "keyframe_codec.hpp"
#include "keyframe_index.hpp"
#include "keyframe_part.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace twinstep::replay {

struct KeyframedRecording::Impl : KeyframeIndex {
    Impl(Reader reader, std::uint64_t state_bytes_max)
        : playback(std::move(reader))
        , parts(true, state_bytes_max) {}

    Playback playback;
    // Kept from keyframe to keyframe: asking the system for megabytes costs as much as reading
    // them.
    PartAssembler parts;
    Bytes snapshot;
    Bytes base;

    Result<void> assemble(const IndexedKeyframe& keyframe);
    Result<void> decode(const IndexedKeyframe& keyframe, Bytes& target);
    Result<void> read(const IndexedKeyframe& keyframe);
    Result<RecordedState> recorded(Tick tick);
    Result<void> load(Simulation& simulation, const IndexedKeyframe& keyframe, bool& changed);
};

// --- loading ---

Result<void> KeyframedRecording::Impl::assemble(const IndexedKeyframe& keyframe) {
    parts.reset();
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
Result<void> KeyframedRecording::Impl::decode(const IndexedKeyframe& keyframe, Bytes& target) {
    if (auto assembled = assemble(keyframe); !assembled) {
        return assembled;
    }
    // The file may be another one by now: what was found plausible must still be what is there.
    const KeyframeInfo& info = keyframe.info;
    if (parts.info().raw_bytes != info.raw_bytes || parts.info().codec != info.codec ||
        parts.info().stored_bytes != info.stored_bytes) {
        return fail(wrong_keyframe("keyframe", "the file has changed meanwhile"));
    }
    return decompress_keyframe(info.codec, parts.stored(), info.raw_bytes, target);
}

/// Makes `snapshot` the bytes of a state.
Result<void> KeyframedRecording::Impl::read(const IndexedKeyframe& keyframe) {
    auto done = decode(keyframe, snapshot);
    if (!done || !keyframe.info.base) {
        return done;
    }
    const IndexedKeyframe* whole = base_of(keyframe);
    TWINSTEP_ASSERT(whole != nullptr);
    done = decode(*whole, base);
    if (done) {
        xor_keyframe(snapshot, base);
    }
    return done;
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
                                            const IndexedKeyframe& keyframe,
                                            bool& changed) {
    if (keyframe.info.tick < start.tick || keyframe.info.tick > end) {
        return fail(wrong_keyframe("keyframe.tick", "the recording has no such tick"));
    }
    if (auto done = read(keyframe); !done) {
        return done;
    }
    const Result<StateHashes> hashes = check_snapshot(keyframe.info, snapshot);
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
    return load_checked(simulation, keyframe.info, snapshot, changed);
}

// --- KeyframedRecording ---

Error file_changed() {
    return Error(Errc::io_error, {}, "the file has changed meanwhile");
}

KeyframedRecording::KeyframedRecording(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

KeyframedRecording::KeyframedRecording(KeyframedRecording&&) noexcept = default;
KeyframedRecording& KeyframedRecording::operator=(KeyframedRecording&&) noexcept = default;
KeyframedRecording::~KeyframedRecording() = default;

Result<KeyframedRecording> KeyframedRecording::open(Reader reader,
                                                    const KeyframedOptions& options) {
    auto impl = std::make_unique<Impl>(std::move(reader), options.state_bytes_max);
    Reader& recorded = impl->playback.reader();
    if (auto indexed = impl->index(recorded, options.state_bytes_max); !indexed) {
        return fail(indexed.error());
    }
    impl->open_side_file(options, recorded.head().session);
    impl->index_side_file(options);
    impl->arrange();
    if (auto gone = impl->playback.seek(impl->start); !gone) {
        return fail(gone.error());
    }
    return KeyframedRecording(std::move(impl));
}

Result<KeyframedRecording> KeyframedRecording::open_again(Reader reader,
                                                          const KeyframedOptions& options) const {
    auto again = std::make_unique<Impl>(std::move(reader), options.state_bytes_max);
    const Head& head = again->playback.reader().head();
    const Head& first = impl_->playback.reader().head();
    again->open_side_file(options, head.session);
    if (head.session != first.session || head.manifest != first.manifest ||
        again->side.has_value() != impl_->side.has_value()) {
        return fail(file_changed());
    }
    static_cast<KeyframePlaces&>(*again) = *impl_;
    if (auto gone = again->playback.seek(again->start); !gone) {
        return fail(gone.error());
    }
    return KeyframedRecording(std::move(again));
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
    bool changed = false;
    return load_keyframe(*this, simulation, index, changed);
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

Result<void> load_keyframe(KeyframedRecording& recording,
                           Simulation& simulation,
                           std::size_t index,
                           bool& changed) {
    KeyframedRecording::Impl& impl = *recording.impl_;
    TWINSTEP_ASSERT(index < impl.keyframes.size());
    if (recording.is_refused(index)) {
        return fail(wrong_keyframe("keyframe", "it was refused before"));
    }
    Result<void> loaded = impl.load(simulation, impl.keyframes[index], changed);
    if (!loaded) {
        recording.refuse(index, loaded.error());
    }
    return loaded;
}

Result<RecordedState> recorded_state(KeyframedRecording& recording, Tick tick) {
    return recording.impl_->recorded(tick);
}

} // namespace twinstep::replay
