// SPDX-License-Identifier: MIT
// What a pass over a recording is made of: every record in turn, a copy, a frame for the driver.
#pragma once

#include "twinstep/replay/reader.hpp"
#include "twinstep/replay/writer.hpp"
#include "twinstep/sim/driver.hpp"

#include <utility>

namespace twinstep::replay {

/// Writes a record as it was read. A reader's rules leave it one form, so the bytes are the same.
/// Errors: the writer's.
Result<void> copy_record(Writer& writer, const Record& record);

/// Hands records on until the end, an error, or until `take`, which yields Result<bool>, says
/// false. Errors: the reader's and those of `take`.
template <class Take>
Result<void> for_each_record(Reader& reader, Take&& take) {
    while (true) {
        const Result<Record> record = reader.next();
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::end) {
            return {};
        }
        const Result<bool> goes_on = take(*record);
        if (!goes_on) {
            return fail(goes_on.error());
        }
        if (!*goes_on) {
            return {};
        }
    }
}

/// A source of one frame at a time: the one that was set last.
class OneFrame final : public Source {
public:
    Result<Supply> next(Tick, TickFrame& frame) override {
        if (frame_ == nullptr) {
            return Supply::end;
        }
        frame = *std::exchange(frame_, nullptr);
        return Supply::ready;
    }

    /// The frame is borrowed until it is taken.
    void set(const TickFrame* frame) { frame_ = frame; }

private:
    const TickFrame* frame_ = nullptr;
};

} // namespace twinstep::replay
