// SPDX-License-Identifier: MIT
// twinstep check-signature: which ticks of a recording the owner of a key vouches for.
#include "command.hpp"
#include "options.hpp"
#include "recordings.hpp"

#include "twinstep/replay/signature.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

namespace twinstep::tools {

namespace {

struct CheckSignatureOptions {
    std::string input;
    std::string key_file;
};

Json claims_json(const replay::SignatureReport& report) {
    Json list = Json::array();
    for (const replay::SignatureClaim& claim : report.claims) {
        Json entry{{"verdict", replay::to_string(claim.verdict)},
                   {"offset", json_integer(claim.offset)}};
        if (claim.verdict != replay::SignatureVerdict::unknown) {
            entry["key"] = replay::to_hex(claim.key);
            entry["first"] = json_integer(claim.first.value);
            entry["ticks"] = json_integer(claim.ticks);
            entry["chunks"] = claim.chunks;
            entry["ends"] = claim.ends;
        }
        list.push_back(std::move(entry));
    }
    return list;
}

/// "tick 5 to tick 9", or "no tick".
std::string span(Tick first, std::uint64_t ticks) {
    return ticks == 0 ? std::string("no tick")
                      : fmt::format("tick {} to tick {}", first.value, first.value + ticks - 1);
}

/// Why the key's owner vouches for nothing; empty: he does for something.
std::string refusal(const replay::SignatureReport& report) {
    if (report.invalid > 0) {
        return "a signature of this key does not hold: the recording was changed, or the signature "
               "is another one's; get the file from its author";
    }
    if (report.valid == 0) {
        return report.others == 0
                   ? "not signed by this key, nor by any other; get a signed file from its author"
                   : fmt::format("not signed by this key; signatures of others or unknown form: {}",
                                 report.others);
    }
    if (report.continued) {
        return "ticks or a loss follow the end that was signed: they were added later";
    }
    return {};
}

/// Done only if every tick and the end are vouched for.
Exit judge(const std::string& path, const replay::SignatureReport& report) {
    if (const std::string why = refusal(report); !why.empty()) {
        Context::note(fmt::format("{}: {}", path, why));
        return Exit::failed;
    }
    Exit whole = exit_for_state(path, report.state, report.defects);
    if (report.loss) {
        Context::note(fmt::format("{}: {}", path, loss_line(*report.loss)));
        whole = Exit::loss;
    }
    if (report.covered_ticks < report.ticks) {
        Context::note(fmt::format(
            "{}: not covered: {}",
            path,
            span(report.first + report.covered_ticks, report.ticks - report.covered_ticks)));
        return Exit::loss;
    }
    if (!report.ends) {
        Context::note(fmt::format(
            "{}: nobody vouches that the recording ends at tick {}: it may have been cut there",
            path,
            report.first.value + report.ticks));
        return Exit::loss;
    }
    return whole;
}

Exit check_signature(Context& context, const CheckSignatureOptions& options) {
    const auto key = replay::read_public_key(options.key_file);
    if (!key) {
        return Context::refuse(key.error());
    }
    if (auto regular = check_regular(options.input); !regular) {
        return Context::refuse(regular.error());
    }
    // What stands before a defect may still be signed.
    auto reader = replay::Reader::open(options.input, replay::ReadMode::prefix);
    if (!reader) {
        return Context::refuse(reader.error());
    }
    const auto report = replay::check_signatures(std::move(*reader), *key);
    if (!report) {
        return Context::refuse(located(report.error(), options.input));
    }
    const std::string shown = replay::to_hex(*key);
    context.print({{"file", options.input},
                   {"key", shown},
                   {"covers_all", report->covers_all()},
                   {"first", json_integer(report->first.value)},
                   {"ticks", json_integer(report->ticks)},
                   {"covered_ticks", json_integer(report->covered_ticks)},
                   {"ends", report->ends},
                   {"lost_ticks", json_integer(report->loss ? report->loss->ticks : 0)},
                   {"state", to_string(report->state)},
                   {"valid", json_integer(report->valid)},
                   {"invalid", json_integer(report->invalid)},
                   {"others", json_integer(report->others)},
                   {"signatures", claims_json(*report)}});
    if (refusal(*report).empty()) {
        context.say(fmt::format("{}: {} signed{} by {}",
                                options.input,
                                span(report->first, report->covered_ticks),
                                report->ends ? ", and the end," : "",
                                shown));
    }
    return judge(options.input, *report);
}

} // namespace

void declare_check_signature(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb =
        declare_verb(app,
                     context,
                     "check-signature",
                     "Which ticks of a recording the owner of a key vouches for",
                     "twinstep check-signature signed.twin --key-file referee.key.pub");
    auto options = std::make_shared<CheckSignatureOptions>();
    verb.add_option("file", options->input, "Recording, in either form")
        ->required()
        ->check(not_empty());
    verb.add_option("--key-file", options->key_file, "Public key, as keygen makes it")
        ->required()
        ->check(not_empty());
    verb.callback([&action, options] {
        action = [options](Context& c) { return check_signature(c, *options); };
    });
}

} // namespace twinstep::tools
