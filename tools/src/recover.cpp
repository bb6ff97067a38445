// SPDX-License-Identifier: MIT
// twinstep recover: keeps every tick of a damaged recording that can be proved.
#include "twinstep/replay/recover.hpp"

#include "beside.hpp"
#include "command.hpp"
#include "options.hpp"
#include "recordings.hpp"

#include "twinstep/replay/errc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace twinstep::tools {

namespace {

struct RecoverVerbOptions {
    std::string input;
    std::string output;
    bool verify = false;
    bool prefix_only = false;
};

/// A file that is being made, and what it came to.
struct RecoveredFile {
    std::string path;
    std::unique_ptr<Beside> beside;
    Tick first;
    replay::RecoveredPart part;
    std::optional<replay::VerifyReport> verified;
};

/// "a.from-120.twin" for "a.twin".
std::string later_name(const std::string& output, Tick first) {
    const std::size_t folder = output.find_last_of("/\\") + 1; // 0 if there is none
    const std::size_t dot = output.find_last_of('.');
    const std::size_t end = dot == std::string::npos || dot <= folder ? output.size() : dot;
    return fmt::format("{}.from-{}{}", output.substr(0, end), first.value, output.substr(end));
}

/// Reads a part back and compares it with what was to be written. Errors: io_error.
Result<void> read_back_part(const RecoveredFile& file) {
    const auto proved = replay::prove(file.beside->path());
    if (!proved) {
        return fail(proved.error());
    }
    const bool same = proved->defects.empty() && proved->state == file.part.state &&
                      proved->ticks == file.part.ticks && proved->chunks == file.part.chunks &&
                      proved->bytes == file.part.bytes &&
                      (proved->packed || proved->chain == file.part.chain);
    if (!same) {
        return fail(
            Error(replay::Errc::io_error, {}, "what was written does not read back").in(file.path));
    }
    return {};
}

/// Plays a part. Errors: those of open_recording and verify.
Result<void> simulate_part(const Context& context, RecoveredFile& file) {
    auto recording = open_recording(context, file.beside->path());
    if (!recording) {
        return fail(recording.error());
    }
    auto report = replay::verify(*recording->simulation, std::move(recording->reader));
    if (!report) {
        return fail(report.error());
    }
    file.verified = std::move(*report);
    return {};
}

Json recovered_json(const RecoveredFile& file) {
    const replay::RecoveredPart& part = file.part;
    Json object{{"file", file.path},
                {"first_tick", json_integer(part.first.value)},
                {"ticks", json_integer(part.ticks)},
                {"bytes", json_integer(part.bytes)},
                {"chunks", json_integer(part.chunks)},
                {"state", to_string(part.state)},
                {"session", replay::to_hex(part.session)},
                {"source_offset", json_integer(part.source_offset)},
                {"source_bytes", json_integer(part.source_bytes)}};
    if (file.verified) {
        object["hashes_checked"] = json_integer(file.verified->hashes_checked);
        object["divergence"] =
            file.verified->divergence ? to_json(*file.verified->divergence) : Json();
    }
    return object;
}

void print_recovery(const Context& context,
                    const RecoverVerbOptions& options,
                    const replay::RecoverReport& report,
                    const std::vector<RecoveredFile>& files) {
    Json parts = Json::array();
    for (const RecoveredFile& file : files) {
        parts.push_back(recovered_json(file));
    }
    Json defects = Json::array();
    for (const replay::Defect& defect : report.defects) {
        defects.push_back(to_json(defect));
    }
    const bool kept_start = !files.empty() && files.front().path == options.output;
    context.print({{"file", options.output},
                   {"source", options.input},
                   {"kept_ticks", json_integer(report.kept_ticks)},
                   {"lost_bytes", json_integer(report.lost_bytes)},
                   {"bytes", json_integer(report.bytes)},
                   {"state", kept_start ? Json(to_string(files.front().part.state)) : Json()},
                   {"source_state", to_string(report.state)},
                   {"parts", parts},
                   {"defects", defects}});
    for (const RecoveredFile& file : files) {
        context.say(fmt::format("{}: ticks {} to {}, {} bytes, {}{}",
                                file.path,
                                file.part.first.value,
                                file.part.first.value + file.part.ticks,
                                file.part.bytes,
                                to_string(file.part.state),
                                file.verified && !file.verified->divergence ? ", verified" : ""));
    }
    context.say(fmt::format("{}: {}, {} ticks kept, {} of {} bytes lost",
                            options.input,
                            to_string(report.state),
                            report.kept_ticks,
                            report.lost_bytes,
                            report.bytes));
}

Exit exit_for_recovery(const RecoverVerbOptions& options,
                       const replay::RecoverReport& report,
                       const std::vector<RecoveredFile>& files) {
    for (const RecoveredFile& file : files) {
        if (file.verified && file.verified->divergence) {
            Context::note(fmt::format("{}: {}", file.path, to_line(*file.verified->divergence)));
            return Exit::divergence;
        }
    }
    if (files.empty()) {
        Context::note(fmt::format("{}: no tick can be proved; nothing was written", options.input));
        return Exit::failed;
    }
    return exit_for_state(options.input, report.state, report.defects);
}

/// Keeps the files that hold something and takes the others back. Errors: io_error, and those of
/// read_back_part and simulate_part.
Result<std::vector<RecoveredFile>> finish_files(const Context& context,
                                                const RecoverVerbOptions& options,
                                                const replay::RecoverReport& report,
                                                std::vector<RecoveredFile> made) {
    std::vector<RecoveredFile> kept;
    for (RecoveredFile& file : made) {
        const auto part = std::find_if(report.parts.begin(), report.parts.end(), [&](auto& each) {
            return each.first == file.first;
        });
        if (part == report.parts.end()) {
            continue;
        }
        file.part = *part;
        if (auto same = read_back_part(file); !same) {
            return fail(same.error());
        }
        if (options.verify) {
            if (auto played = simulate_part(context, file); !played) {
                return fail(played.error());
            }
        }
        kept.push_back(std::move(file));
    }
    for (RecoveredFile& file : kept) {
        if (auto renamed = file.beside->rename(); !renamed) {
            return fail(renamed.error());
        }
    }
    return kept;
}

Exit run_recover(Context& context, const RecoverVerbOptions& options) {
    if (const Result<void> regular = check_regular(options.input); !regular) {
        return Context::refuse(regular.error());
    }
    if (options.verify) {
        if (const auto known = open_recording(context, options.input); !known) {
            return Context::refuse(known.error());
        }
    }
    std::vector<RecoveredFile> made;
    const auto sinks = [&](std::size_t number,
                           Tick first) -> Result<std::unique_ptr<replay::FileSink>> {
        RecoveredFile file;
        file.path = number == 0 ? options.output : later_name(options.output, first);
        file.first = first;
        file.beside = std::make_unique<Beside>(file.path);
        auto sink = file.beside->create();
        if (sink) {
            made.push_back(std::move(file));
        }
        return sink;
    };
    const auto report = replay::recover(
        options.input,
        sinks,
        {.later_parts = !options.prefix_only, .side_file = found_side_file(options.input)});
    if (!report) {
        return Context::refuse(located(report.error(), options.input));
    }
    const auto files = finish_files(context, options, *report, std::move(made));
    if (!files) {
        return Context::refuse(files.error());
    }
    print_recovery(context, options, *report, *files);
    return exit_for_recovery(options, *report, *files);
}

} // namespace

void declare_recover(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "recover",
                                  "Keep every provable tick of a damaged recording",
                                  "twinstep recover cut.twin -o kept.twin");
    auto options = std::make_shared<RecoverVerbOptions>();
    verb.add_option("file", options->input, "Recording; its journal beside it is read too")
        ->required()
        ->check(not_empty());
    verb.add_option("-o,--output", options->output, "File to create; it must not exist")
        ->required()
        ->check(not_empty());
    verb.add_flag("--verify", options->verify, "Also simulate what was kept");
    verb.add_flag("--prefix-only",
                  options->prefix_only,
                  "Do not look for keyframes behind damage to start later parts from");
    verb.callback([&action, options] {
        action = [options](Context& c) { return run_recover(c, *options); };
    });
}

} // namespace twinstep::tools
