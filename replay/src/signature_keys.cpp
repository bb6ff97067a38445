// SPDX-License-Identifier: MIT
// Key files: one line of text each, the secret one for its owner's eyes alone.
#include "path.hpp"
#include "signature_crypto.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/signature.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#if defined(TWINSTEP_REPLAY_SODIUM)
#include <sodium.h>
#endif
#if defined(_WIN32)
#include <fstream>
#else
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace twinstep::replay {

namespace {

constexpr std::string_view public_kind = "twinstep-ed25519-public:";
constexpr std::string_view secret_kind = "twinstep-ed25519-secret:";
constexpr std::size_t key_bytes = 32;
/// Of the longer kind, with its line's end, and room to see that more follows.
constexpr std::size_t key_text_bytes_max = 128;
constexpr unsigned owner_only = 0600;

using RawKey = std::array<std::byte, key_bytes>;

void wipe(void* memory, std::size_t bytes) {
#if defined(TWINSTEP_REPLAY_SODIUM)
    sodium_memzero(memory, bytes);
#else
    std::fill_n(static_cast<std::byte*>(memory), bytes, std::byte{0});
#endif
}

/// The text of a key file. It is wiped when it goes.
struct KeyText {
    std::array<char, key_text_bytes_max> letters{};
    std::size_t size = 0;
    bool exposed = false; ///< Others than its owner may read or write the file.

    KeyText() = default;
    KeyText(const KeyText&) = delete;
    KeyText& operator=(const KeyText&) = delete;

    ~KeyText() { wipe(letters.data(), letters.size()); }

    std::string_view view() const { return {letters.data(), size}; }

    void put(std::string_view text) {
        size += text.copy(letters.data() + size, letters.size() - size);
    }

    void put_key(const RawKey& key) {
        constexpr std::string_view digits = "0123456789abcdef";
        for (const std::byte byte : key) {
            const auto value = std::to_integer<std::size_t>(byte);
            put(digits.substr(value >> 4, 1));
            put(digits.substr(value & 0xF, 1));
        }
    }
};

tl::unexpected<Error> wrong_key(const std::string& path, const char* why) {
    return fail(Error(Errc::bad_key, {}, why).in(path));
}

#if defined(_WIN32)

Result<void> read_key_text(const std::string& path, KeyText& text) {
    std::ifstream stream(native_path(path), std::ios::binary);
    stream.read(text.letters.data(), static_cast<std::streamsize>(text.letters.size()));
    text.size = static_cast<std::size_t>(stream.gcount());
    if (text.size == 0) {
        return fail(Error(Errc::io_error, "read", "the file cannot be read").in(path));
    }
    return {};
}

Result<void> create_key_file(const std::string& path, bool, std::string_view text) {
    Result<std::unique_ptr<FileSink>> file = create_file(path);
    if (!file) {
        return fail(file.error());
    }
    std::error_code error;
    const std::size_t written = (*file)->write(std::as_bytes(std::span(text)), error);
    const std::error_code closed = (*file)->close();
    if (error || closed || written != text.size()) {
        remove_created(path);
        return fail(Error(Errc::io_error, "write", (error ? error : closed).message()).in(path));
    }
    return {};
}

#else

tl::unexpected<Error> refused_by_system(const std::string& path, const char* what) {
    const Errc code = errno == EEXIST ? Errc::already_exists : Errc::io_error;
    const std::string why =
        errno == EEXIST ? "choose another name" : std::generic_category().message(errno);
    return fail(Error(code, what, why).in(path));
}

/// A descriptor that is closed again.
class Descriptor {
public:
    explicit Descriptor(int number)
        : number_(number) {}

    ~Descriptor() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }

    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int number() const { return number_; }

private:
    int number_;
};

Result<void> read_key_text(const std::string& path, KeyText& text) {
    // Not to wait for a pipe that nobody writes.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); // NOLINT
    if (file.number() < 0) {
        return refused_by_system(path, "open");
    }

    struct ::stat status {};

    if (::fstat(file.number(), &status) != 0) {
        return refused_by_system(path, "stat");
    }
    if (!S_ISREG(status.st_mode)) {
        return wrong_key(path, "not a regular file");
    }
    // Of the file that is open, so that nobody can put another in its place meanwhile.
    text.exposed = (status.st_mode & (S_IRWXG | S_IRWXO)) != 0;
    while (text.size < text.letters.size()) {
        const ::ssize_t got =
            ::read(file.number(), text.letters.data() + text.size, text.letters.size() - text.size);
        if (got < 0 && errno != EINTR) {
            return refused_by_system(path, "read");
        }
        if (got == 0) {
            break;
        }
        text.size += static_cast<std::size_t>(std::max<::ssize_t>(got, 0));
    }
    return {};
}

Result<void> create_key_file(const std::string& path, bool secret, std::string_view text) {
    constexpr unsigned everybody_reads = 0644;
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    const Descriptor file(
        ::open(path.c_str(), flags, secret ? owner_only : everybody_reads)); // NOLINT
    if (file.number() < 0) {
        return refused_by_system(path, "create");
    }
    while (!text.empty()) {
        const ::ssize_t written = ::write(file.number(), text.data(), text.size());
        if (written < 0 && errno != EINTR) {
            const auto refused = refused_by_system(path, "write");
            remove_created(path);
            return refused;
        }
        text.remove_prefix(static_cast<std::size_t>(std::max<::ssize_t>(written, 0)));
    }
    if (::fsync(file.number()) != 0 && errno != EINVAL) {
        const auto refused = refused_by_system(path, "sync");
        remove_created(path);
        return refused;
    }
    return {};
}

#endif

int digit_value(char letter) {
    if (letter >= '0' && letter <= '9') {
        return letter - '0';
    }
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/// The key in a file's text. What the text is never gets into an error.
Result<void> parse_key(const std::string& path, bool secret, const KeyText& text, RawKey& key) {
    std::string_view rest = text.view();
    const std::string_view kind = secret ? secret_kind : public_kind;
    if (rest.starts_with(secret ? public_kind : secret_kind)) {
        return wrong_key(path,
                         secret ? "a public key: to sign, the secret one is needed"
                                : "a secret key: to check, use the .pub file beside it");
    }
    if (!rest.starts_with(kind)) {
        return wrong_key(path,
                         secret ? "not a secret key as keygen makes it"
                                : "not a public key as keygen makes it");
    }
    rest.remove_prefix(kind.size());
    for (std::byte& byte : key) {
        const int high = rest.size() < 2 ? -1 : digit_value(rest[0]);
        const int low = rest.size() < 2 ? -1 : digit_value(rest[1]);
        if (high < 0 || low < 0) {
            return wrong_key(path, "not 64 lower-case hexadecimal digits");
        }
        byte = static_cast<std::byte>(high * 16 + low);
        rest.remove_prefix(2);
    }
    if (!rest.empty() && rest != "\n" && rest != "\r\n") {
        return wrong_key(path, "more than one line with a key");
    }
    if (secret && text.exposed) {
        return wrong_key(path, "others may read or write it: make a new key, or chmod 600");
    }
    return {};
}

Result<void> write_key(const std::string& path, bool secret, const RawKey& key) {
    KeyText text;
    text.put(secret ? secret_kind : public_kind);
    text.put_key(key);
    text.put("\n");
    return create_key_file(path, secret, text.view());
}

} // namespace

Result<SigningKey> SigningKey::read(const std::string& path) {
    if (!has_signatures()) {
        return fail(no_signatures());
    }
    KeyText text;
    if (auto done = read_key_text(path, text); !done) {
        return fail(done.error());
    }
    RawKey seed{};
    Result<void> parsed = parse_key(path, true, text, seed);
    Result<SigningKey> key = parsed ? from_seed(seed) : fail(parsed.error());
    wipe(seed.data(), seed.size());
    return key;
}

Result<PublicKey> create_key_files(const std::string& path) {
    if (!has_signatures()) {
        return fail(no_signatures());
    }
    RawKey seed{};
    const Result<SigningKey> key = SigningKey::generate(seed);
    Result<void> written = key ? write_key(path, true, seed) : fail(key.error());
    wipe(seed.data(), seed.size());
    if (!written) {
        return fail(written.error());
    }
    if (auto shown = write_key(path + ".pub", false, key->public_key()); !shown) {
        remove_created(path);
        return fail(shown.error());
    }
    return key->public_key();
}

Result<PublicKey> read_public_key(const std::string& path) {
    KeyText text;
    if (auto done = read_key_text(path, text); !done) {
        return fail(done.error());
    }
    PublicKey key{};
    if (auto parsed = parse_key(path, false, text, key); !parsed) {
        return fail(parsed.error());
    }
    return key;
}

} // namespace twinstep::replay
