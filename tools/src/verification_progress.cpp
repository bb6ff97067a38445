// SPDX-License-Identifier: MIT
// How far a verification is: files by their bytes, their parts by their ticks.
#include "verification_progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

namespace twinstep::tools {

namespace {

bool on_a_terminal() {
#if defined(_WIN32)
    return _isatty(_fileno(stderr)) != 0;
#else
    return isatty(STDERR_FILENO) != 0;
#endif
}

/// From 0 to 1. A total that is not known yet, or was passed, tells nothing beyond its bounds.
double part_done(const FileProgress& file) {
    if (file.finished) {
        return 1.0;
    }
    const auto total = static_cast<double>(file.ticks_total.load());
    return total == 0.0 ? 0.0 : std::min(static_cast<double>(file.ticks.load()) / total, 1.0);
}

} // namespace

std::string progress_line(const std::deque<FileProgress>& files, double seconds) {
    double bytes_total = 0.0;
    double bytes_done = 0.0;
    double ticks = 0.0;
    std::size_t finished = 0;
    for (const FileProgress& file : files) {
        const double bytes = static_cast<double>(std::max<std::uint64_t>(file.bytes, 1));
        bytes_total += bytes;
        bytes_done += bytes * part_done(file);
        ticks += static_cast<double>(file.ticks.load());
        finished += file.finished ? 1U : 0U;
    }
    const std::string left =
        bytes_done == 0.0
            ? "time left unknown"
            : fmt::format("{:.0f} s left", seconds * (bytes_total - bytes_done) / bytes_done);
    return fmt::format("{}/{} files, {:.0f}%, {:.0f} ticks/s, {}",
                       finished,
                       files.size(),
                       bytes_total == 0.0 ? 100.0 : 100.0 * bytes_done / bytes_total,
                       ticks / std::max(seconds, 1e-9),
                       left);
}

ProgressBar::ProgressBar()
    : visible_(on_a_terminal()) {}

void ProgressBar::draw(const std::deque<FileProgress>& files) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    if (!visible_ || elapsed.count() < 1.0) {
        return;
    }
    drawn_ = true;
    fmt::print(stderr, "\r{:<70}", progress_line(files, elapsed.count()));
}

void ProgressBar::finish() const {
    if (drawn_) {
        fmt::print(stderr, "\r{:70}\r", "");
    }
}

} // namespace twinstep::tools
