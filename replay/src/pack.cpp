// SPDX-License-Identifier: MIT
// A recording into its packed form and back.
#include "twinstep/replay/pack.hpp"

#include "layout.hpp"
#include "packer.hpp"
#include "record_pass.hpp"
#include "whole_output.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/writer.hpp"
#include "twinstep/sim/assert.hpp"

#include <utility>

namespace twinstep::replay {

namespace {

/// Keeps the last record that a Writer wrote.
class LastRecord final : public FileSink {
public:
    explicit LastRecord(std::shared_ptr<Bytes> target)
        : target_(std::move(target)) {}

    std::size_t write(ByteView bytes, std::error_code&) override {
        target_->assign(bytes.begin(), bytes.end());
        return bytes.size();
    }

    std::error_code truncate(std::uint64_t) override { return {}; }

    std::error_code sync() override { return {}; }

    std::error_code close() override { return {}; }

private:
    std::shared_ptr<Bytes> target_;
};

/// The records of a recording without their section bytes.
class WithoutSections {
public:
    static Result<WithoutSections> create(const Head& head) {
        auto last = std::make_shared<Bytes>();
        Result<Writer> writer = Writer::create(std::make_unique<LastRecord>(last), head);
        if (!writer) {
            return fail(writer.error());
        }
        return WithoutSections(std::move(last), std::move(*writer));
    }

    /// The payload that a record has now; `tag` becomes its tag.
    Result<ByteView> convert(const Record& record, std::uint8_t& tag) {
        if (auto written = write(record); !written) {
            return fail(written.error());
        }
        ByteReader reader(ByteView(*last_).first(last_->size() - record_check_bytes));
        tag = reader.u8("tag");
        return reader.bytes(reader.varint("length"), "payload");
    }

    const Hash128& chain() const { return writer_.chain(); }

private:
    WithoutSections(std::shared_ptr<Bytes> last, Writer writer)
        : last_(std::move(last))
        , writer_(std::move(writer)) {}

    Result<void> write(Record record) {
        record.tick.section_bytes = {};
        return copy_record(writer_, record);
    }

    std::shared_ptr<Bytes> last_;
    Writer writer_;
};

/// The next record; RecordKind::end only behind a recording without a defect.
Result<Record> next_whole(Reader& reader) {
    Result<Record> record = reader.next();
    if (record && record->kind == RecordKind::end && !reader.defects().empty()) {
        return fail(reader.defects().front().error);
    }
    return record;
}

} // namespace

Result<PackReport>
pack(Reader& reader, std::unique_ptr<FileSink> sink, const PackOptions& options) {
    TWINSTEP_ASSERT(reader.records() == 0);
    WholeOutput output(std::move(sink));
    PackReport report;
    Head head = reader.head();
    report.section_bytes_dropped =
        !options.section_bytes && (head.incompatible & feature::no_section_bytes) == 0;
    std::optional<WithoutSections> converter;
    if (report.section_bytes_dropped) {
        head.incompatible |= feature::no_section_bytes;
        Result<WithoutSections> created = WithoutSections::create(head);
        if (!created) {
            return fail(created.error());
        }
        converter.emplace(std::move(*created));
    }
    Packer packer(output, head, options.level);
    Result<void> done = packer.write_head();
    while (done) {
        const Result<Record> record = next_whole(reader);
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::end) {
            break;
        }
        std::uint8_t tag = record->tag;
        ByteView payload = record->payload;
        if (converter) {
            if (tag == static_cast<std::uint8_t>(RecordTag::signature) &&
                record->kind == RecordKind::frame) {
                ++report.signatures_dropped;
                continue;
            }
            const Result<ByteView> converted = converter->convert(*record, tag);
            if (!converted) {
                return fail(converted.error());
            }
            payload = *converted;
        }
        done = packer.add(*record, tag, payload);
    }
    if (done) {
        done = packer.flush();
    }
    if (done) {
        done = output.close();
    }
    if (!done) {
        return fail(done.error());
    }
    report.ticks = reader.ticks();
    report.chunks = reader.chunks();
    report.bytes = output.bytes();
    report.source_bytes = reader.file_bytes();
    report.packed_frames = packer.packed_frames();
    report.content_bytes = packer.content_bytes();
    report.chain = converter ? converter->chain() : reader.chain();
    return report;
}

Result<PackReport> unpack(Reader& reader, std::unique_ptr<FileSink> sink) {
    TWINSTEP_ASSERT(reader.records() == 0);
    WholeOutput output(std::move(sink));
    Bytes bytes;
    encode_head(reader.head(), bytes);
    Result<void> done = output.write(bytes);
    while (done) {
        const Result<Record> record = next_whole(reader);
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::end) {
            break;
        }
        bytes.clear();
        ByteWriter writer(bytes);
        writer.u8(record->tag);
        writer.varint(record->payload.size());
        writer.bytes(record->payload);
        writer.u32(record->check);
        done = output.write(bytes);
    }
    if (done) {
        done = output.close();
    }
    if (!done) {
        return fail(done.error());
    }
    PackReport report;
    report.ticks = reader.ticks();
    report.chunks = reader.chunks();
    report.bytes = output.bytes();
    report.source_bytes = reader.file_bytes();
    report.chain = reader.chain();
    return report;
}

} // namespace twinstep::replay
