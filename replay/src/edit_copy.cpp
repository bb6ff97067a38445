// SPDX-License-Identifier: MIT
// Copies ranges of recordings, record by record.
#include "edit_copy.hpp"

#include "keyframe_codec.hpp"
#include "layout.hpp"
#include "record_pass.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::replay {

namespace {

RecordedState recorded_by(const TickRecord& tick) {
    RecordedState recorded;
    recorded.hash = tick.hash;
    recorded.section_bytes.assign(tick.section_bytes.begin(), tick.section_bytes.end());
    return recorded;
}

/// What a keyframe's first part says of it.
std::optional<KeyframeInfo> info_of(ByteView payload) {
    PartAssembler parts(false, keyframe_bytes_max);
    if (const Result<bool> added = parts.add(payload); !added) {
        return std::nullopt;
    }
    return parts.info();
}

void append_word(std::string& list, const std::string& word) {
    list += list.empty() ? word : " " + word;
}

/// Where a record is written again, it must mean the same.
Result<void> check_tag(std::uint8_t tag, bool changes) {
    if (changes && (is_known_tag(tag, true) || is_frame_tag(tag))) {
        return fail(Error(Errc::unsupported_version,
                          "tag",
                          "data with tag " + std::to_string(tag) +
                              " of a file of version 1.0 would mean something else in the copy"));
    }
    return {};
}

} // namespace

Result<Survey> survey_recording(const ReadableRecording& source) {
    Result<Reader> reader = source.open();
    if (!reader) {
        return fail(reader.error());
    }
    Survey survey;
    survey.head = reader->head();
    if (survey.head.read_only != 0) {
        return fail(Error(Errc::unsupported_version,
                          "features.read_only",
                          "made by a later version: this one may read it, not write it again")
                        .in(source.name));
    }
    survey.first = reader->next_tick();
    while (true) {
        const Result<Record> record = reader->next();
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::end) {
            break;
        }
        if (record->kind == RecordKind::tick) {
            survey.final_hash.reset();
            if (!survey.first_hash) {
                survey.first_hash = record->tick.hash;
            }
        } else if (record->kind == RecordKind::chunk_end) {
            survey.final_hash = record->chunk_end.state;
        } else if (is_keyframe(*record) && reader->ticks() == 0 && !survey.first_keyframe) {
            survey.first_keyframe = info_of(record->payload);
        }
    }
    survey.end = reader->next_tick();
    survey.chain = reader->chain();
    survey.state = reader->state();
    survey.defects = reader->defects();
    return survey;
}

Result<Head> child_head(std::span<const Survey> parents,
                        std::span<const Tick> ends,
                        std::string_view verb,
                        const EditOptions& options) {
    Head head = parents.front().head;
    head.compatible = 0; // Nobody here knows what they promise of the file.
    if (options.session) {
        head.session = *options.session;
    } else if (const Result<SessionId> drawn = make_session_id()) {
        head.session = *drawn;
    } else {
        return fail(drawn.error());
    }
    std::string sessions;
    std::string chains;
    std::string ticks;
    for (std::size_t i = 0; i < parents.size(); ++i) {
        append_word(sessions, to_hex(parents[i].head.session));
        append_word(chains, twinstep::to_hex(parents[i].chain));
        append_word(ticks, std::to_string(ends[i].value));
    }
    head.manifest[edit_key] = verb;
    head.manifest[parent_session_key] = sessions;
    head.manifest[parent_chain_key] = chains;
    head.manifest[parent_tick_key] = ticks;
    // What is made of a file that must never change is another file.
    head.manifest.erase(corpus_key);
    return head;
}

void start_late(Head& head, Tick first) {
    head.minor = format_minor;
    head.incompatible |= feature::changes | feature::late_start;
    head.manifest[first_tick_key] = std::to_string(first.value);
}

// --- copying ---

Result<void> RangeCopy::run(Reader& reader) {
    return for_each_record(reader, [this](const Record& record) { return take(record); });
}

Result<bool> RangeCopy::take(const Record& record) {
    switch (record.kind) {
    case RecordKind::tick:
        return take_tick(record);
    case RecordKind::chunk_end: {
        const Tick after = record.chunk_end.last + 1;
        if (writer_.chunk_ticks() > 0) {
            auto written =
                writer_.write_chunk_end(record.chunk_end.state, record.chunk_end.sections);
            if (!written) {
                return fail(written.error());
            }
            report_.final_hash = record.chunk_end.state;
        }
        started_ = started_ || after == range_.from;
        return range_.to_end || after < range_.until;
    }
    case RecordKind::frame:
        if (auto taken = take_frame(record); !taken) {
            return fail(taken.error());
        }
        return true;
    case RecordKind::unknown:
        if (started_) {
            if (auto fits = check_tag(record.tag, range_.changes); !fits) {
                return fail(fits.error());
            }
            if (auto written = writer_.write_record(record.tag, record.payload); !written) {
                return fail(written.error());
            }
        }
        return true;
    case RecordKind::trailer:
    case RecordKind::end:
        break;
    }
    return true;
}

