// SPDX-License-Identifier: MIT
// The text format: https://prometheus.io/docs/instrumenting/exposition_formats/
#include "serve_metrics.hpp"

#include "twinstep/sim/assert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <vector>

#if defined(__linux__)
#include <unistd.h>
#endif

namespace twinstep::tools {

Histogram::Histogram(std::span<const std::int64_t> upper_bounds_ms)
    : bounds_ms_(upper_bounds_ms) {
    TWINSTEP_ASSERT(!bounds_ms_.empty());
    TWINSTEP_ASSERT(bounds_ms_.size() <= buckets_max);
}

void Histogram::add(std::int64_t us) {
    us = std::max(us, bounds_ms_.front() < 0 ? us : 0);
    for (std::size_t i = 0; i < bounds_ms_.size(); ++i) {
        if (us <= bounds_ms_[i] * 1000) {
            ++buckets_[i];
            break;
        }
    }
    ++count_;
    sum_us_ += us;
}

void MetricsText::family(std::string_view name, std::string_view help, std::string_view type) {
    name_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void MetricsText::line(std::string_view name, Labels labels, std::string_view value) {
    text_ += name;
    bool first = true;
    for (const auto& [key, content] : labels) {
        text_ += fmt::format("{}{}=\"", first ? "{" : ",", key);
        for (const char letter : content) {
            text_ += letter == '\n' ? "\\n" : letter == '"' ? "\\\"" : letter == '\\' ? "\\\\" : "";
            if (letter != '\n' && letter != '"' && letter != '\\') {
                text_ += letter;
            }
        }
        text_ += '"';
        first = false;
    }
    text_ += fmt::format("{} {}\n", first ? "" : "}", value);
}

void MetricsText::sample(std::uint64_t value, Labels labels) {
    line(name_, labels, std::to_string(value));
}

void MetricsText::sample(double value, Labels labels) {
    line(name_, labels, fmt::format("{}", value));
}

void MetricsText::histogram(std::string_view name,
                            std::string_view help,
                            const Histogram& histogram) {
    family(name, help, "histogram");
    const std::string bucket = fmt::format("{}_bucket", name);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < histogram.bounds_ms_.size(); ++i) {
        below += histogram.buckets_[i];
        const std::string bound =
            fmt::format("{}", static_cast<double>(histogram.bounds_ms_[i]) / 1e3);
        line(bucket, {{"le", bound}}, std::to_string(below));
    }
    line(bucket, {{"le", "+Inf"}}, std::to_string(histogram.count_));
    line(fmt::format("{}_sum", name),
         {},
         fmt::format("{}", static_cast<double>(histogram.sum_us_) / 1e6));
    line(fmt::format("{}_count", name), {}, std::to_string(histogram.count_));
}

void add_process_metrics(MetricsText& text) {
#if defined(__linux__)
    // proc(5): the name in parentheses may hold anything, so fields are counted from the last one.
    std::ifstream file("/proc/self/stat");
    std::string content((std::istreambuf_iterator<char>(file)), {});
    const std::size_t name_end = content.rfind(')');
    std::istringstream rest(name_end == std::string::npos ? "" : content.substr(name_end + 1));
    const std::vector<std::string> fields((std::istream_iterator<std::string>(rest)), {});
    constexpr std::size_t utime = 11; // Field 14, counted from the state, which is field 3.
    constexpr std::size_t rss = 21;   // Field 24.
    if (fields.size() > rss) {
        const auto ticks = std::stoull(fields[utime]) + std::stoull(fields[utime + 1]);
        text.counter("process_cpu_seconds_total", "Processor time in user and system mode.");
        text.sample(static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK)));
        text.gauge("process_resident_memory_bytes", "Resident memory.");
        text.sample(std::uint64_t{std::stoull(fields[rss])} *
                    static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
    }
    std::error_code error;
    std::uint64_t open = 0;
    for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end;
         !error && entry != end;
         entry.increment(error)) {
        ++open;
    }
    if (open != 0) {
        text.gauge("process_open_fds", "Open file descriptors.");
        text.sample(open - 1); // The one of the directory itself is closed again.
    }
#else
    static_cast<void>(text);
#endif
}

} // namespace twinstep::tools
