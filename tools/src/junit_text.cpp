// SPDX-License-Identifier: MIT
// JUnit reports: one writer, and a reader that takes exactly what it writes.
#include "junit_text.hpp"

#include "twinstep/replay/errc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace twinstep::tools {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> xml_entities{
    {{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}}};

/// Text on one line, as XML 1.0 has it: no control characters, and all of it UTF-8.
std::string escaped_xml(std::string_view text) {
    const std::string shown = printable(text);
    std::string out;
    for (std::string_view rest = shown; !rest.empty();) {
        const auto* const entity =
            std::find_if(xml_entities.begin(), xml_entities.end(), [&rest](const auto& one) {
                return rest.starts_with(one.second);
            });
        if (entity != xml_entities.end()) {
            out += entity->first;
            rest.remove_prefix(1);
        } else if (rest.starts_with("\xef\xbf\xbe") || rest.starts_with("\xef\xbf\xbf")) {
            // The two characters of its plane that are none.
            out += rest[2] == '\xbe' ? "\\ufffe" : "\\uffff";
            rest.remove_prefix(3);
        } else {
            out += rest.front();
            rest.remove_prefix(1);
        }
    }
    return out;
}

std::string escaped_lines(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        out += escaped_xml(line) + "\n";
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    return out;
}

/// Reads the text from left to right; the first thing that is not as expected ends it.
class JunitParser {
public:
    explicit JunitParser(std::string_view text)
        : text_(text) {}

    Result<JunitReport> parse();

private:
    bool take(std::string_view literal) {
        if (!text_.substr(at_).starts_with(literal)) {
            return false;
        }
        at_ += literal.size();
        return true;
    }

    void expect(std::string_view literal) { good_ = good_ && take(literal); }

    std::string text_to(std::string_view end);
    std::uint64_t number_to(std::string_view end);
    std::uint64_t number_property(std::string_view name);
    JunitCase one_case();

    std::string_view text_;
    std::size_t at_ = 0;
    bool good_ = true;
};

/// What stands before `end`, without its escapes; control characters but new lines are refused.
std::string JunitParser::text_to(std::string_view end) {
    std::string out;
    while (good_ && !take(end)) {
        const auto* const entity =
            std::find_if(xml_entities.begin(), xml_entities.end(), [this](const auto& one) {
                return text_.substr(at_).starts_with(one.first);
            });
        if (entity != xml_entities.end()) {
            out += entity->second;
            at_ += entity->first.size();
            continue;
        }
        const char c = at_ < text_.size() ? text_[at_] : '\0';
        const bool in_attribute = end.front() == '"';
        good_ = c != '&' && c != '<' && c != '"' &&
                ((c == '\n' && !in_attribute) || static_cast<unsigned char>(c) >= 0x20);
        out += c;
        ++at_;
    }
    return out;
}

std::uint64_t JunitParser::number_to(std::string_view end) {
    const std::string digits = text_to(end);
    std::uint64_t value = 0;
    const char* const last = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), last, value);
    good_ = good_ && error == std::errc{} && stop == last;
    return value;
}

std::uint64_t JunitParser::number_property(std::string_view name) {
    expect(fmt::format("    <property name=\"twinstep.{}\" value=\"", name));
    return number_to("\"/>\n");
}

JunitCase JunitParser::one_case() {
    JunitCase one;
    one.name = text_to("\"");
    if (take("/>\n")) {
        return one;
    }
    expect("><failure type=\"");
    one.verdict = text_to("\"");
    good_ = good_ && !one.verdict.empty();
    expect(" message=\"");
    one.message = text_to("\">");
    one.text = text_to("</failure></testcase>\n");
    return one;
}

Result<JunitReport> JunitParser::parse() {
    JunitReport report;
    expect("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    expect("<testsuite name=\"twinstep verify\" tests=\"");
    const std::uint64_t tests = number_to("\"");
    expect(" failures=\"");
    const std::uint64_t failures = number_to("\"");
    expect(" errors=\"0\" skipped=\"0\">\n  <properties>\n");
    report.shard.index = static_cast<std::size_t>(number_property("shard.index"));
    report.shard.count = static_cast<std::size_t>(number_property("shard.count"));
    report.shard.files = static_cast<std::size_t>(number_property("shard.files"));
    expect("    <property name=\"twinstep.shard.list\" value=\"");
    report.shard.list = text_to("\"/>\n");
    const std::uint64_t exit = number_property("exit");
    report.ticks = number_property("ticks");
    report.hashes_checked = number_property("hashes_checked");
    expect("  </properties>\n");
    std::uint64_t failed = 0;
    while (good_ && take("  <testcase classname=\"twinstep\" name=\"")) {
        failed += report.cases.emplace_back(one_case()).verdict.empty() ? 0U : 1U;
    }
    expect("</testsuite>\n");
    if (!good_ || at_ != text_.size()) {
        return fail(Error(replay::Errc::bad_text, "junit", "not as verify --report junit wrote it")
                        .at(std::min(at_, text_.size())));
    }
    constexpr std::uint64_t exit_max = 6;
    if (tests != report.cases.size() || failures != failed || exit > exit_max) {
        return fail(Error(replay::Errc::bad_text, "testsuite", "its numbers are not its cases'"));
    }
    report.exit = static_cast<int>(exit);
    return report;
}

} // namespace

std::string junit_text(const JunitReport& report) {
    std::string cases;
    std::size_t failures = 0;
    for (const JunitCase& one : report.cases) {
        cases +=
            fmt::format("  <testcase classname=\"twinstep\" name=\"{}\"", escaped_xml(one.name));
        if (one.verdict.empty()) {
            cases += "/>\n";
            continue;
        }
        ++failures;
        cases += fmt::format("><failure type=\"{}\" message=\"{}\">{}</failure></testcase>\n",
                             escaped_xml(one.verdict),
                             escaped_xml(one.message),
                             escaped_lines(one.text));
    }
    std::string text = fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                   "<testsuite name=\"twinstep verify\" tests=\"{}\" "
                                   "failures=\"{}\" errors=\"0\" skipped=\"0\">\n  <properties>\n",
                                   report.cases.size(),
                                   failures);
    const auto property = [&text](std::string_view name, const auto& value) {
        text += fmt::format("    <property name=\"twinstep.{}\" value=\"{}\"/>\n", name, value);
    };
    property("shard.index", report.shard.index);
    property("shard.count", report.shard.count);
    property("shard.files", report.shard.files);
    property("shard.list", escaped_xml(report.shard.list));
    property("exit", report.exit);
    property("ticks", report.ticks);
    property("hashes_checked", report.hashes_checked);
    return text + "  </properties>\n" + cases + "</testsuite>\n";
}

Result<JunitReport> parse_junit(std::string_view text) {
    return JunitParser(text).parse();
}

} // namespace twinstep::tools
