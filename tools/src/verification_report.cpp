// SPDX-License-Identifier: MIT
// Outcomes as text, JUnit, TAP and GitHub annotations.
#include "verification.hpp"

#include <fmt/format.h>

namespace twinstep::tools {

namespace {

std::string escaped_xml(std::string_view text) {
    std::string out;
    for (const char c : text) {
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
            // XML 1.0 has no spelling for the other control characters.
            out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
    }
    return out;
}

/// GitHub's workflow commands end at a line end and use % as their escape.
std::string escaped_github(std::string_view text) {
    std::string out;
    for (const char c : text) {
        out += c == '%' ? "%25" : c == '\n' ? "%0A" : c == '\r' ? "%0D" : std::string(1, c);
    }
    return out;
}

std::string as_text(const std::vector<Outcome>& outcomes) {
    std::string text;
    for (const Outcome& outcome : outcomes) {
        text += fmt::format("{:<12} {}: {} ticks, {} hashes checked\n",
                            outcome.exit == Exit::done ? "identical" : reason_of(outcome),
                            outcome.path,
                            outcome.ticks,
                            outcome.hashes_checked);
        for (const std::string& remark : outcome.remarks) {
            text += fmt::format("             {}\n", remark);
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
        text += fmt::format(
            "{} {} - {}\n", outcome.exit == Exit::done ? "ok" : "not ok", i + 1, outcome.path);
        for (const std::string& remark : outcome.remarks) {
            text += fmt::format("# {}\n", remark);
        }
    }
    return text;
}

std::string as_github(const std::vector<Outcome>& outcomes) {
    std::string text;
    for (const Outcome& outcome : outcomes) {
        if (outcome.exit != Exit::done) {
            text +=
                fmt::format("::error file={},title={}::{}\n",
                            escaped_github(outcome.path),
                            reason_of(outcome),
                            escaped_github(fmt::format("{}", fmt::join(outcome.remarks, "; "))));
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
