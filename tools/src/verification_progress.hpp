// SPDX-License-Identifier: MIT
// How far a verification is, and the bar that shows it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

namespace twinstep::tools {

/// How far one file is. Written by the threads that verify it.
struct FileProgress {
    std::atomic<std::uint64_t> ticks{0};       ///< Steps so far.
    std::atomic<std::uint64_t> ticks_total{0}; ///< Steps there will be; 0: not known yet.
    std::atomic<bool> finished{false};
    std::uint64_t bytes = 0;   ///< Of the file: its share of the whole while its ticks are unknown.
    bool total_wanted = false; ///< Somebody looks, so that finding out the total is worth a pass.
};

/// "3/16 files, 120000 ticks/s, 42 s left". Files count by their bytes, their parts by their ticks.
std::string progress_line(const std::deque<FileProgress>& files, double seconds);

/// A bar on standard error, on a terminal only, and only for work longer than a second.
class ProgressBar {
public:
    ProgressBar();

    bool is_visible() const { return visible_; }

    void draw(const std::deque<FileProgress>& files);
    void finish() const;

private:
    bool visible_;
    bool drawn_ = false;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace twinstep::tools
