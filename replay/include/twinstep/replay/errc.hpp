// SPDX-License-Identifier: MIT
// What can be wrong with a recording, each verdict its own.
#pragma once

#include "twinstep/sim/result.hpp"

#include <system_error>

namespace twinstep::replay {

/// The verdicts. They never blur: a truncated file is not a version mismatch, a failing disk is not
/// a damaged file.
enum class Errc {
    io_error = 1,            ///< The system refused; `detail` holds its reason.
    already_exists,          ///< The target exists; nothing was written.
    not_a_recording,         ///< The magic is missing: somebody else's file.
    truncated,               ///< The file ends inside the head or a record; what is before is good.
    corrupt_head,            ///< Preamble or manifest fails its check or means nothing.
    corrupt_record,          ///< A record fails its check or means nothing.
    corrupt_chunk,           ///< A chunk end disagrees with the chunk, or a trailer with the file.
    unsupported_version,     ///< Another major version, or an incompatible feature is used.
    incompatible_simulation, ///< Recorded by another simulation; `field` is the key that differs.
    limit_exceeded,          ///< A limit of format.hpp is exceeded; nothing was allocated for it.
    bad_text,                ///< A line of the text form is wrong; `field` is its key.
    recorder_stopped,        ///< Recording has stopped before; ticks are being lost.
    disk_almost_full,        ///< Less room is left on the disk than was to be kept free.
    bad_key,    ///< A key file holds no key of the kind that is asked for, or others may read it.
    wrong_tick, ///< Ticks are not consecutive, or a tick was asked for that has passed.
};

/// The category of Errc.
const std::error_category& replay_category() noexcept;
std::error_code make_error_code(Errc code) noexcept;

} // namespace twinstep::replay

template <>
struct std::is_error_code_enum<twinstep::replay::Errc> : std::true_type {};
