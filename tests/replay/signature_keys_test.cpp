// SPDX-License-Identifier: MIT
// Key files: whose they are, and what is none.
#include "recording_support.hpp"

#include "twinstep/replay/signature.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>

using namespace twinstep;
using namespace twinstep::replay;

TEST_CASE("key files are their owner's and never written over", "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const ScratchDirectory scratch;
    const std::string path = scratch.file("a.key");
    const auto made = create_key_files(path);
    REQUIRE(made);

    struct ::stat status {};

    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    auto secret = SigningKey::read(path);
    REQUIRE(secret);
    CHECK(secret->public_key() == *made);
    CHECK(read_public_key(path + ".pub") == *made);

    const auto before = read_file(path);
    const auto again = create_key_files(path);
    REQUIRE_FALSE(again);
    CHECK(again.error().code == Errc::already_exists);
    CHECK(read_file(path) == before);
    // A public file that is in the way takes the new secret file with it.
    std::filesystem::remove(path);
    REQUIRE_FALSE(create_key_files(path));
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(read_public_key(path + ".pub") == *made);

    const std::string other = scratch.file("b.key");
    REQUIRE(create_key_files(other));
    for (const ::mode_t mode : {0640U, 0604U, 0620U, 0602U, 0666U}) {
        REQUIRE(::chmod(other.c_str(), mode) == 0);
        const auto refused = SigningKey::read(other);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == Errc::bad_key);
    }
    CHECK_FALSE(SigningKey::read(path + ".pub"));
    REQUIRE(::chmod(other.c_str(), 0600) == 0);
    CHECK(SigningKey::read(other));
    CHECK_FALSE(read_public_key(other));
    CHECK_FALSE(SigningKey::read(scratch.file("none")));
    CHECK_FALSE(SigningKey::read(scratch.file("")));
}

TEST_CASE("a key file of any other form is refused", "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const ScratchDirectory scratch;
    const std::string path = scratch.file("k");
    const std::string good = "twinstep-ed25519-public:" + std::string(64, 'a');
    const auto read = [&path](const std::string& text) {
        std::ofstream(path, std::ios::binary) << text;
        return read_public_key(path);
    };
    CHECK(read(good));
    CHECK(read(good + "\n"));
    CHECK(read(good + "\r\n"));
    for (const std::string& text : {std::string(),
                                    std::string("\n"),
                                    good + "\n\n",
                                    good + "a",
                                    " " + good,
                                    good.substr(0, good.size() - 1),
                                    good.substr(0, good.size() - 1) + "A",
                                    good.substr(0, 23) + "\n",
                                    "twinstep-ed25519-secret:" + std::string(64, 'a'),
                                    good + "\n" + std::string(1000000, 'a'),
                                    std::string(64, 'a')}) {
        const auto refused = read(text);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == Errc::bad_key);
        CHECK(to_string(refused.error()).find("aaaa") == std::string::npos);
    }
}

TEST_CASE("what is no key file is named, and a pipe is not waited for",
          "[replay][unit][signature]") {
    if (!has_signatures()) {
        return;
    }
    const ScratchDirectory scratch;
    const auto why = [](const auto& refused) {
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == Errc::bad_key);
        return to_string(refused.error());
    };
#if !defined(_WIN32)
    const std::string pipe = scratch.file("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(why(SigningKey::read(pipe)).find("not a regular file") != std::string::npos);
    CHECK(why(read_public_key(pipe)).find("not a regular file") != std::string::npos);
#endif
    const std::string path = scratch.file("k");
    REQUIRE(create_key_files(path));
    CHECK(why(SigningKey::read(path + ".pub")).find("a public key") != std::string::npos);
    CHECK(why(read_public_key(path)).find("a secret key") != std::string::npos);
}
