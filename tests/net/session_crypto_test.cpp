// SPDX-License-Identifier: MIT
// Sealed packets, the replay window, cookies and key files.
#include "allocation_counter.hpp"
#include "assertion_of.hpp"
#include "hex.hpp"
#include "session_support.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <type_traits>
#include <vector>

using namespace twinstep;
using namespace twinstep::net;

namespace twinstep::net {

/// Winds a sequence forward, never back.
struct SealerProbe {
    static void wind(Sealer& sealer, std::uint32_t sequence) {
        sealer.sequence_ = std::max(sealer.sequence_, sequence);
    }
};

} // namespace twinstep::net

namespace {

/// A sealer, its opener and their buffers.
struct Link {
    Link()
        : Link(sealed_mode()) {}

    explicit Link(wire::Mode mode)
        : sealer(mode, key_of(7), Direction::up, 0x1234)
        , opener(mode, key_of(7), Direction::up) {}

    Bytes seal(std::string_view text) {
        Bytes datagram;
        REQUIRE(text_of(sealer.seal(bytes_of(text), datagram)) == "ok");
        return datagram;
    }

    std::error_code open(const Bytes& datagram) {
        return code_of(opener.open(datagram, plain, newest));
    }

    Sealer sealer;
    Opener opener;
    Bytes plain;
    bool newest = false;
};

} // namespace

TEST_CASE("a sealed packet is opened to the same bytes", "[net][session]") {
    for (const wire::Mode mode : {wire::Mode::plain, sealed_mode()}) {
        Link link(mode);
        for (const std::size_t size : {std::size_t{0}, std::size_t{1}, wire::plaintext_bytes_max}) {
            const Bytes datagram = link.seal(std::string(size, 'x'));
            CHECK(datagram.size() == size + 7 + (mode == wire::Mode::plain ? 0 : 16));
            CHECK(datagram.size() <= wire::datagram_bytes_max);
            std::uint16_t id = 0;
            REQUIRE(peek_connection_id(datagram, id));
            CHECK(id == 0x1234);
            REQUIRE(link.open(datagram) == std::error_code{});
            CHECK(link.newest);
            CHECK(link.plain == Bytes(size, std::byte{'x'}));
        }
        CHECK(link.sealer.next_sequence() == 3);
    }
}

TEST_CASE("each flipped bit of a sealed packet is refused and leaves the window alone",
          "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    Link link;
    const Bytes good = link.seal("every bit counts, and the header's too");
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
        Bytes bad = good;
        bad[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
        INFO("bit " << bit);
        REQUIRE(link.open(bad) != std::error_code{});
    }
    for (std::size_t size = 0; size < good.size(); ++size) {
        REQUIRE(link.open(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))) !=
                std::error_code{});
    }
    Bytes longer = good;
    longer.push_back(std::byte{0});
    CHECK(link.open(longer) == NetErrc::not_authentic);
    CHECK(link.open(good) == std::error_code{});
}

TEST_CASE("a packet of the other direction or of another key is refused", "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    Link link;
    const Bytes datagram = link.seal("up");
    Bytes plain;
    bool newest = false;
    Opener other_way(sealed_mode(), key_of(7), Direction::down);
    CHECK(code_of(other_way.open(datagram, plain, newest)) == NetErrc::not_authentic);
    Opener other_key(sealed_mode(), key_of(8), Direction::up);
    CHECK(code_of(other_key.open(datagram, plain, newest)) == NetErrc::not_authentic);
    CHECK(link.open(datagram) == std::error_code{});
}

TEST_CASE("what did not arrive is counted over 128 sequences, late packets are not",
          "[net][session][redundancy]") {
    Link link;
    std::vector<Bytes> sent;
    for (std::uint32_t i = 0; i < 4000; ++i) {
        sent.push_back(link.seal("x"));
    }
    std::uint32_t at = 0;
    const auto arrive = [&](std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            REQUIRE(link.open(sent[at++]) == std::error_code{});
        }
        return link.opener.lost();
    };
    CHECK(link.opener.lost() == 0);
    at = 2; // The very first ones count as well.
    CHECK(arrive(14) == 0);
    CHECK(arrive(1) == 1);
    CHECK(arrive(1) == 2);
    CHECK(arrive(126) == 2);
    CHECK(arrive(1) == 1);
    CHECK(arrive(1) == 0);
    // Late, but not by 16: never lost.
    const std::uint32_t late = at++;
    CHECK(arrive(15) == 0);
    REQUIRE(link.open(sent[late]) == std::error_code{});
    CHECK(arrive(200) == 0);
    // Later than that: lost, then there after all.
    const std::uint32_t later = at++;
    CHECK(arrive(40) == 1);
    REQUIRE(link.open(sent[later]) == std::error_code{});
    CHECK(link.opener.lost() == 0);
    // An outage longer than the window of replays.
    at += 1500;
    CHECK(arrive(16) == 128);
    CHECK(arrive(1) == 127);
    CHECK(arrive(126) == 1);
    CHECK(arrive(1) == 0);
    // Half of everything, for as long as it likes.
    for (int i = 0; i < 300; ++i) {
        ++at;
        arrive(1);
    }
    CHECK(link.opener.lost() == 64);
}

