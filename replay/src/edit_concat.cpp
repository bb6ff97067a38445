// SPDX-License-Identifier: MIT
// Joins recordings that follow each other.
#include "edit_copy.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::replay {

namespace {

Error mismatch(Errc code, const char* field, std::string detail, const std::string& name) {
    return Error(code, field, std::move(detail)).in(name);
}

/// The hash of the state that a recording begins in, of what it says of it.
Result<void> check_states(const Survey& before,
                          const std::string& before_name,
                          const Survey& part,
                          const std::string& name) {
    const std::string tick = std::to_string(part.first.value);
    if (!before.final_hash) {
        return fail(mismatch(Errc::incompatible_simulation,
                             "state",
                             "no chunk ends it, so its state at tick " + tick +
                                 " is not on record: trim it without --until, which closes it",
                             before_name));
    }
    const Hash128& expected = *before.final_hash;
    const auto differs = [&](const std::string& left, const std::string& right) {
        return mismatch(Errc::incompatible_simulation,
                        "state",
                        "at tick " + tick + " its state is " + right + ", but " + before_name +
                            " ends in " + left,
                        name);
    };
    if (part.first_keyframe && part.first_keyframe->state != expected) {
        return fail(
            differs(twinstep::to_hex(expected), twinstep::to_hex(part.first_keyframe->state)));
    }
    if (part.first_hash && *part.first_hash != short_hash(expected)) {
        constexpr std::size_t short_digits = 8;
        const auto text = [](std::uint32_t hash) {
            return twinstep::to_hex(std::uint64_t{hash}).substr(short_digits);
        };
        return fail(differs(text(short_hash(expected)), text(*part.first_hash)));
    }
    return {};
}

Result<void> check_follows(const Survey& before,
                           const std::string& before_name,
                           const Survey& part,
                           const std::string& name) {
    const auto keys = incompatibilities(before.head.manifest, part.head.manifest);
    if (!keys.empty()) {
        return fail(mismatch(Errc::incompatible_simulation,
                             keys.front().key.c_str(),
                             "it has '" + keys.front().actual + "', but " + before_name + " has '" +
                                 keys.front().expected + "'",
                             name));
    }
    const std::string& sections = part.head.manifest.at(sections_key);
    if (before.head.manifest.at(sections_key) != sections) {
        return fail(mismatch(Errc::incompatible_simulation,
                             sections_key,
                             "it has '" + sections + "', but " + before_name + " has '" +
                                 before.head.manifest.at(sections_key) + "'",
                             name));
    }
    if (((before.head.incompatible ^ part.head.incompatible) & feature::no_section_bytes) != 0) {
        return fail(mismatch(Errc::unsupported_version,
                             "features.incompatible",
                             "only one of it and " + before_name + " has section bytes",
                             name));
    }
    if (part.first != before.end) {
        return fail(mismatch(Errc::wrong_tick,
                             "tick",
                             "it begins at tick " + std::to_string(part.first.value) + ", but " +
                                 before_name + " ends at tick " + std::to_string(before.end.value),
                             name));
    }
    return check_states(before, before_name, part, name);
}

/// The head of the whole. Parts of version 1.0 and later ones together make a later one.
Result<Head> joined_head(const std::vector<Survey>& surveys, const EditOptions& options) {
    std::vector<Tick> ends;
    for (const Survey& survey : surveys) {
        ends.push_back(survey.end);
    }
    Result<Head> head = child_head(surveys, ends, "concat", options);
    if (!head) {
        return head;
    }
    for (const Survey& survey : surveys) {
        head->incompatible |= survey.head.incompatible & feature::changes;
        head->minor = std::max(head->minor, survey.head.minor);
    }
    return head;
}

} // namespace

Result<EditReport> concat(std::span<const ReadableRecording> parts,
                          std::unique_ptr<FileSink> sink,
                          const EditOptions& options) {
    TWINSTEP_ASSERT(!parts.empty());
    std::vector<Survey> surveys;
    for (const ReadableRecording& part : parts) {
        Result<Survey> survey = survey_recording(part);
        if (!survey) {
            return fail(survey.error());
        }
        surveys.push_back(std::move(*survey));
        const std::size_t i = surveys.size() - 1;
        if (i > 0) {
            auto follows = check_follows(surveys[i - 1], parts[i - 1].name, surveys[i], part.name);
            if (!follows) {
                return fail(follows.error());
            }
        }
    }
    const Result<Head> head = joined_head(surveys, options);
    if (!head) {
        return fail(head.error());
    }
    Result<Writer> writer = Writer::create(std::move(sink), *head);
    if (!writer) {
        return fail(writer.error());
    }
    EditReport report;
    report.first = surveys.front().first;
    report.source_state = surveys.back().state;
    report.source_defects = surveys.back().defects;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Result<Reader> reader = parts[i].open();
        if (!reader) {
            return fail(reader.error());
        }
        RangeCopy::Range range;
        range.from = surveys[i].first;
        range.until = surveys[i].end;
        range.to_end = i + 1 == parts.size();
        range.changes = (head->incompatible & feature::changes) != 0;
        range.keep_first = i == 0;
        RangeCopy copy(*writer, report, range);
        if (auto copied = copy.run(*reader); !copied) {
            return fail(copied.error());
        }
    }
    if (auto finished = finish_edit(*writer, report); !finished) {
        return fail(finished.error());
    }
    return report;
}

Result<void> compare_ticks(Reader& copy, Reader& source, Tick from, Tick until) {
    const auto next_tick = [](Reader& reader) -> Result<std::optional<TickRecord>> {
        while (true) {
            const Result<Record> record = reader.next();
            if (!record) {
                return fail(record.error());
            }
            if (record->kind == RecordKind::tick) {
                return std::optional(record->tick);
            }
            if (record->kind == RecordKind::end) {
                return std::optional<TickRecord>{};
            }
        }
    };
    const auto same = [](ByteView left, ByteView right) {
        return std::equal(left.begin(), left.end(), right.begin(), right.end());
    };
    for (Tick tick = from; tick < until; tick = tick + 1) {
        Result<std::optional<TickRecord>> expected = next_tick(source);
        while (expected && *expected && (*expected)->tick < tick) {
            expected = next_tick(source);
        }
        const Result<std::optional<TickRecord>> actual = next_tick(copy);
        if (!expected || !actual) {
            return fail(expected ? actual.error() : expected.error());
        }
        if (!*expected || !*actual || (*actual)->tick != tick || (*expected)->tick != tick ||
            (*actual)->hash != (*expected)->hash ||
            !same((*actual)->section_bytes, (*expected)->section_bytes) ||
            !same((*actual)->encoded, (*expected)->encoded)) {
            return fail(Error(Errc::corrupt_record,
                              "tick",
                              "what was written does not read back as what was read, at tick " +
                                  std::to_string(tick.value)));
        }
    }
    return {};
}

} // namespace twinstep::replay
