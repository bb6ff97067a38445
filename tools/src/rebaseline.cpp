// SPDX-License-Identifier: MIT
// twinstep rebaseline: new hashes for old inputs, after a game changed on purpose.
#include "edit_output.hpp"
#include "options.hpp"
#include "recordings.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/playback.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

namespace twinstep::tools {

namespace {

/// A folder with a file of this name, and everything below it, is never made anew.
constexpr const char* marker_name = "FORMAT-CORPUS";

struct RebaselineOptions {
    std::string path;
    std::string reason;
    bool no_backup = false;
};

/// What became of one recording.
struct Rebaselined {
    std::string file;
    replay::Rebaseline plan;
    Hash128 new_chain;
    std::string backup;
    bool was_packed = false;
};

std::filesystem::path path_of(const std::string& text) {
    return {std::u8string(text.begin(), text.end())};
}

/// The recordings under a path, sorted. Errors: io_error.
Result<std::vector<std::string>> recordings_under(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_directory(path_of(path), error)) {
        return std::vector{path};
    }
    std::vector<std::string> files;
    auto entry = std::filesystem::recursive_directory_iterator(path_of(path), error);
    for (; !error && entry != std::filesystem::recursive_directory_iterator();
         entry.increment(error)) {
        if (entry->path().extension() == ".twin") {
            files.push_back(entry->path().string());
        }
    }
    if (error) {
        return fail(Error(replay::Errc::io_error, {}, error.message()).in(path));
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// Refuses what belongs to a format corpus, by its folder or by its own note, and what is not
/// whole.
Result<void> check_may_change(const std::string& file) {
    std::error_code ignored;
    const std::filesystem::path whole = std::filesystem::weakly_canonical(path_of(file), ignored);
    for (std::filesystem::path folder = whole.parent_path(); !folder.empty();
         folder = folder.parent_path()) {
        if (std::filesystem::exists(folder / marker_name, ignored)) {
            return fail(Error(replay::Errc::unsupported_version,
                              marker_name,
                              fmt::format("{} marks files whose bytes are what is tested",
                                          (folder / marker_name).string()))
                            .in(file));
        }
        if (folder == folder.root_path()) {
            break;
        }
    }
    auto reader = open_reader(file);
    if (!reader) {
        return fail(reader.error());
    }
    if (replay::is_format_corpus(reader->manifest())) {
        return fail(Error(replay::Errc::unsupported_version,
                          replay::corpus_key,
                          "'format': its bytes are what is tested")
                        .in(file));
    }
    return {};
}

/// Simulates what was written once more; nothing gets the name of a recording that does not hold.
Result<void> prove(Simulation& simulation, const std::string& written) {
    const auto report =
        replay::verify_file(simulation, written, {.mode = replay::ReadMode::strict});
    if (!report) {
        return fail(report.error());
    }
    if (report->divergence || report->state != replay::FileState::closed) {
        return fail(Error(replay::Errc::corrupt_record,
                          "state",
                          report->divergence
                              ? "it is not repeatable: " + to_line(*report->divergence)
                              : "what was written is not whole")
                        .in(written));
    }
    return {};
}

/// Plans, writes beside, proves, and replaces. Errors: those of each.
Result<Rebaselined>
rebaseline_one(const Context& context, const std::string& file, const RebaselineOptions& options) {
    auto recording = open_recording(context, file);
    if (!recording) {
        return fail(recording.error());
    }
    Rebaselined result;
    result.file = file;
    result.was_packed = recording->reader.is_packed();
    const replay::ReadableRecording source = readable(file);
    auto plan = replay::plan_rebaseline(*recording->simulation, source);
    if (!plan) {
        return fail(located(plan.error(), file));
    }
    result.plan = std::move(*plan);
    if (result.plan.state != replay::FileState::closed) {
        return fail(Error(replay::Errc::truncated,
                          {},
                          "only whole recordings are made anew: trim or recover it first")
                        .in(file));
    }
    if (!result.plan.changed()) {
        return result;
    }
    Beside beside(file);
    auto sink = beside.create_replacement();
    if (!sink) {
        return fail(sink.error());
    }
    const auto report = replay::rebaseline(
        *recording->simulation, source, result.plan, options.reason, std::move(*sink));
    if (!report) {
        return fail(located(report.error(), file));
    }
    const auto fresh = recording->simulation->make_another();
    if (auto proved = prove(*fresh, beside.path()); !proved) {
        return fail(proved.error());
    }
    result.new_chain = report->chain;
    result.backup = options.no_backup ? "" : file + ".old";
    if (auto replaced = beside.replace(result.backup); !replaced) {
        return fail(replaced.error());
    }
    return result;
}

Json rebaselined_json(const Rebaselined& result) {
    const replay::Rebaseline& plan = result.plan;
    Json object{{"file", result.file},
                {"changed", plan.changed()},
                {"ticks", json_integer(plan.ticks)},
                {"old_chain", to_hex(plan.old_chain)},
                {"new_chain", to_hex(plan.changed() ? result.new_chain : plan.old_chain)},
                {"old_hash", plan.old_hash ? Json(to_hex(*plan.old_hash)) : Json()},
                {"new_hash", to_hex(plan.new_hash)}};
    Json keys = Json::array();
    for (const ManifestDifference& key : plan.keys) {
        keys.push_back({{"key", key.key}, {"old", key.expected}, {"new", key.actual}});
    }
    object["keys"] = std::move(keys);
    if (plan.difference) {
        object.update(to_json(*plan.difference));
    }
    object["backup"] = result.backup;
    return object;
}

void tell(const Context& context, const Rebaselined& result) {
    const replay::Rebaseline& plan = result.plan;
    if (!plan.changed()) {
        context.say(fmt::format("{}: unchanged: {} ticks", result.file, plan.ticks));
        return;
    }
    context.say(fmt::format("{}: {}",
                            result.file,
                            plan.difference
                                ? fmt::format("first differs at tick {}{}{}",
                                              plan.difference->tick.value,
                                              plan.difference->section.empty() ? "" : ", section ",
                                              plan.difference->section)
                                : std::string("all states are the same")));
    for (const ManifestDifference& key : plan.keys) {
        // A schema is long, and its fingerprint says as much.
        if (key.key != "state.schema") {
            context.say(fmt::format("  {}: {} -> {}",
                                    printable(key.key),
                                    printable(key.expected),
                                    printable(key.actual)));
        }
    }
    context.say(fmt::format("  final hash: {} -> {}",
                            plan.old_hash ? to_hex(*plan.old_hash) : "(unknown)",
                            to_hex(plan.new_hash)));
    context.say(fmt::format("  chain: {} -> {}", to_hex(plan.old_chain), to_hex(result.new_chain)));
    if (!result.backup.empty()) {
        context.say(fmt::format("  the old file is {}", result.backup));
    }
    if (result.was_packed) {
        context.say("  it was packed and is in the open form now: see pack");
    }
}

Exit rebaseline(Context& context, const RebaselineOptions& options) {
    if (options.reason.find_first_not_of(" \t\r\n") == std::string::npos) {
        Context::note("--reason: say why the behaviour changed");
        return Exit::usage;
    }
    const auto files = recordings_under(options.path);
    if (!files) {
        return Context::refuse(files.error());
    }
    // All of them are looked at before one is touched.
    for (const std::string& file : *files) {
        if (auto allowed = check_may_change(file); !allowed) {
            return Context::refuse(allowed.error());
        }
    }
    Json results = Json::array();
    std::uint64_t changed = 0;
    Exit exit = files->empty() ? Exit::nothing_checked : Exit::done;
    for (const std::string& file : *files) {
        const auto result = rebaseline_one(context, file, options);
        if (!result) {
            exit = result.error().code == replay::Errc::truncated
                       ? Exit::loss
                       : Context::exit_for(result.error());
            Context::note(to_string(result.error()));
            continue;
        }
        changed += result->plan.changed() ? 1U : 0U;
        results.push_back(rebaselined_json(*result));
        tell(context, *result);
    }
    context.print({{"files", files->size()},
                   {"changed", changed},
                   {"reason", options.reason},
                   {"recordings", std::move(results)}});
    if (files->empty()) {
        Context::note("nothing was checked: no .twin file was found");
    }
    return exit;
}

} // namespace

void declare_rebaseline(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(
        app,
        context,
        "rebaseline",
        "Give recordings the hashes of this build, after the game changed on purpose",
        "twinstep rebaseline recordings/behaviour --reason 'doors close two ticks later'");
    auto options = std::make_shared<RebaselineOptions>();
    verb.add_option("path", options->path, "Recording, or a directory of them")
        ->required()
        ->check(not_empty());
    verb.add_option("--reason", options->reason, "Why the behaviour changed; kept in the file")
        ->required()
        ->check(not_empty());
    verb.add_flag("--no-backup", options->no_backup, "Do not keep the old file as FILE.old");
    verb.callback(
        [&action, options] { action = [options](Context& c) { return rebaseline(c, *options); }; });
}

} // namespace twinstep::tools