TEST_CASE("duplicated and reordered packets are each opened once", "[net][session][random]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    Link link;
    std::vector<Bytes> sent;
    for (std::uint32_t i = 0; i < 3000; ++i) {
        sent.push_back(link.seal(std::to_string(i)));
    }
    std::set<std::size_t> opened;
    std::size_t highest = 0;
    for (int i = 0; i < 20'000; ++i) {
        // Near the newest, sometimes ahead, now and then far behind the window.
        const std::size_t base = random.below(16) == 0 ? random.below(sent.size()) : highest;
        const std::size_t ahead = base + random.below(40);
        const std::size_t pick =
            std::min(sent.size() - 1, ahead - std::min<std::size_t>(ahead, random.below(1100)));
        const bool too_old = !opened.empty() && pick + 1024 <= highest;
        const bool fresh = !opened.contains(pick) && !too_old;
        const bool is_newest = opened.empty() || pick > highest;
        const std::error_code code = link.open(sent[pick]);
        REQUIRE((code == std::error_code{}) == fresh);
        if (fresh) {
            REQUIRE(link.newest == is_newest);
            REQUIRE(link.plain == bytes_of(std::to_string(pick)));
            opened.insert(pick);
            highest = std::max(highest, pick);
        } else {
            REQUIRE(code == NetErrc::replayed);
        }
    }
    CHECK(opened.size() > 500);
}

TEST_CASE("the replay window is 1,024 sequences wide at each edge", "[net][session]") {
    Link link;
    std::vector<Bytes> sent;
    for (int i = 0; i < 4000; ++i) {
        sent.push_back(link.seal("p"));
    }
    REQUIRE(link.open(sent[1023]) == std::error_code{});
    CHECK(link.open(sent[0]) == std::error_code{});
    CHECK(link.open(sent[0]) == NetErrc::replayed);
    REQUIRE(link.open(sent[1025]) == std::error_code{});
    CHECK(link.open(sent[1]) == NetErrc::replayed);
    CHECK(link.open(sent[2]) == std::error_code{});
    CHECK(link.open(sent[1024]) == std::error_code{});
    // A leap beyond the window forgets all of it.
    REQUIRE(link.open(sent[3500]) == std::error_code{});
    CHECK(link.open(sent[3500 - 1024]) == NetErrc::replayed);
    CHECK(link.open(sent[3500 - 1023]) == std::error_code{});
    CHECK(link.open(sent[3499]) == std::error_code{});
    CHECK(link.open(sent[3499]) == NetErrc::replayed);
}

