// SPDX-License-Identifier: MIT
// Signatures: who vouches for which ticks of a recording. What they do not prove:
// docs/recording-format.md.
#pragma once

#include "twinstep/replay/file_sink.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace twinstep::replay {

inline constexpr std::size_t public_key_bytes = 32;
inline constexpr std::size_t secret_seed_bytes = 32;
inline constexpr std::size_t signature_bytes = 64;

/// Of Ed25519. It is its own fingerprint: 64 hexadecimal digits.
using PublicKey = std::array<std::byte, public_key_bytes>;

/// True if this build has libsodium; without it nothing is signed and no signature is checked.
bool has_signatures();

/// An Ed25519 key that signs. Its memory is wiped when it goes. Thread: any.
class SigningKey {
public:
    /// A fresh key from the system's random numbers; `seed` receives the secret it is made of, the
    /// caller's to wipe. Errors: unsupported_version without libsodium.
    static Result<SigningKey> generate(std::span<std::byte, secret_seed_bytes> seed);
    /// The key that RFC 8032 makes of 32 secret bytes, which stay the caller's to wipe. Errors:
    /// unsupported_version without libsodium.
    static Result<SigningKey> from_seed(std::span<const std::byte, secret_seed_bytes> seed);
    /// Reads a secret key's file (UTF-8 path). Errors: bad_key (not one line with a secret key, or
    /// others may read the file), io_error, unsupported_version without libsodium.
    static Result<SigningKey> read(const std::string& path);

    SigningKey(SigningKey&&) noexcept;
    SigningKey& operator=(SigningKey&&) noexcept;
    ~SigningKey();

    const PublicKey& public_key() const;
    /// Signs as RFC 8032 says; one message has one signature.
    std::array<std::byte, signature_bytes> sign(ByteView message) const;

private:
    struct Impl;
    explicit SigningKey(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Makes a key and writes it to `path`, for the owner's eyes alone, and its public half to
/// `path`.pub, each one line of text. Errors: already_exists, io_error, unsupported_version without
/// libsodium; then neither file is left behind.
Result<PublicKey> create_key_files(const std::string& path);

/// Reads a public key's file (UTF-8 path). Errors: bad_key, io_error.
Result<PublicKey> read_public_key(const std::string& path);

/// Which chunk boundaries are signed; the last one always, unless `at` says otherwise.
struct SignOptions {
    std::uint64_t every_chunks = 0; ///< Also after each so many chunks; 0: none.
    std::optional<Tick> at;         ///< Only the boundary before this tick.
};

/// What was signed.
struct SignReport {
    std::uint64_t signatures = 0;    ///< Added; 0 if no chunk has ended.
    std::uint64_t ticks = 0;         ///< In the file.
    std::uint64_t covered_ticks = 0; ///< By the last signature that was added.
    std::uint64_t bytes = 0;         ///< Of the file that was written.
    bool ends = false;               ///< The last one also says that the recording ends there.
    Hash128 chain;
    FileState state = FileState::open; ///< Of the file that was read.
    std::vector<Defect> defects;       ///< In it.
};

/// Copies what `reader`, which stands at its beginning, reads, with signatures at chunk boundaries.
/// Frames that are there stay. Whatever the reader's mode does not forgive is an error; the sink
/// then holds a prefix that is of no use. Errors: the reader's; unsupported_version (packed, of
/// version 1.0, no libsodium); wrong_tick, with the nearest boundaries, if none is before
/// SignOptions::at; io_error.
Result<SignReport> sign(Reader reader,
                        std::unique_ptr<FileSink> sink,
                        const SigningKey& key,
                        const SignOptions& options = {});

/// What a signature frame turned out to be.
enum class SignatureVerdict : std::uint8_t {
    valid,     ///< The key's owner vouches for these ticks.
    invalid,   ///< It names the key, but not for this recording up to this place.
    other_key, ///< It names another key; nothing else of it was looked at.
    unknown,   ///< Of a form that this program does not know.
    unchecked, ///< It names the key, and an invalid one stands before it.
};

/// "valid", "invalid", "other_key", "unknown" or "unchecked".
const char* to_string(SignatureVerdict verdict);

/// One signature frame. All but offset and verdict are what it says, true only if it is valid.
struct SignatureClaim {
    std::uint64_t offset = 0; ///< Of the frame, of a packed file in its open form.
    SignatureVerdict verdict = SignatureVerdict::unknown;
    PublicKey key{};
    Tick first;
    std::uint64_t ticks = 0;
    std::uint32_t chunks = 0;
    bool ends = false; ///< The recording ends here.
};

/// How many claims a report lists; all are counted.
inline constexpr std::size_t signature_claims_max = 1000;

/// What a key's owner vouches for.
struct SignatureReport {
    std::vector<SignatureClaim> claims; ///< The first of them, in the order of the file.
    std::uint64_t valid = 0;
    std::uint64_t invalid = 0;       ///< Or unchecked behind an invalid one.
    std::uint64_t others = 0;        ///< Of other keys or unknown forms.
    Tick first;                      ///< First tick of the recording.
    std::uint64_t ticks = 0;         ///< Good ticks in the file.
    std::uint64_t covered_ticks = 0; ///< From the first on, by the last valid signature.
    bool ends = false;               ///< It says that nothing comes after them, and nothing does.
    bool continued = false; ///< A valid signature says so, and something does: it was added later.
    std::optional<Loss> loss; ///< Of ticks after the last one, signed if the end is.
    FileState state = FileState::open;
    std::vector<Defect> defects;

    /// True if the key's owner vouches for every tick that is there and for their being all.
    bool covers_all() const {
        return valid > 0 && invalid == 0 && !continued && ends && covered_ticks == ticks;
    }
};

/// Judges every signature frame in what `reader`, which stands at its beginning, reads. A frame is
/// a claim: wrong ones never make the recording unreadable. Errors: the reader's;
/// unsupported_version without libsodium. Time: of a pass over the file and one check of a
/// signature for each different valid one and one more, whatever the file says.
Result<SignatureReport> check_signatures(Reader reader, const PublicKey& key);

} // namespace twinstep::replay
