// SPDX-License-Identifier: MIT
// A packed file by its frames alone.
#include "packed_scanner.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/pack.hpp"

#include <utility>

namespace twinstep::replay {

namespace {

Result<PackedSummary> check_window(Window window, const std::string& name) {
    const Result<GoodHead> head = read_head(window);
    if (!head) {
        Error error = head.error();
        return fail(std::move(error).in(name));
    }
    if ((head->head.incompatible & feature::packed) == 0) {
        return fail(
            Error(Errc::not_a_recording, "features.incompatible", "it is not packed").in(name));
    }
    PackedScanner scanner(std::move(window), *head);
    PackedSummary summary;
    while (true) {
        summary.good_bytes = scanner.file_position();
        const Result<PackedRecord> record = scanner.next();
        if (!record) {
            Error error = record.error();
            error.where = name;
            if (error.code == Errc::io_error) {
                return fail(std::move(error));
            }
            summary.state =
                error.code == Errc::truncated ? FileState::truncated : FileState::damaged;
            summary.defect = std::move(error);
            return summary;
        }
        if (record->is_end) {
            const bool closed = scanner.position().trailer_seen;
            summary.state = closed ? FileState::closed : FileState::open;
            return summary;
        }
        summary.ticks = scanner.position().ticks;
        summary.chunks = scanner.position().chunk;
        summary.packed_frames += record->tag == static_cast<std::uint8_t>(RecordTag::packed);
    }
}

} // namespace

Result<PackedSummary> check_packed(const std::string& path) {
    Result<std::unique_ptr<Input>> input = open_input(path);
    if (!input) {
        return fail(input.error());
    }
    return check_window(Window(std::move(*input)), path);
}

Result<PackedSummary> check_packed(ByteView bytes, std::string name) {
    return check_window(Window(memory_input(bytes)), name);
}

} // namespace twinstep::replay
