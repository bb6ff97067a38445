// SPDX-License-Identifier: MIT
// One pass over a side file, and the states that are asked for.
#include "recover_side.hpp"

#include "keyframe_codec.hpp"
#include "keyframe_part.hpp"

#include <utility>

namespace twinstep::replay {

std::optional<SideKeyframes> SideKeyframes::open(const RecoverOptions& options,
                                                 const SessionId& session) {
    std::unique_ptr<Input> input;
    if (!options.side_file.empty()) {
        Result<std::unique_ptr<Input>> opened = open_plain_input(options.side_file);
        if (opened) {
            input = std::move(*opened);
        }
    } else if (options.side_bytes.data() != nullptr) {
        input = memory_input(options.side_bytes);
    }
    if (!input) {
        return std::nullopt;
    }
    Result<SideFileReader> reader = SideFileReader::open(std::move(input), session);
    if (!reader) {
        return std::nullopt;
    }
    SideKeyframes side(std::move(*reader));
    PartAssembler parts(false, keyframe_bytes_max);
    SideFileReader::At first;
    while (true) {
        const SideFileReader::At at = side.reader_.at();
        const Result<ByteView> payload = side.reader_.next();
        if (!payload || payload->empty()) {
            return side;
        }
        if (is_first_part(*payload)) {
            first = at;
        }
        const Result<bool> whole = parts.add(*payload);
        if (whole && *whole) {
            side.found_.try_emplace(parts.info().tick, Found{parts.info(), first});
        }
    }
}

std::optional<Bytes> SideKeyframes::stored(const Found& found) {
    if (!reader_.go(found.at)) {
        return std::nullopt;
    }
    PartAssembler parts(true, keyframe_bytes_max);
    Result<bool> whole = false;
    while (whole && !*whole) {
        const Result<ByteView> payload = reader_.next();
        if (!payload || payload->empty()) {
            return std::nullopt;
        }
        whole = parts.add(*payload);
    }
    // The file may be another one by now.
    if (!whole || parts.info().raw_bytes != found.info.raw_bytes ||
        parts.info().codec != found.info.codec) {
        return std::nullopt;
    }
    Bytes raw;
    if (!decompress_keyframe(found.info.codec, parts.stored(), found.info.raw_bytes, raw)) {
        return std::nullopt;
    }
    return raw;
}

std::optional<Bytes> SideKeyframes::snapshot(Tick tick) {
    const auto found = found_.find(tick);
    if (found == found_.end()) {
        return std::nullopt;
    }
    const KeyframeInfo& info = found->second.info;
    const auto base = info.base ? found_.find(*info.base) : found_.end();
    const bool has_base = base != found_.end() && !base->second.info.base;
    if (info.base && (!has_base || !is_plausible(info, base->second.info.raw_bytes))) {
        return std::nullopt;
    }
    std::optional<Bytes> bytes = stored(found->second);
    if (bytes && has_base) {
        const std::optional<Bytes> whole = stored(base->second);
        if (!whole) {
            return std::nullopt;
        }
        xor_keyframe(*bytes, *whole);
    }
    return bytes;
}

} // namespace twinstep::replay
