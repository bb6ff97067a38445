// SPDX-License-Identifier: MIT
// Prometheus' text format 0.0.4, written by hand: counters, gauges, histograms.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace twinstep::tools {

/// Times in seconds, counted into buckets with fixed upper bounds. One writer; nothing is
/// allocated.
class Histogram {
public:
    static constexpr std::size_t buckets_max = 16;
    static constexpr std::array<std::int64_t, 10> bounds_ms{
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};

    Histogram()
        : Histogram(bounds_ms) {}

    /// The bounds live as long as this, rise, and are at most `buckets_max`.
    explicit Histogram(std::span<const std::int64_t> upper_bounds_ms);

    /// Values below zero count as zero, unless the first bound is below zero.
    void add(std::int64_t us);

    std::uint64_t count() const { return count_; }

private:
    friend class MetricsText;
    std::span<const std::int64_t> bounds_ms_;
    std::array<std::uint64_t, buckets_max> buckets_{}; ///< Not yet summed up.
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
