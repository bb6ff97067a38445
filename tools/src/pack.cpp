// SPDX-License-Identifier: MIT
// twinstep pack and twinstep unpack: the packed form of a recording and its inverse.
#include "twinstep/replay/pack.hpp"

#include "beside.hpp"
#include "command.hpp"
#include "options.hpp"
#include "recordings.hpp"

#include "twinstep/replay/errc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace twinstep::tools {

namespace {

struct RepackOptions {
    std::string input;
    std::string output;
    int level = 19;
    bool no_section_bytes = false;
};

bool equal_bytes(ByteView left, ByteView right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

/// Reads both files once more and compares them, record by record. Without section bytes records
/// differ; then it compares frames, hashes and states.
Result<void> compare(const RepackOptions& options, const std::string& written, bool same_records) {
    auto source = replay::Reader::open(options.input, replay::ReadMode::strict);
    auto made = replay::Reader::open(written, replay::ReadMode::strict);
    const auto wrong = [&](const char* why) {
        return fail(Error(replay::Errc::io_error, {}, why).in(options.output));
    };
    if (!source || !made) {
        return fail(source ? made.error() : source.error());
    }
    if (source->manifest() != made->manifest()) {
        return wrong("what was written has another manifest");
    }
    while (true) {
        auto left = source->next();
        while (!same_records && left && left->kind == replay::RecordKind::frame &&
               left->tag == static_cast<std::uint8_t>(replay::RecordTag::signature)) {
            left = source->next();
        }
        const auto right = made->next();
        if (!left || !right) {
            return fail(left ? right.error() : left.error());
        }
        bool same = left->kind == right->kind && left->tag == right->tag;
        if (same && (same_records || left->kind == replay::RecordKind::unknown)) {
            same = equal_bytes(left->payload, right->payload) &&
                   (!same_records || left->check == right->check);
        } else if (same && left->kind == replay::RecordKind::tick) {
            same = left->tick.hash == right->tick.hash &&
                   equal_bytes(left->tick.encoded, right->tick.encoded);
        } else if (same && left->kind == replay::RecordKind::chunk_end) {
            same = left->chunk_end.state == right->chunk_end.state;
        }
        if (!same) {
            return wrong("what was written does not read back as what was packed");
        }
        if (left->kind == replay::RecordKind::end) {
            return {};
        }
    }
}

Exit repack(Context& context, const RepackOptions& options, bool packs) {
    auto reader = open_reader(options.input);
    if (!reader) {
        return Context::refuse(reader.error());
    }
    Beside beside(options.output);
    auto sink = beside.create();
    if (!sink) {
        return Context::refuse(sink.error());
    }
    const auto report =
        packs ? replay::pack(*reader, std::move(*sink), {options.level, !options.no_section_bytes})
              : replay::unpack(*reader, std::move(*sink));
    if (!report) {
        return Context::refuse(located(report.error(), options.input));
    }
    if (auto same = compare(options, beside.path(), !report->section_bytes_dropped); !same) {
        return Context::refuse(same.error());
    }
    if (auto renamed = beside.rename(); !renamed) {
        return Context::refuse(renamed.error());
    }
    Json answer{{"file", options.output},
                {"ticks", json_integer(report->ticks)},
                {"bytes", json_integer(report->bytes)},
                {"source_bytes", json_integer(report->source_bytes)},
                {"chain", to_hex(report->chain)}};
    if (packs) {
        answer["input_bytes"] = json_integer(report->content_bytes);
        answer["section_bytes_dropped"] = report->section_bytes_dropped;
        answer["signatures_dropped"] = json_integer(report->signatures_dropped);
    }
    context.print(answer);
    context.say(fmt::format("{}: {} ticks, {} bytes from {}, chain {}",
                            options.output,
                            report->ticks,
                            report->bytes,
                            report->source_bytes,
                            to_hex(report->chain)));
    if (report->section_bytes_dropped) {
        context.say(fmt::format("section bytes left out: another chain, {} signatures dropped",
                                report->signatures_dropped));
    }
    return exit_for_state(options.input, reader->state(), reader->defects());
}

CLI::App& declare_repack(CLI::App& verb, const std::shared_ptr<RepackOptions>& options) {
    verb.add_option("file", options->input, "Recording")->required()->check(not_empty());
    verb.add_option("-o,--output", options->output, "File to create; it must not exist")
        ->required()
        ->check(not_empty());
    return verb;
}

} // namespace

void declare_pack(CLI::App& app, Context& context, Action& action) {
    auto options = std::make_shared<RepackOptions>();
    CLI::App& verb = declare_repack(declare_verb(app,
                                                 context,
                                                 "pack",
                                                 "Write a recording in a fraction of its bytes",
                                                 "twinstep pack bot.twin -o packed.twin"),
                                    options);
    verb.add_option("--level", options->level, "Of zstd: 3 is fast, 19 small, 0 none at all")
        ->check(CLI::Range(0, 22))
        ->capture_default_str();
    verb.add_flag("--no-section-bytes",
                  options->no_section_bytes,
                  "Leave them out: smaller, another chain, sections of a divergence unknown");
    verb.callback([&action, options] {
        action = [options](Context& c) { return repack(c, *options, true); };
    });
}

void declare_unpack(CLI::App& app, Context& context, Action& action) {
    auto options = std::make_shared<RepackOptions>();
    CLI::App& verb = declare_repack(declare_verb(app,
                                                 context,
                                                 "unpack",
                                                 "Write the open form of a packed recording",
                                                 "twinstep unpack packed.twin -o bot.twin"),
                                    options);
    verb.callback([&action, options] {
        action = [options](Context& c) { return repack(c, *options, false); };
    });
}

} // namespace twinstep::tools
