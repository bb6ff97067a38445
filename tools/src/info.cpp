// SPDX-License-Identifier: MIT
// twinstep info and twinstep check: what a file holds, without simulating.
#include "command.hpp"
#include "options.hpp"
#include "recordings.hpp"

#include "twinstep/replay/pack.hpp"

#include <fmt/format.h>

#include <memory>
#include <vector>

namespace twinstep::tools {

namespace {

std::string duration(const Manifest& manifest, std::uint64_t ticks) {
    const auto rate = manifest.find("sim.tick_rate");
    unsigned long long num = 0;
    unsigned long long den = 0;
    if (rate == manifest.end() || std::sscanf(rate->second.c_str(), "%llu/%llu", &num, &den) != 2 ||
        num == 0) {
        return "unknown";
    }
    return fmt::format("{:.2f} s",
                       static_cast<double>(ticks) * static_cast<double>(den) /
                           static_cast<double>(num));
}

Json defects_json(const std::vector<replay::Defect>& defects) {
    Json list = Json::array();
    for (const replay::Defect& defect : defects) {
        list.push_back(to_json(defect));
    }
    return list;
}

Result<replay::Summary> summarise(const std::string& path) {
    if (const Result<void> regular = check_regular(path); !regular) {
        return fail(regular.error());
    }
    return replay::summarise(path);
}

std::uint64_t lost_ticks(const replay::Summary& summary) {
    return summary.loss ? summary.loss->ticks : 0;
}

/// A whole file may still say that ticks are missing after its last one.
Exit exit_for(const std::string& path, const replay::Summary& summary) {
    if (summary.loss) {
        Context::note(fmt::format("{}: {}", path, loss_line(*summary.loss)));
    }
    const Exit exit = exit_for_state(path, summary.state, summary.defects);
    return exit == Exit::done && summary.loss ? Exit::loss : exit;
}

Exit info(Context& context, const std::string& path) {
    const auto summary = summarise(path);
    if (!summary) {
        return Context::refuse(summary.error());
    }
    Json manifest = Json::object();
    for (const auto& [key, value] : summary->head.manifest) {
        manifest[key] = value;
    }
    context.print(
        {{"file", path},
         {"manifest", manifest},
         {"session", replay::to_hex(summary->head.session)},
         {"ticks", json_integer(summary->ticks)},
         {"packed", summary->is_packed},
         {"bytes", json_integer(summary->bytes)},
         {"chunks", json_integer(summary->chunks)},
         {"chain", to_hex(summary->chain)},
         {"final_hash", summary->final_hash ? Json(to_hex(*summary->final_hash)) : Json()},
         {"lost_ticks", json_integer(lost_ticks(*summary))},
         {"state", to_string(summary->state)},
         {"defects", defects_json(summary->defects)}});
    context.say(fmt::format("{}: {}{}, {} ticks ({}), {} bytes, {} chunks",
                            path,
                            to_string(summary->state),
                            summary->is_packed ? ", packed" : "",
                            summary->ticks,
                            duration(summary->head.manifest, summary->ticks),
                            summary->bytes,
                            summary->chunks));
    context.say(fmt::format("chain {}", to_hex(summary->chain)));
    for (const auto& [key, value] : summary->head.manifest) {
        context.say(fmt::format("  {} = {}", key, value));
    }
    return exit_for(path, *summary);
}

Exit check(Context& context, const std::string& path) {
    const auto summary = summarise(path);
    if (!summary) {
        return Context::refuse(summary.error());
    }
    context.print({{"file", path},
                   {"checked", "records"},
                   {"records", json_integer(summary->records)},
                   {"chunks", json_integer(summary->chunks)},
                   {"ticks", json_integer(summary->ticks)},
                   {"lost_ticks", json_integer(lost_ticks(*summary))},
                   {"state", to_string(summary->state)},
                   {"defects", defects_json(summary->defects)}});
    context.say(fmt::format("{}: {}, {} records in {} chunks, {} defects",
                            path,
                            to_string(summary->state),
                            summary->records,
                            summary->chunks,
                            summary->defects.size()));
    return exit_for(path, *summary);
}

/// A packed file by its frames: in a fraction of the time, but what is in them is not read.
Exit check_frames(Context& context, const std::string& path) {
    const auto reader = open_reader(path);
    if (!reader) {
        return Context::refuse(reader.error());
    }
    if (!reader->is_packed()) {
        return Context::refuse_option(
            Error(SimErrc::bad_setup, "--frames-only", path + " is not packed: check it without"));
    }
    const auto summary = replay::check_packed(path);
    if (!summary) {
        return Context::refuse(summary.error());
    }
    std::vector<replay::Defect> defects;
    if (summary->defect) {
        defects.push_back({*summary->defect, {}});
    }
    context.print({{"file", path},
                   {"checked", "frames"},
                   {"records", Json()},
                   {"packed_frames", json_integer(summary->packed_frames)},
                   {"chunks", json_integer(summary->chunks)},
                   {"ticks", json_integer(summary->ticks)},
                   {"state", to_string(summary->state)},
                   {"defects", defects_json(defects)}});
    context.say(fmt::format("{}: {}, {} packed frames of {} chunks, {} defects; none was unpacked",
                            path,
                            to_string(summary->state),
                            summary->packed_frames,
                            summary->chunks,
                            defects.size()));
    return exit_for_state(path, summary->state, defects);
}

} // namespace

void declare_info(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "info",
                                  "Manifest, length and state of a recording",
                                  "twinstep info bot.twin");
    auto path = std::make_shared<std::string>();
    verb.add_option("file", *path, "Recording")->required()->check(not_empty());
    verb.callback([&action, path] { action = [path](Context& c) { return info(c, *path); }; });
}

void declare_check(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "check",
                                  "Check every check in a recording, without simulating",
                                  "twinstep check bot.twin");
    auto path = std::make_shared<std::string>();
    verb.add_option("file", *path, "Recording")->required()->check(not_empty());
    auto frames_only = std::make_shared<bool>(false);
    verb.add_flag(
        "--frames-only",
        *frames_only,
        "Of a packed file: its bytes, at the speed of memory, and not what they unpack to");
    verb.callback([&action, path, frames_only] {
        action = [path, only = *frames_only](Context& c) {
            return only ? check_frames(c, *path) : check(c, *path);
        };
    });
}

} // namespace twinstep::tools
