// SPDX-License-Identifier: MIT
// What both sides must agree on: the digest of a build, and the chain of state hashes.
#pragma once

#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/manifest.hpp"
#include "twinstep/sim/types.hpp"

#include <cstdint>

namespace twinstep::net {

/// Digest of the manifest keys that name the build rather than the session: "sim.", "input.",
/// "state.", "hash.", "random." and "float." keys that must be equal. Builds with equal digests may
/// play together; with unequal ones, incompatibilities() names the key. Determinism: pure.
Hash128 digest_of_build(const Manifest& manifest);

/// The hash chain at state T from the chain at state T-1: a report of it vouches for every state up
/// to T, so a lost report loses nothing. The chain at state 0 is 0. Determinism: pure.
std::uint64_t next_chain(std::uint64_t chain, Tick tick, const Hash128& state);
/// The same with a hasher that is kept: nothing is allocated.
std::uint64_t next_chain(Hasher& hasher, std::uint64_t chain, Tick tick, const Hash128& state);

} // namespace twinstep::net
