// SPDX-License-Identifier: MIT
// Outcomes as text, JUnit, TAP and GitHub annotations.
#include "verification.hpp"

#include <fmt/format.h>

namespace twinstep::tools {

namespace {

std::string escaped_xml(std::string_view text) {
    std::string out;
    // XML 1.0 has no spelling for control characters, and all of it must be UTF-8.
    for (const char c : printable(text)) {
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            out += c;
        }
    }
    return out;
}

/// GitHub's workflow commands use % as their escape; in a property, : and , end the value.
std::string escaped_github(std::string_view text, bool property) {
    std::string out;
    for (const char c : printable(text)) {
        if (c == '%' || (property && (c == ':' || c == ','))) {
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        } else {
            out += c;
        }
    }
    return out;
}

std::string as_text(const std::vector<Outcome>& outcomes) {
    std::string text;
    for (const Outcome& outcome : outcomes) {
        text += fmt::format("{:<12} {}: {} ticks, {} hashes checked\n",
                            outcome.exit == Exit::done ? "identical" : reason_of(outcome),
                            printable(outcome.path),
                            outcome.ticks,
                            outcome.hashes_checked);
        for (const std::string& remark : outcome.remarks) {
            text += fmt::format("             {}\n", printable(remark));
        }
    }
    return text;
}

std::string as_junit(const std::vector<Outcome>& outcomes) {
    std::size_t failures = 0;
    std::string cases;
    for (const Outcome& outcome : outcomes) {
        cases += fmt::format("  <testcase classname=\"twinstep\" name=\"{}\"",
                             escaped_xml(outcome.path));
        if (outcome.exit == Exit::done) {
            cases += "/>\n";
            continue;
        }
        ++failures;
        cases += fmt::format("><failure message=\"{}\">", reason_of(outcome));
        for (const std::string& remark : outcome.remarks) {
            cases += escaped_xml(remark) + "\n";
        }
        cases += "</failure></testcase>\n";
    }
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuite name=\"twinstep verify\" tests=\"{}\" failures=\"{}\">\n{}</testsuite>\n",
        outcomes.size(),
        failures,
        cases);
}

std::string as_tap(const std::vector<Outcome>& outcomes) {
    std::string text = fmt::format("TAP version 13\n1..{}\n", outcomes.size());
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const Outcome& outcome = outcomes[i];
        text += fmt::format("{} {} - {}\n",
                            outcome.exit == Exit::done ? "ok" : "not ok",
                            i + 1,
                            printable(outcome.path));
        for (const std::string& remark : outcome.remarks) {
            text += fmt::format("# {}\n", printable(remark));
        }
    }
    return text;
}

std::string as_github(const std::vector<Outcome>& outcomes) {
    std::string text;
    for (const Outcome& outcome : outcomes) {
        if (outcome.exit != Exit::done) {
            text += fmt::format(
                "::error file={},title={}::{}\n",
                escaped_github(outcome.path, true),
                reason_of(outcome),
                escaped_github(fmt::format("{}", fmt::join(outcome.remarks, "; ")), false));
        }
    }
    return text;
}

} // namespace

std::string reason_of(const Outcome& outcome) {
    switch (outcome.exit) {
    case Exit::done:
        return "identical";
    case Exit::divergence:
        return "DIVERGES";
    case Exit::incompatible:
        return "incompatible";
    case Exit::loss:
        return replay::to_string(outcome.state);
    case Exit::nothing_checked:
        return "unchecked";
    case Exit::failed:
    case Exit::usage:
        break;
    }
    return "failed";
}

std::string format_report(const std::vector<Outcome>& outcomes, std::string_view format) {
    if (format == "junit") {
        return as_junit(outcomes);
    }
    if (format == "tap") {
        return as_tap(outcomes);
    }
    if (format == "github") {
        return as_github(outcomes);
    }
    return as_text(outcomes);
}

} // namespace twinstep::tools
