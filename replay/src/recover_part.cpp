// SPDX-License-Identifier: MIT
// Copies of a source's bytes, and the chunk ends and keyframes that are found behind damage.
#include "recover_part.hpp"

#include "keyframe_codec.hpp"
#include "keyframe_part.hpp"
#include "keyframe_recording.hpp"

#include "twinstep/replay/errc.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::replay {

namespace {

constexpr std::size_t copy_bytes = std::size_t{512} * 1024;
/// A file that is made to be slow may hold any number of small keyframes that unpack to large ones.
constexpr std::uint64_t wasted_bytes_max = std::uint64_t{4} << 30;
/// Chunks behind damage that are looked at: 120 days of play at 60 ticks a second.
constexpr std::size_t found_ends_max = std::size_t{1} << 20;

} // namespace

// --- RecoverCopy ---

RecoverCopy::RecoverCopy(SalvageBytes& source, std::unique_ptr<FileSink> sink)
    : source_(source)
    , sink_(std::move(sink)) {}

Result<void> RecoverCopy::good(std::uint64_t offset) {
    source_.release(next_);
    return offset - next_ < copy_bytes ? Result<void>() : flush(offset);
}

Result<void> RecoverCopy::flush(std::uint64_t offset) {
    while (next_ < offset) {
        const auto piece =
            static_cast<std::size_t>(std::min<std::uint64_t>(offset - next_, 2 * copy_bytes));
        const Result<ByteView> view = source_.view(next_, piece);
        if (!view) {
            return fail(view.error());
        }
        if (view->size() < piece) {
            return fail(Error(Errc::io_error, "read", "the file has changed meanwhile").at(next_));
        }
        if (auto written = add(*view); !written) {
            return written;
        }
        source_bytes_ += piece;
        next_ += piece;
    }
    source_.release(next_);
    return {};
}

Result<void> RecoverCopy::add(ByteView bytes) {
    bytes_ += bytes.size();
    return write_all(*sink_, bytes);
}

Result<void> RecoverCopy::close(bool sync) {
    std::error_code error = sync ? sink_->sync() : std::error_code{};
    if (!error) {
        error = sink_->close();
    }
    return error ? Result<void>(fail(Error(Errc::io_error, "close", error.message())))
                 : Result<void>();
}

// --- FoundEnds ---

Result<void> FoundEnds::collect(SalvageBytes& source, EndFinder& finder, std::uint64_t from) {
    constexpr std::size_t window_bytes = std::size_t{1} << 20;
    while (from < source.size() && ends_.size() < found_ends_max) {
        source.release(from);
        const Result<ByteView> view = source.view(from, window_bytes);
        if (!view) {
            return fail(view.error());
        }
        std::size_t index = 0;
        while (ends_.size() < found_ends_max) {
            const std::optional<FoundEnd> end = finder.find(*view, from, index);
            if (!end) {
                break;
            }
            ends_.push_back(*end);
        }
        if (view->size() < window_bytes) {
            break;
        }
        // What may be the beginning of one is looked at again, with what follows it.
        from += index;
    }
    std::stable_sort(ends_.begin(), ends_.end(), [](const FoundEnd& a, const FoundEnd& b) {
        return a.number < b.number;
    });
    return {};
}

std::vector<FoundEnd>::const_iterator FoundEnds::with(std::uint32_t number) const {
    return std::lower_bound(
        ends_.begin(), ends_.end(), number, [](const FoundEnd& end, std::uint32_t wanted) {
            return end.number < wanted;
        });
}

ChunkPlace place_behind(const FoundEnd& end) {
    ChunkPlace place;
    place.offset = end.end();
    place.chunk = end.number + 1;
    place.tick = end.last + 1;
    place.records = 1; // Never a recording's first: a late start's keyframe is looked for there.
    place.last_chunk_end = end.offset;
    place.chain = end.digest;
    return place;
}

// --- SourceKeyframes ---

Result<std::optional<StartState>> SourceKeyframes::at(const ChunkPlace& place,
                                                      std::optional<Tick> tick) {
    scanner_.go(place);
    PartAssembler parts(true, keyframe_bytes_max);
    while (true) {
        source_.bytes.release(scanner_.place().offset);
        const Result<ScanStep> step = scanner_.next();
        if (!step) {
            return fail(step.error());
        }
        if (*step != ScanStep::frame) {
            return std::nullopt;
        }
        if (scanner_.frame_tag() != static_cast<std::uint8_t>(RecordTag::keyframe)) {
            parts.reset();
            continue;
        }
        const Result<bool> complete = parts.add(scanner_.frame_payload());
        if (!complete || !*complete || (tick && parts.info().tick != *tick)) {
            continue;
        }
        StartState state{parts.info(), {}, place};
        const KeyframeInfo info = parts.info();
        wasted_ += info.raw_bytes;
        if (wasted_ > wasted_bytes_max) {
            return std::nullopt;
        }
        if (!decompress_keyframe(info.codec, parts.stored(), info.raw_bytes, state.snapshot)) {
            return std::nullopt;
        }
        if (info.base && is_base_) {
            return std::nullopt;
        }
        if (info.base) {
            const Result<std::optional<Bytes>> whole_base = base(*info.base);
            if (!whole_base) {
                return fail(whole_base.error());
            }
            if (!*whole_base || !is_plausible(info, (*whole_base)->size())) {
                return std::nullopt;
            }
            xor_keyframe(state.snapshot, **whole_base);
        }
        return check_snapshot(info, state.snapshot) ? std::optional(std::move(state))
                                                    : std::nullopt;
    }
}

Result<std::optional<StartState>> SourceKeyframes::behind(const FoundEnd& end) {
    const std::uint64_t wasted = wasted_;
    Result<std::optional<StartState>> state = at(place_behind(end), end.last + 1);
    if (!state || (*state && (*state)->info.state == end.state)) {
        wasted_ = wasted;
        return state;
    }
    return beside(place_behind(end), end.last + 1, end.state);
}

std::optional<StartState>
SourceKeyframes::beside(const ChunkPlace& place, Tick tick, const Hash128& state) {
    if (!std::exchange(side_opened_, true)) {
        side_ = SideKeyframes::open(options_, source_.head.head.session);
    }
    std::optional<Bytes> snapshot = side_ ? side_->snapshot(tick) : std::nullopt;
    if (!snapshot) {
        return std::nullopt;
    }
    const KeyframeInfo& info = side_->info(tick);
    if (info.state != state || !check_snapshot(info, *snapshot)) {
        return std::nullopt;
    }
    return StartState{info, std::move(*snapshot), place};
}

/// The bytes of a whole keyframe that others differ from.
Result<std::optional<Bytes>> SourceKeyframes::base(Tick tick) {
    std::vector<ChunkPlace> places;
    for (const ChunkPlace& place : before_) {
        if (place.tick == tick) {
            places.push_back(place);
        }
    }
    for (const FoundEnd& end : behind_.all()) {
        if (end.last + 1 == tick) {
            places.push_back(place_behind(end));
        }
    }
    for (const ChunkPlace& place : places) {
        is_base_ = true;
        Result<std::optional<StartState>> state = at(place, tick);
        is_base_ = false;
        if (!state) {
            return fail(state.error());
        }
        if (*state) {
            return std::optional(std::move((*state)->snapshot));
        }
    }
    return std::nullopt;
}

} // namespace twinstep::replay
