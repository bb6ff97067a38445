// SPDX-License-Identifier: MIT
// A whole file at a glance.
#include "twinstep/replay/reader.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::replay {

namespace {

Result<Summary> summarise_rest(Reader reader, std::uint64_t size) {
    Summary summary;
    while (true) {
        const Result<Record> record = reader.next();
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::end) {
            break;
        }
        if (record->kind == RecordKind::tick) {
            summary.final_hash.reset();
        } else if (record->kind == RecordKind::chunk_end) {
            summary.final_hash = record->chunk_end.state;
        }
    }
    summary.head = reader.head();
    summary.sections = reader.sections();
    summary.state = reader.state();
    summary.ticks = reader.ticks();
    summary.loss = reader.loss();
    summary.records = reader.records();
    summary.chunks = reader.chunks();
    summary.is_packed = reader.is_packed();
    summary.good_bytes = reader.good_file_bytes();
    summary.bytes = std::max(size, summary.good_bytes);
    summary.chain = reader.chain();
    summary.defects = reader.defects();
    return summary;
}

} // namespace

Result<Summary> summarise(const std::string& path) {
    Result<Reader> reader = Reader::open(path, ReadMode::prefix);
    if (!reader) {
        return fail(reader.error());
    }
    const std::uint64_t size = reader->file_bytes();
    return summarise_rest(std::move(*reader), size);
}

Result<Summary> summarise(ByteView bytes, std::string name) {
    Result<Reader> reader = Reader::from_memory(bytes, ReadMode::prefix, std::move(name));
    if (!reader) {
        return fail(reader.error());
    }
    return summarise_rest(std::move(*reader), bytes.size());
}

} // namespace twinstep::replay
