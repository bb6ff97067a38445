// SPDX-License-Identifier: MIT
// Dates without a clock or a locale, and exclusive creation.
#include "twinstep/replay/names.hpp"

#include "path.hpp"

#include "twinstep/replay/errc.hpp"

#include <algorithm>

namespace twinstep::replay {

namespace {

constexpr int name_tries_max = 8;
constexpr std::size_t session_digits = 8;

void put_digits(std::string& text, std::int64_t value, int digits) {
    std::string number(static_cast<std::size_t>(digits), '0');
    for (auto digit = number.rbegin(); digit != number.rend(); ++digit) {
        *digit = static_cast<char>('0' + value % 10);
        value /= 10;
    }
    text += number;
}

/// Year, month and day as one number, 20261130. Source: Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", civil_from_days.
std::int64_t civil_date(std::int64_t days) {
    days += 719'468;
    const std::int64_t era = days / 146'097;
    const std::int64_t day_of_era = days - era * 146'097;
    const std::int64_t year_of_era =
        (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
    const std::int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
    const std::int64_t day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    const std::int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
    const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
    return (year * 100 + month) * 100 + day;
}

} // namespace

std::string recording_name(std::int64_t unix_seconds, const SessionId& session) {
    constexpr std::int64_t last_second = 253'402'300'799; // of the year 9999
    unix_seconds = std::clamp<std::int64_t>(unix_seconds, 0, last_second);
    constexpr std::int64_t day_seconds = 86'400;
    const std::int64_t second = unix_seconds % day_seconds;
    std::string name;
    put_digits(name, civil_date(unix_seconds / day_seconds), 8);
    name += 'T';
    put_digits(name, second / 3600, 2);
    put_digits(name, second / 60 % 60, 2);
    put_digits(name, second % 60, 2);
    return name + "Z_" + to_hex(session).substr(0, session_digits) + ".twin";
}

Result<NamedRecording> create_named_recording(const std::string& directory,
                                              std::int64_t unix_seconds,
                                              const std::function<Result<SessionId>()>& sessions) {
    Error taken;
    for (int tries = 0; tries < name_tries_max; ++tries) {
        const Result<SessionId> session = sessions ? sessions() : make_session_id();
        if (!session) {
            return fail(session.error());
        }
        const std::filesystem::path path =
            native_path(directory) / recording_name(unix_seconds, *session);
        const std::u8string text = path.u8string();
        NamedRecording made{std::string(text.begin(), text.end()), *session, nullptr};
        Result<std::unique_ptr<FileSink>> sink = create_file(made.path);
        if (sink) {
            made.sink = std::move(*sink);
            return made;
        }
        taken = sink.error();
        if (taken.code != Errc::already_exists) {
            break;
        }
    }
    return fail(std::move(taken));
}

} // namespace twinstep::replay
