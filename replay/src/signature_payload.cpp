// SPDX-License-Identifier: MIT
// The payload of a signature frame: one encoding, 144 bytes.
#include "signature_payload.hpp"

#include "layout.hpp"

#include "twinstep/replay/errc.hpp"

#include <algorithm>

namespace twinstep::replay {

namespace {

constexpr std::uint8_t signature_version = 1;
constexpr std::uint8_t ed25519_over_blake2b = 1;

} // namespace

void encode_statement(const SignatureStatement& statement, Bytes& target) {
    ByteWriter writer(target);
    writer.u8(signature_version);
    writer.u8(ed25519_over_blake2b);
    writer.u8(statement.ends ? 1 : 0);
    writer.u8(0);
    writer.u32(statement.chunks);
    writer.u64(statement.first.value);
    writer.u64(statement.ticks);
    writer.u64(statement.lost_ticks);
    encode_hash(statement.chain, target);
    writer.bytes(statement.key);
}

Result<SignaturePayload> decode_signature(ByteView payload) {
    ByteReader reader(payload);
    SignaturePayload decoded;
    SignatureStatement& statement = decoded.statement;
    const std::uint8_t version = reader.u8("signature.version");
    const std::uint8_t algorithm = reader.u8("signature.algorithm");
    if (reader.ok() && (version != signature_version || algorithm != ed25519_over_blake2b)) {
        return fail(Error(Errc::unsupported_version, "signature.version").at(0));
    }
    const std::uint8_t ends = reader.u8("signature.ends");
    const std::uint8_t reserved = reader.u8("signature.reserved");
    statement.chunks = reader.u32("signature.chunks");
    statement.first = Tick{reader.u64("signature.first")};
    statement.ticks = reader.u64("signature.ticks");
    statement.lost_ticks = reader.u64("signature.lost");
    statement.chain.low = reader.u64("signature.chain");
    statement.chain.high = reader.u64("signature.chain");
    const ByteView key = reader.bytes(public_key_bytes, "signature.key");
    const ByteView signature = reader.bytes(signature_bytes, "signature");
    reader.finish("signature");
    if (!reader.ok()) {
        return fail(as(Errc::corrupt_record, reader.error()));
    }
    const bool one_form = ends <= 1 && reserved == 0 && (ends == 1 || statement.lost_ticks == 0);
    if (!one_form || statement.chunks == 0 || statement.ticks == 0) {
        return fail(Error(Errc::corrupt_record, "signature.ends").at(2));
    }
    statement.ends = ends == 1;
    std::copy(key.begin(), key.end(), statement.key.begin());
    std::copy(signature.begin(), signature.end(), decoded.signature.begin());
    return decoded;
}

} // namespace twinstep::replay