TEST_CASE("a key dies before its sequence wraps, and nothing turns it back", "[net][session]") {
    static_assert(!std::is_copy_constructible_v<Sealer> && !std::is_copy_assignable_v<Sealer>);
    Link link;
    SealerProbe::wind(link.sealer, 0xFFFF'FFFE);
    const Bytes last = link.seal("last");
    CHECK(link.open(last) == std::error_code{});
    Bytes datagram;
    for (int i = 0; i < 3; ++i) {
        CHECK(code_of(link.sealer.seal(bytes_of("x"), datagram)) == NetErrc::limit_exceeded);
    }
    CHECK(link.sealer.next_sequence() == 0xFFFF'FFFF);
}

TEST_CASE("a sealer that was moved from seals nothing", "[net][session]") {
    Link link;
    static_cast<void>(link.seal("one"));
    Sealer moved = std::move(link.sealer);
    Bytes datagram;
    CHECK(code_of(link.sealer.seal({}, datagram)) == NetErrc::limit_exceeded);
    CHECK(moved.next_sequence() == 1);
    REQUIRE(moved.seal(bytes_of("two"), datagram));
    CHECK(link.open(datagram) == std::error_code{});
}

TEST_CASE("a plaintext that no datagram holds is the caller's mistake", "[net][session]") {
    CHECK(assertion_of([] {
              Link link;
              Bytes datagram;
              static_cast<void>(link.sealer.seal(Bytes(wire::plaintext_bytes_max + 1), datagram));
          }) == "plaintext.size() <= wire::plaintext_bytes_max");
}

TEST_CASE("sealing and opening allocate nothing in the steady state", "[net][session]") {
    Link link;
    Bytes datagram;
    datagram.reserve(wire::datagram_bytes_max);
    link.plain.reserve(wire::datagram_bytes_max);
    const Bytes plain = bytes_of("sixty times a second");
    const AllocationCounter counter;
    for (int i = 0; i < 5000; ++i) {
        REQUIRE(link.sealer.seal(plain, datagram));
        REQUIRE(link.opener.open(datagram, link.plain, link.newest));
        if (i % 3 == 0) {
            REQUIRE(!link.opener.open(datagram, link.plain, link.newest));
        }
    }
    CHECK(counter.count() == 0);
}

TEST_CASE("a cookie is good for its address, random and version, and for 30 to 60 s",
          "[net][session]") {
    TestEntropy entropy;
    CookieJar jar(entropy);
    wire::Hello hello;
    hello.client_random.fill(std::byte{9});
    const Address from = far_address(1);
    const wire::Cookie cookie = jar.make(seconds(100), from, hello);
    CHECK(cookie.client_random == hello.client_random);
    wire::Connect connect;
    connect.client_random = hello.client_random;
    connect.secret_index = cookie.secret_index;
    connect.tag = cookie.tag;
    connect.minor = cookie.minor;

    CHECK(jar.check(seconds(100), from, connect));
    CHECK_FALSE(jar.check(seconds(100), far_address(2), connect));
    CHECK_FALSE(jar.check(seconds(100), far_address(1, 40'001), connect));
    Address scoped = from;
    scoped.scope = 3;
    CHECK_FALSE(jar.check(seconds(100), scoped, connect));
    wire::Connect bad = connect;
    bad.client_random[15] ^= std::byte{1};
    CHECK_FALSE(jar.check(seconds(100), from, bad));
    bad = connect;
    bad.minor ^= 1U;
    CHECK_FALSE(jar.check(seconds(100), from, bad));
    bad = connect;
    bad.secret_index ^= 1U;
    CHECK_FALSE(jar.check(seconds(100), from, bad));
    bad.secret_index = 2;
    CHECK_FALSE(jar.check(seconds(100), from, bad));
    for (unsigned bit = 0; bit < 64; ++bit) {
        bad = connect;
        bad.tag ^= std::uint64_t{1} << bit;
        CHECK_FALSE(jar.check(seconds(100), from, bad));
    }
    CHECK(jar.check(seconds(129), from, connect));
    CHECK(jar.check(seconds(131), from, connect));
    CHECK_FALSE(jar.check(seconds(162), from, connect));
}

TEST_CASE("after a pause of a minute no older cookie is good", "[net][session]") {
    TestEntropy entropy;
    CookieJar jar(entropy);
    const wire::Cookie cookie = jar.make(seconds(0), far_address(1), wire::Hello{});
    wire::Connect connect;
    connect.secret_index = cookie.secret_index;
    connect.tag = cookie.tag;
    CHECK_FALSE(jar.check(seconds(60), far_address(1), connect));
}

TEST_CASE("a key file is 64 hexadecimal digits, and its text is never repeated", "[net][session]") {
    const std::string digits = "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";
    const Result<Key> key = parse_key(" \t" + digits + "\r\n");
    REQUIRE(key);
    CHECK(to_hex_text(key->bytes) ==
          "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff");
    for (const std::string& text : {std::string(),
                                    std::string(" \n"),
                                    digits.substr(1),
                                    digits + "0",
                                    "g" + digits.substr(1),
                                    digits.substr(0, 32) + " " + digits.substr(32)}) {
        const Result<Key> bad = parse_key(text);
        REQUIRE(code_of(bad) == NetErrc::bad_setting);
        CHECK(text_of(bad).find("2233") == std::string::npos);
    }
}
