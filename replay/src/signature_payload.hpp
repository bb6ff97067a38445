// SPDX-License-Identifier: MIT
// The payload of a signature frame, encoded and decoded side by side.
#pragma once

#include "twinstep/replay/signature.hpp"
#include "twinstep/sim/hash.hpp"

namespace twinstep::replay {

inline constexpr std::size_t signature_payload_bytes = 144;
/// Its bytes that are signed: all before the signature.
inline constexpr std::size_t signature_statement_bytes = signature_payload_bytes - signature_bytes;
/// A tag, a length of two bytes, the payload and a check.
inline constexpr std::size_t signature_record_bytes = 1 + 2 + signature_payload_bytes + 4;

/// What is vouched for. The recording's own bytes come to it as a digest, see signature_message().
struct SignatureStatement {
    bool ends = false;        ///< Nothing comes after these ticks but `lost_ticks`.
    std::uint32_t chunks = 0; ///< Chunk ends before the signature, at least 1.
    Tick first;
    std::uint64_t ticks = 0; ///< At least 1.
    std::uint64_t lost_ticks = 0;
    Hash128 chain;
    PublicKey key{};

    bool operator==(const SignatureStatement&) const = default;
};

struct SignaturePayload {
    SignatureStatement statement;
    std::array<std::byte, signature_bytes> signature{};
};

/// Appends the statement's bytes.
void encode_statement(const SignatureStatement& statement, Bytes& target);

/// Errors: corrupt_record, at an offset in the payload; unsupported_version if the version or the
/// algorithm is another one.
Result<SignaturePayload> decode_signature(ByteView payload);

} // namespace twinstep::replay
