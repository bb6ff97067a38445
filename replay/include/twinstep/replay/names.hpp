// SPDX-License-Identifier: MIT
// Names of recordings: made of the time and the session, of nothing that anybody typed.
#pragma once

#include "twinstep/replay/file_sink.hpp"
#include "twinstep/replay/format.hpp"
#include "twinstep/sim/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace twinstep::replay {

/// "20261130T175500Z_0a1b2c3d.twin": the time in UTC and the first eight digits of the session.
/// ASCII, sorted by time, valid on every file system. `unix_seconds` counts from 1970 and is taken
/// as a time of the years 1970 to 9999.
std::string recording_name(std::int64_t unix_seconds, const SessionId& session);

/// A file that was created for a recording.
struct NamedRecording {
    std::string path; ///< UTF-8.
    SessionId session{};
    std::unique_ptr<FileSink> sink;
};

/// Creates a file with such a name in a directory (UTF-8; empty: the current one), never one that
/// exists: if somebody was faster, another session is taken. `sessions` yields session ids; empty:
/// drawn from the system. Errors: io_error; already_exists if eight sessions in a row are taken.
Result<NamedRecording>
create_named_recording(const std::string& directory,
                       std::int64_t unix_seconds,
                       const std::function<Result<SessionId>()>& sessions = {});

} // namespace twinstep::replay
