// SPDX-License-Identifier: MIT
// One pass over a recording and one over its side file: where everything is, and what is wrong.
#include "keyframe_index.hpp"

#include "keyframe_part.hpp"
#include "keyframe_recording.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace twinstep::replay {

namespace {

constexpr std::size_t problems_max = 64;

std::string side_file_name(const KeyframedOptions& options) {
    return options.side_file.empty() ? "side file" : options.side_file;
}

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

void KeyframeIndex::note(std::optional<Tick> tick, Error error) {
    if (problems.size() == problems_max) {
        ++problems_left_out;
        return;
    }
    problems.push_back({tick, std::move(error)});
}

Result<void> KeyframeIndex::index(Reader& reader, std::uint64_t state_bytes_max) {
    TWINSTEP_ASSERT(reader.records() == 0 && reader.chunk_place());
    start = *reader.chunk_place();
    KeyframeCollector collector(state_bytes_max);
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

void KeyframeIndex::open_side_file(const KeyframedOptions& options, const SessionId& session) {
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
    Result<SideFileReader> opened = SideFileReader::open(std::move(input), session);
    if (!opened) {
        note({}, std::move(opened.error()).in(side_file_name(options)));
        return;
    }
    side = std::move(*opened);
}

void KeyframeIndex::index_side_file(const KeyframedOptions& options) {
    if (!side) {
        return;
    }
    const std::string name = side_file_name(options);
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

void KeyframeIndex::add(IndexedKeyframe keyframe) {
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

const IndexedKeyframe* KeyframeIndex::base_of(const IndexedKeyframe& keyframe) const {
    const Tick tick = *keyframe.info.base;
    const bool in_side_file = keyframe.in_side_file;
    auto begin = keyframes.begin();
    // Before they are arranged, those of the side file are the last ones.
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

void KeyframeIndex::arrange() {
    std::stable_sort(keyframes.begin(),
                     keyframes.end(),
                     [](const IndexedKeyframe& left, const IndexedKeyframe& right) {
                         return left.info.tick < right.info.tick;
                     });
    for (const IndexedKeyframe& keyframe : keyframes) {
        infos.push_back(keyframe.info);
    }
}

std::size_t KeyframeIndex::chunk_of(Tick tick) const {
    const auto after = std::upper_bound(
        chunks.begin(), chunks.end(), tick, [](Tick wanted, const IndexedChunk& chunk) {
            return wanted < chunk.place.tick;
        });
    return after == chunks.begin() ? 0 : static_cast<std::size_t>(after - chunks.begin()) - 1;
}

} // namespace twinstep::replay
