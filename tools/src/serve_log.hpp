// SPDX-License-Identifier: MIT
// The server's structured log: one event a line, safe to show, never flooded.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace twinstep::tools {

enum class LogLevel : std::uint8_t { debug, info, warn, error };

/// Errors: none; an unknown word is info. Settings are checked before.
LogLevel log_level_of(std::string_view word);

/// One detail of an event. The value may be anything, the key is ours.
struct LogField {
    std::string_view key;
    std::string value;
};

/// Writes events as lines. Whatever a value holds, a line stays one line, shows no control or
/// reordering characters and can be taken apart again. The same event more than
/// `events_of_kind_max` times a second is only counted; the count follows in an event "repeated".
/// Thread: any.
class Log {
public:
    using Sink = std::function<void(std::string_view line)>; ///< Gets the line with its '\n'.
    using Clock = std::function<std::int64_t()>;             ///< Unix time in milliseconds.

    static constexpr std::uint64_t events_of_kind_max = 20;
    static constexpr std::size_t value_bytes_max = 1024;

    Log(LogLevel level, bool json, Sink sink, Clock clock);
    /// To standard error, with the system's wall clock.
    static Log to_standard_error(LogLevel level, bool json);

    void write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});

    void debug(std::string_view event, std::initializer_list<LogField> fields = {}) {
        write(LogLevel::debug, event, fields);
    }

    void info(std::string_view event, std::initializer_list<LogField> fields = {}) {
        write(LogLevel::info, event, fields);
    }

    void warn(std::string_view event, std::initializer_list<LogField> fields = {}) {
        write(LogLevel::warn, event, fields);
    }

    void error(std::string_view event, std::initializer_list<LogField> fields = {}) {
        write(LogLevel::error, event, fields);
    }

    /// Writes the counts that are still held back.
    void flush();

private:
    struct Kind {
        std::int64_t second = 0;
        std::uint64_t count = 0;
        std::uint64_t held_back = 0;
    };

    void put(std::int64_t now,
             LogLevel level,
             std::string_view event,
             std::initializer_list<LogField> fields);

    LogLevel level_;
    bool json_;
    Sink sink_;
    Clock clock_;
    std::mutex mutex_;
    std::map<std::string, Kind, std::less<>> kinds_;
};

} // namespace twinstep::tools