Result<bool> RangeCopy::take_tick(const Record& record) {
    const TickRecord& tick = record.tick;
    if (tick.tick < range_.from) {
        return true;
    }
    if (tick.tick >= range_.until) {
        recorded_until_ = recorded_by(tick);
        return false;
    }
    started_ = true;
    if (tick.tick == range_.from && range_.from_hashes != nullptr) {
        bool checked = false;
        report_.divergence = compare_recorded(*range_.from_hashes, recorded_by(tick), checked);
        if (report_.divergence) {
            return false;
        }
    }
    if (auto written = writer_.write_tick(tick.hash, tick.section_bytes, tick.encoded); !written) {
        return fail(written.error());
    }
    ++report_.copied_ticks;
    report_.final_hash.reset();
    return true;
}

/// A delta needs the keyframe that it differs from.
bool RangeCopy::keeps_keyframe(const Record& record) {
    if (!is_first_part(record.payload)) {
        return keeps_parts_;
    }
    const std::optional<KeyframeInfo> info = info_of(record.payload);
    const bool is_first = info && range_.keep_first && info->tick == range_.from;
    const bool is_inside = info && info->tick > range_.from && info->tick < range_.until;
    keeps_parts_ = (is_first || is_inside) && (!info->base || kept_.contains(*info->base));
    if (keeps_parts_) {
        kept_.insert(info->tick);
        ++report_.keyframes;
    } else {
        ++report_.frames_dropped;
    }
    return keeps_parts_;
}

Result<void> RangeCopy::take_frame(const Record& record) {
    bool keep = false;
    switch (static_cast<RecordTag>(record.tag)) {
    case RecordTag::keyframe:
        keep = keeps_keyframe(record);
        break;
    case RecordTag::loss:
        // Ticks are missing behind the last one only.
        keep = range_.to_end;
        break;
    case RecordTag::signature:
        ++report_.signatures_dropped;
        break;
    default:
        ++report_.frames_dropped;
        break;
    }
    return keep ? writer_.write_frame(record.tag, record.payload) : Result<void>{};
}

// --- recording ---

void TickWriter::before(const TickBegin& begin) {
    if (error_) {
        return;
    }
    section_bytes_.resize(writer_.tick_section_bytes());
    if (begin.hashes.sections.size() != writer_.section_count()) {
        error_ = Error(Errc::corrupt_record, sections_key, "the sections have changed");
        return;
    }
    for (std::size_t i = 0; i < section_bytes_.size(); ++i) {
        section_bytes_[i] = section_byte(begin.hashes.sections[i].hash);
    }
    if (auto written =
            writer_.write_tick(short_hash(begin.hashes.state), section_bytes_, begin.encoded);
        !written) {
        error_ = written.error();
    }
}

void TickWriter::after(const StateHashes& hashes) {
    if (!error_ && writer_.chunk_due()) {
        if (auto written = end_chunk(writer_, hashes); !written) {
            error_ = written.error();
        }
    }
}

Result<void> end_chunk(Writer& writer, const StateHashes& hashes) {
    if (hashes.sections.size() != writer.section_count()) {
        return fail(Error(Errc::corrupt_record, sections_key, "the sections have changed"));
    }
    std::vector<Hash128> sections;
    for (const SectionHash& section : hashes.sections) {
        sections.push_back(section.hash);
    }
    return writer.write_chunk_end(hashes.state, sections);
}

Result<void> write_first_keyframe(Writer& writer, Simulation& simulation) {
    Bytes snapshot;
    simulation.save(snapshot);
    KeyframeEncoder encoder({});
    KeyframeInfo info;
    const Result<ByteView> stored =
        encoder.encode(simulation.tick(), simulation.hash().state, snapshot, info);
    if (!stored) {
        return fail(stored.error());
    }
    return write_parts(info, *stored, [&writer](ByteView payload) {
        return writer.write_frame(static_cast<std::uint8_t>(RecordTag::keyframe), payload);
    });
}

Result<void> finish_edit(Writer& writer, EditReport& report) {
    if (writer.chunk_records() == 0) {
        if (auto written = writer.write_trailer(); !written) {
            return written;
        }
    }
    report.end = writer.next_tick();
    report.chunks = writer.chunks();
    report.bytes = writer.bytes();
    report.chain = writer.chain();
    return writer.close();
}

} // namespace twinstep::replay
