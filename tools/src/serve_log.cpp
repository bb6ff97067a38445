// SPDX-License-Identifier: MIT
// Lines of the log: escaping, time stamps, holding back what repeats.
#include "serve_log.hpp"

#include "command.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <utility>

namespace twinstep::tools {

namespace {

constexpr std::size_t kinds_max = 256;

std::string_view word_of(LogLevel level) {
    switch (level) {
    case LogLevel::debug:
        return "debug";
    case LogLevel::info:
        return "info";
    case LogLevel::warn:
        return "warn";
    case LogLevel::error:
        return "error";
    }
    return "info";
}

std::string stamp(std::int64_t unix_ms) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                       fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)),
                       unix_ms % 1000);
}

/// Cut, so that nobody fills the disk with one value.
std::string bounded(std::string value) {
    if (value.size() > Log::value_bytes_max) {
        value.resize(Log::value_bytes_max);
        value += "...";
    }
    return value;
}

/// Bare if it is a plain word, otherwise quoted; quotes and backslashes are escaped.
std::string text_value(const std::string& value) {
    const std::string safe = printable(value);
    const bool plain = !safe.empty() && safe == value &&
                       safe.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789_-.:/+[]") == std::string::npos;
    if (plain) {
        return safe;
    }
    std::string quoted = "\"";
    for (const char letter : safe) {
        // printable() has spelt bad bytes with a backslash already; doubling it would only make the
        // text harder to read, and a name's own backslash cannot end the quotes.
        quoted += letter == '"' ? "\\" : "";
        quoted += letter;
    }
    if (quoted.ends_with('\\')) {
        quoted += '\\';
    }
    return quoted + "\"";
}

} // namespace

LogLevel log_level_of(std::string_view word) {
    for (const LogLevel level : {LogLevel::debug, LogLevel::warn, LogLevel::error}) {
        if (word == word_of(level)) {
            return level;
        }
    }
    return LogLevel::info;
}

Log::Log(LogLevel level, bool json, Sink sink, Clock clock)
    : level_(level)
    , json_(json)
    , sink_(std::move(sink))
    , clock_(std::move(clock)) {}

Log Log::to_standard_error(LogLevel level, bool json) {
    return Log(
        level,
        json,
        [](std::string_view line) { std::fwrite(line.data(), 1, line.size(), stderr); },
        [] {
            const auto since = std::chrono::system_clock::now().time_since_epoch();
            return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
        });
}

void Log::put(std::int64_t now,
              LogLevel level,
              std::string_view event,
              std::initializer_list<LogField> fields) {
    if (json_) {
        Json object{{"time", stamp(now)}, {"level", word_of(level)}, {"event", event}};
        for (const LogField& field : fields) {
            object[std::string(field.key)] = bounded(field.value);
        }
        sink_(to_text(object, -1) + "\n");
        return;
    }
    std::string line = fmt::format("{} {} {}", stamp(now), word_of(level), event);
    for (const LogField& field : fields) {
        line += fmt::format(" {}={}", field.key, text_value(bounded(field.value)));
    }
    sink_(line + "\n");
}

void Log::write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
    if (level < level_) {
        return;
    }
    const std::lock_guard lock(mutex_);
    const std::int64_t now = clock_();
    auto found = kinds_.find(event);
    if (found == kinds_.end()) {
        if (kinds_.size() == kinds_max) {
            kinds_.clear();
        }
        found = kinds_.emplace(event, Kind{}).first;
    }
    Kind& kind = found->second;
    if (kind.second != now / 1000) {
        if (kind.held_back != 0) {
            put(now,
                level,
                "repeated",
                {{"of", std::string(event)}, {"times", std::to_string(kind.held_back)}});
        }
        kind = {now / 1000, 0, 0};
    }
    if (++kind.count > events_of_kind_max && level != LogLevel::error) {
        ++kind.held_back;
        return;
    }
    put(now, level, event, fields);
}

void Log::flush() {
    const std::lock_guard lock(mutex_);
    for (auto& [event, kind] : kinds_) {
        if (kind.held_back != 0) {
            put(clock_(),
                LogLevel::info,
                "repeated",
                {{"of", event}, {"times", std::to_string(kind.held_back)}});
            kind.held_back = 0;
        }
    }
}

} // namespace twinstep::tools
