// SPDX-License-Identifier: MIT
// twinstep cat and twinstep import: the lossless text form and its inverse.
#include "twinstep/replay/text.hpp"

#include "command.hpp"
#include "options.hpp"
#include "recordings.hpp"
#include "text_file.hpp"

#include "twinstep/replay/inputs.hpp"

#include <fmt/format.h>

#include <memory>

namespace twinstep::tools {

namespace {

struct CatOptions {
    std::string path;
    std::string format = "ndjson";
    bool editable = false;
};

/// The game of a recording, or null if this command does not know it.
std::unique_ptr<Simulation> game_of(const Context& context, const replay::Reader& reader) {
    const auto id = reader.manifest().find("sim.id");
    if (id == reader.manifest().end()) {
        return nullptr;
    }
    const auto entry = context.find_game(id->second);
    return entry ? (*entry)->make() : nullptr;
}

/// The table is read twice; what is wrong with the file shows the second time as well.
Exit cat_csv(Context& context, const CatOptions& options) {
    if (options.editable) {
        Context::note("--editable: only with --format ndjson, which import reads");
        return Exit::usage;
    }
    auto reader = open_reader(options.path);
    if (!reader) {
        return Context::refuse(reader.error());
    }
    const std::unique_ptr<Simulation> simulation = game_of(context, *reader);
    const auto exported = replay::export_csv(
        simulation.get(),
        [&options] { return open_reader(options.path); },
        [](std::string_view line) -> Result<void> {
            Context::data(std::string(line) + "\r\n");
            return {};
        });
    if (!exported) {
        return Context::refuse(located(exported.error(), options.path));
    }
    const auto summary = replay::summarise(options.path);
    if (!summary) {
        return Context::refuse(summary.error());
    }
    return exit_for_state(options.path, summary->state, summary->defects);
}

Exit cat(Context& context, const CatOptions& options) {
    if (options.format == "csv") {
        return cat_csv(context, options);
    }
    auto reader = open_reader(options.path);
    if (!reader) {
        return Context::refuse(reader.error());
    }
    // Inputs are shown decoded where this command knows the game; the bytes are there in any case.
    const std::unique_ptr<Simulation> simulation = game_of(context, *reader);
    const auto exported =
        replay::export_text(*reader,
                            [](std::string_view line) -> Result<void> {
                                Context::data(json_for_terminals(std::string(line)) + "\n");
                                return {};
                            },
                            {.proofs = !options.editable, .simulation = simulation.get()});
    if (!exported) {
        return Context::refuse(exported.error());
    }
    return exit_for_state(options.path, reader->state(), reader->defects());
}

struct ImportOptions {
    std::string input;
    std::string output;
    bool recompute = false;
};

Exit import(Context& context, const ImportOptions& options) {
    auto text = open_text_file(options.input);
    if (!text) {
        return Context::refuse(text.error());
    }
    auto imported = replay::import_text(*text, options.output, {.recompute = options.recompute});
    if (!imported) {
        Error error = imported.error();
        return Context::refuse(error.where.empty() ? std::move(error).in(options.input) : error);
    }
    context.print({{"file", options.output},
                   {"ticks", json_integer(imported->ticks)},
                   {"bytes", json_integer(imported->bytes)},
                   {"chain", to_hex(imported->chain)}});
    context.say(fmt::format("{}: {} ticks, {} bytes, chain {}",
                            options.output,
                            imported->ticks,
                            imported->bytes,
                            to_hex(imported->chain)));
    return Exit::done;
}

} // namespace

void declare_cat(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "cat",
                                  "Write a recording as text, one JSON object a line",
                                  "twinstep cat bot.twin --format ndjson > bot.ndjson");
    auto options = std::make_shared<CatOptions>();
    verb.add_option("file", options->path, "Recording")->required()->check(not_empty());
    verb.add_option("--format", options->format, "Text form, or the inputs as a table: csv")
        ->check(CLI::IsMember({"ndjson", "csv"}))
        ->capture_default_str();
    verb.add_flag(
        "--editable", options->editable, "Leave out the checks, so that lines can be edited");
    verb.callback(
        [&action, options] { action = [options](Context& c) { return cat(c, *options); }; });
}

void declare_import(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "import",
                                  "Make a recording from the text that cat wrote",
                                  "twinstep import bot.ndjson -o copy.twin");
    auto options = std::make_shared<ImportOptions>();
    verb.add_option("text", options->input, "Text: one JSON object a line")
        ->required()
        ->check(not_empty());
    verb.add_option("-o,--output", options->output, "File to create; it must not exist")
        ->required()
        ->check(not_empty());
    verb.add_flag("--recompute", options->recompute, "Ignore given checks and compute them anew");
    verb.callback(
        [&action, options] { action = [options](Context& c) { return import(c, *options); }; });
}

} // namespace twinstep::tools
