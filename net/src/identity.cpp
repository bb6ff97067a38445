// SPDX-License-Identifier: MIT
// Digests that both sides compute.
#include "twinstep/net/identity.hpp"

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/hash.hpp"

#include <array>
#include <cstring>
#include <string_view>

namespace twinstep::net {

Hash128 digest_of_build(const Manifest& manifest) {
    Manifest build;
    for (const auto& [key, value] : manifest) {
        const std::string_view name = key;
        if (must_be_equal(name) && !name.starts_with("session.") && !name.starts_with("config.")) {
            build.emplace(key, value);
        }
    }
    Bytes bytes;
    encode_manifest(build, bytes);
    return hash_bytes("twinstep.net.build", Tick{0}, {}, bytes);
}

std::uint64_t next_chain(std::uint64_t chain, Tick tick, const Hash128& state) {
    Hasher hasher;
    return next_chain(hasher, chain, tick, state);
}

std::uint64_t next_chain(Hasher& hasher, std::uint64_t chain, Tick tick, const Hash128& state) {
    std::array<std::byte, 24> bytes;
    const std::array<std::uint64_t, 3> words{chain, state.low, state.high};
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::uint64_t ordered = detail::little_endian(words[i]);
        std::memcpy(bytes.data() + 8 * i, &ordered, sizeof(ordered));
    }
    hasher.begin("twinstep.net.chain", tick, {});
    hasher.update(bytes);
    return hasher.finish().low;
}

} // namespace twinstep::net
