// SPDX-License-Identifier: MIT
// What can be wrong with datagrams, handshakes and settings.
#pragma once

#include "twinstep/sim/result.hpp"

#include <system_error>

namespace twinstep::net {

/// Errors of the network module.
enum class NetErrc {
    malformed = 1,        ///< The bytes mean nothing; dropped.
    unknown_frame,        ///< A frame of a type that must be understood and is not.
    limit_exceeded,       ///< A limit of the protocol is exceeded; nothing was allocated for it.
    not_authentic,        ///< The tag does not fit: forged, damaged, or another key.
    replayed,             ///< This sequence was received before, or is too old to tell.
    refused,              ///< The other side refused; `detail` says why.
    bad_setting,          ///< A setting that cannot work; `field` is its key.
    different_simulation, ///< Another simulation; `field` is the key, `detail` both values.
    timed_out,            ///< Nothing was heard for too long.
    closed,               ///< The other side ended the connection; `detail` says why.
    not_built,            ///< This build has no libsodium: only plain connections on loopback.
    io_error,             ///< The system refused; `detail` holds its reason.
    resource_exhausted    ///< A bounded table is full.
};

/// The category of NetErrc.
const std::error_category& net_category() noexcept;
std::error_code make_error_code(NetErrc code) noexcept;

} // namespace twinstep::net

template <>
struct std::is_error_code_enum<twinstep::net::NetErrc> : std::true_type {};
