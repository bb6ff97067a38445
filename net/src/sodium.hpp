// SPDX-License-Identifier: MIT
// libsodium where this build has it, and bytes in the form it takes them.
#pragma once

#include "twinstep/net/errc.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <cstddef>
#include <span>

#if TWINSTEP_NET_CRYPTO
#include <sodium.h>
#endif

namespace twinstep::net {

#if TWINSTEP_NET_CRYPTO

/// Without it libsodium works, but with its slowest implementations. Thread: any.
inline void ensure_sodium() {
    static const int ready = sodium_init();
    static_cast<void>(ready);
}

inline const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}

inline unsigned char* raw(std::byte* bytes) {
    return reinterpret_cast<unsigned char*>(bytes);
}

#endif

/// What every function answers that needs libsodium and does not have it.
inline tl::unexpected<Error> no_crypto() {
    return fail(Error(make_error_code(NetErrc::not_built)));
}

/// Overwrites secrets in a way no optimiser leaves out.
void wipe(std::span<std::byte> secret);

} // namespace twinstep::net
