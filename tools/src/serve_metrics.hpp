// SPDX-License-Identifier: MIT
// Prometheus' text format 0.0.4, written by hand: counters, gauges, histograms.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace twinstep::tools {

/// Times in seconds, counted into buckets of 1 ms to 1 s. One writer.
class Histogram {
public:
    static constexpr std::array<std::int64_t, 10> bounds_us{
        1'000, 2'000, 5'000, 10'000, 20'000, 50'000, 100'000, 200'000, 500'000, 1'000'000};

    /// Values below zero count as zero.
    void add(std::int64_t us);

    std::uint64_t count() const { return count_; }

private:
    friend class MetricsText;
    std::array<std::uint64_t, bounds_us.size()> buckets_{}; ///< Not yet summed up.
    std::uint64_t count_ = 0;
    std::int64_t sum_us_ = 0;
};

/// Builds one answer. Each family is opened once, then given its samples.
class MetricsText {
public:
    using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

    void counter(std::string_view name, std::string_view help) { family(name, help, "counter"); }

    void gauge(std::string_view name, std::string_view help) { family(name, help, "gauge"); }

    /// A sample of the family opened last.
    void sample(std::uint64_t value, Labels labels = {});
    void sample(double value, Labels labels = {});

    void histogram(std::string_view name, std::string_view help, const Histogram& histogram);

    const std::string& text() const { return text_; }

private:
    void family(std::string_view name, std::string_view help, std::string_view type);
    void line(std::string_view name, Labels labels, std::string_view value);

    std::string name_;
    std::string text_;
};

/// process_cpu_seconds_total, process_resident_memory_bytes, process_open_fds, where the system
/// says so; elsewhere nothing.
void add_process_metrics(MetricsText& text);

} // namespace twinstep::tools
