// SPDX-License-Identifier: MIT
// twinstep sign: a copy of a recording with signatures in it.
#include "beside.hpp"
#include "command.hpp"
#include "options.hpp"
#include "recordings.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/signature.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

namespace twinstep::tools {

namespace {

struct SigningOptions {
    std::string input;
    std::string output;
    std::string key_file;
    std::uint64_t every_chunks = 0;
    std::optional<std::uint64_t> at;
};

/// Reads what was written and lets it be judged as by somebody who has the public key.
Result<void> prove(const SigningOptions& options,
                   const std::string& written,
                   const replay::SigningKey& key,
                   const replay::SignReport& made) {
    auto reader = replay::Reader::open(written, replay::ReadMode::strict);
    if (!reader) {
        return fail(reader.error());
    }
    const auto report = replay::check_signatures(std::move(*reader), key.public_key());
    if (!report) {
        return fail(report.error());
    }
    if (report->valid < made.signatures || report->ticks != made.ticks ||
        report->covered_ticks < made.covered_ticks) {
        return fail(
            Error(replay::Errc::io_error, {}, "what was written does not read back as signed")
                .in(options.output));
    }
    return {};
}

Exit tell(Context& context,
          const SigningOptions& options,
          const replay::SigningKey& key,
          const replay::SignReport& report) {
    const std::string shown = replay::to_hex(key.public_key());
    context.print({{"file", options.output},
                   {"key", shown},
                   {"signatures", json_integer(report.signatures)},
                   {"ticks", json_integer(report.ticks)},
                   {"covered_ticks", json_integer(report.covered_ticks)},
                   {"ends", report.ends},
                   {"bytes", json_integer(report.bytes)},
                   {"chain", to_hex(report.chain)}});
    context.say(fmt::format("{}: {} of {} ticks signed{}, {} signatures added, {} bytes",
                            options.output,
                            report.covered_ticks,
                            report.ticks,
                            report.ends ? ", and the end" : "",
                            report.signatures,
                            report.bytes));
    context.say(fmt::format("key {}", shown));
    return Exit::done;
}

Exit sign(Context& context, const SigningOptions& options) {
    const auto key = replay::SigningKey::read(options.key_file);
    if (!key) {
        return Context::refuse(key.error());
    }
    auto reader = open_reader(options.input);
    if (!reader) {
        return Context::refuse(reader.error());
    }
    Beside beside(options.output);
    auto sink = beside.create();
    if (!sink) {
        return Context::refuse(sink.error());
    }
    replay::SignOptions wanted;
    wanted.every_chunks = options.every_chunks;
    if (options.at) {
        wanted.at = Tick{*options.at};
    }
    const auto report = replay::sign(std::move(*reader), std::move(*sink), *key, wanted);
    if (!report) {
        return Context::refuse(located(report.error(), options.input));
    }
    if (report->signatures == 0) {
        Context::note(
            fmt::format("{}: no chunk has ended: there is nothing to sign", options.input));
        return Exit::nothing_checked;
    }
    if (auto proved = prove(options, beside.path(), *key, *report); !proved) {
        return Context::refuse(proved.error());
    }
    if (auto renamed = beside.rename(); !renamed) {
        return Context::refuse(renamed.error());
    }
    tell(context, options, *key, *report);
    return exit_for_state(options.input, report->state, report->defects);
}

} // namespace

void declare_sign(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "sign",
                                  "Vouch for a recording: a copy with signatures",
                                  "twinstep sign bot.twin -o signed.twin --key-file referee.key");
    auto options = std::make_shared<SigningOptions>();
    verb.add_option("file", options->input, "Recording, open form")->required()->check(not_empty());
    verb.add_option("-o,--output", options->output, "File to create; it must not exist")
        ->required()
        ->check(not_empty());
    verb.add_option("--key-file", options->key_file, "Secret key, as keygen makes it")
        ->required()
        ->check(not_empty());
    CLI::Option* every = verb.add_option("--every",
                                         options->every_chunks,
                                         "Sign also after each N chunks, for files that may be cut")
                             ->transform(whole_number(1, UINT32_MAX));
    verb.add_option(
            "--at", options->at, "Sign only the ticks before tick T, where a chunk must end")
        ->transform(whole_number(1, tick_max))
        ->excludes(every);
    verb.callback(
        [&action, options] { action = [options](Context& c) { return sign(c, *options); }; });
}

} // namespace twinstep::tools
