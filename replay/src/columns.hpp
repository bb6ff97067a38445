// SPDX-License-Identifier: MIT
// What a packed frame compresses: records as rows, or ticks as columns, a slot and a byte each.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/frame.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/types.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace twinstep::replay {

/// How the content of a packed frame is laid out.
enum class ContentLayout : std::uint8_t {
    rows = 0,    ///< Record after record, as in the open form.
    columns = 1, ///< All inputs of a slot together, byte 0 of each, then byte 1 of each, ...
};

/// Most bytes of a packed frame's content, in either layout.
inline constexpr std::size_t content_bytes_max = std::size_t{1} << 20;

/// What is known of a packed frame's content before it is read.
struct ContentFacts {
    ContentLayout layout = ContentLayout::rows;
    bool with_changes = false; ///< The recording has feature::changes.
    std::uint32_t chunks = 0;  ///< Chunk ends.
    std::uint64_t ticks = 0;   ///< Tick records.
    Tick first;                ///< Of the first tick record.
};

/// Puts records into the layout `rows`.
class RowWriter {
public:
    /// A data record; of a tick the payload without hash and section bytes.
    void record(std::uint8_t tag, ByteView payload);
    void chunk_end();

    const Bytes& finish() { return content_; }

private:
    Bytes content_;
};

/// A number of ticks with the same value.
struct ContentRun {
    std::uint64_t ticks = 0;
    std::uint64_t value = 0;
};

/// Puts ticks into the layout `columns`. Memory: a few times the bytes of the inputs.
class ColumnWriter {
public:
    /// Requires the encoding of `frame`, which must be valid.
    void tick(const TickFrame& frame, ByteView encoded);
    /// A data record that is no tick.
    void record(std::uint8_t tag, ByteView payload);
    void chunk_end();
    /// The content, valid as long as the writer. Nothing may be added afterwards.
    const Bytes& finish();

private:
    struct SlotColumns {
        std::vector<ContentRun> runs;
        Bytes rows;
    };

    Bytes content_;
    std::vector<std::uint64_t> chunk_ticks_;
    std::vector<ContentRun> slot_counts_;
    std::vector<SlotColumns> slots_;
    Bytes events_;
    Bytes records_;
    std::uint64_t event_ticks_ = 0;
    std::uint64_t record_count_ = 0;
    std::uint64_t last_event_tick_ = 0;
    std::uint64_t last_record_tick_ = 0;
    std::uint64_t ticks_ = 0;
    std::uint64_t open_ticks_ = 0; ///< Since the last chunk end.
};

enum class ContentKind : std::uint8_t { tick, record, chunk_end, end };

/// One piece of a packed frame's content.
struct ContentItem {
    ContentKind kind = ContentKind::end;
    std::uint8_t tag = 0;
    ByteView bytes; ///< Of a tick its whole encoding, else the payload. Valid until the next call.
};

/// Reads content of either layout, which may be hostile. What it yields is well-formed as far as a
/// Writer relies on it; that it means something is for a Reader to find out.
/// Memory: at most content_bytes_max beside the content, and a frame.
class ContentReader {
public:
    /// Begins with content that stays owned by the caller until `end` or a failure. Errors:
    /// corrupt_record, limit_exceeded.
    Result<void> open(ByteView content, const ContentFacts& facts);

    /// The next piece. `before` is the encoding of the tick before in the open chunk, empty if
    /// there is none. Errors: corrupt_record, limit_exceeded.
    Result<ContentItem> next(ByteView before);

private:
    struct SlotCursor {
        std::size_t runs = 0; ///< Offset of the next run in the content.
        std::uint64_t ticks_left = 0;
        std::uint64_t head = 0;
        std::size_t row = 0; ///< Offset of the next input in rows_.
    };

    Result<void> open_columns();
    bool open_runs(std::size_t slots, std::vector<std::uint64_t>& slot_ticks);
    bool open_slot(SlotCursor& cursor, std::uint64_t ticks);
    void gather(const SlotCursor& cursor, std::uint64_t ticks, ByteView columns);
    Result<ContentItem> next_row(ByteView before);
    Result<ContentItem> next_of_columns();
    Result<ContentItem> next_tick();
    void read_record_place();
    void read_event_place();

    ByteView content_;
    ContentFacts facts_;
    std::uint64_t ticks_ = 0;
    std::uint64_t chunk_ticks_left_ = 0;
    std::uint32_t chunks_ = 0;
    bool after_end_ = false; ///< The last item was a chunk end.
    ByteReader rows_reader_{ByteView()};
    ByteReader chunk_reader_{ByteView()};
    ByteReader count_reader_{ByteView()};
    ByteReader event_reader_{ByteView()};
    ByteReader record_reader_{ByteView()};
    std::uint64_t slot_count_ = 0;
    std::uint64_t slot_count_ticks_ = 0;
    std::uint64_t events_left_ = 0;
    std::uint64_t event_tick_ = 0;
    std::uint64_t records_left_ = 0;
    std::uint64_t record_tick_ = 0;
    bool record_after_end_ = false;
    std::vector<SlotCursor> cursors_;
    Bytes inputs_; ///< Of all slots, one slot after the other.
    Bytes frame_;
    TickFrame decoded_;
};

} // namespace twinstep::replay
