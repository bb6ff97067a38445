// SPDX-License-Identifier: MIT
// How a keyframe is proved: by its own hash, by the recording's, and by that of the loaded state.
#include "keyframe_codec.hpp"
#include "keyframe_part.hpp"
#include "keyframe_recording.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace twinstep::replay {

Error wrong_keyframe(const char* field, std::string why) {
    return Error(Errc::corrupt_record, field, std::move(why));
}

bool is_keyframe(const Record& record) {
    return record.kind == RecordKind::frame &&
           record.tag == static_cast<std::uint8_t>(RecordTag::keyframe);
}

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

Result<void>
load_checked(Simulation& simulation, const KeyframeInfo& info, ByteView snapshot, bool& changed) {
    if (auto loaded = simulation.load(snapshot); !loaded) {
        return loaded;
    }
    changed = true;
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
        const Result<StateHashes> checked = check_snapshot(info, snapshot);
        bool changed = false;
        done = checked ? load_checked(simulation, info, snapshot, changed) : fail(checked.error());
    }
    if (!done) {
        return fail(wrong(to_string(done.error())).at(start->offset));
    }
    return reader.seek(*start);
}

} // namespace twinstep::replay
