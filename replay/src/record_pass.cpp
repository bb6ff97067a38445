// SPDX-License-Identifier: MIT
// What a pass over a recording is made of: every record in turn, a copy, a frame for the driver.
#include "record_pass.hpp"

namespace twinstep::replay {

Result<void> copy_record(Writer& writer, const Record& record) {
    switch (record.kind) {
    case RecordKind::tick:
        return writer.write_tick(record.tick.hash, record.tick.section_bytes, record.tick.encoded);
    case RecordKind::chunk_end:
        return writer.write_chunk_end(record.chunk_end.state, record.chunk_end.sections);
    case RecordKind::trailer:
        return writer.write_trailer();
    case RecordKind::frame:
        return writer.write_frame(record.tag, record.payload);
    case RecordKind::unknown:
        return writer.write_record(record.tag, record.payload);
    case RecordKind::end:
        break;
    }
    return {};
}

} // namespace twinstep::replay
