// SPDX-License-Identifier: MIT
// The one place that knows libsodium: the digest of a recording, and what is signed of it.
#pragma once

#include "signature_payload.hpp"

#include "twinstep/replay/reader.hpp"
#include "twinstep/replay/signature.hpp"
#include "twinstep/replay/writer.hpp"

#include <array>
#include <cstddef>
#include <memory>

namespace twinstep::replay {

/// BLAKE2b with 32 bytes of output.
using Digest256 = std::array<std::byte, 32>;

Error no_signatures();

/// BLAKE2b-256 over a recording as far as it has been read or written, in its open form: the head
/// and all records of chunks, of a late start also the keyframe that it begins with, and no other
/// frames. Unlike the chain, nobody can make two recordings with one such digest. Nothing is
/// allocated but on construction. Thread: one owner at a time. Without libsodium it does nothing.
class ContentDigest {
public:
    explicit ContentDigest(const Head& head);
    ContentDigest(ContentDigest&&) noexcept;
    ContentDigest& operator=(ContentDigest&&) noexcept;
    ~ContentDigest();

    /// A record as a reader handed it out.
    void add(const Record& record);
    /// The bytes of a record of a chunk, from its tag to its check.
    void add(ByteView record);
    /// Of all that was added; more may be added afterwards.
    Digest256 value() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The 32 bytes that Ed25519 signs. Requires the bytes of a statement.
Digest256 signature_message(ByteView statement, const Digest256& content);

/// True if `signature` is that of `key` over `message`.
bool is_signed(const std::array<std::byte, signature_bytes>& signature,
               const Digest256& message,
               const PublicKey& key);

/// Writes a signature where `writer`, whose chunks `content` has seen, stands. Requires a chunk
/// before it and none that is open. `payload` keeps its memory from call to call. Errors: the
/// writer's.
Result<void> write_signature(Writer& writer,
                             const ContentDigest& content,
                             const SigningKey& key,
                             SignatureStatement statement,
                             Bytes& payload);

/// What the place where `writer` stands says of a recording up to there.
SignatureStatement statement_at(const Writer& writer, const PublicKey& key);

} // namespace twinstep::replay
