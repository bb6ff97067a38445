// SPDX-License-Identifier: MIT
// The claim that a type's memory is its encoding is proved, and false claims are caught.
#include "assertion_of.hpp"
#include "toy_game.hpp"

#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;

namespace {

struct Skips {
    std::uint16_t a = 0;
    std::uint16_t b = 0;
    std::uint16_t c = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(a), CEREAL_NVP(c));
    }
};

struct Reorders {
    std::uint32_t a = 0;
    std::uint32_t b = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(b), CEREAL_NVP(a));
    }
};

struct Repeats {
    std::uint32_t a = 0;
    std::uint32_t b = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(a), CEREAL_NVP(a));
    }
};

/// Right in size and order of its bytes except for two bytes in the middle of many.
struct ReordersLate {
    std::array<std::uint8_t, 29> head{};
    std::uint8_t a = 0;
    std::uint8_t b = 0;
    std::uint8_t tail = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(head), CEREAL_NVP(b), CEREAL_NVP(a), CEREAL_NVP(tail));
    }
};

/// Writes a constant where a member is.
struct Forgets {
    std::uint8_t a = 0;
    std::uint8_t b = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        std::uint8_t nothing = 0;
        archive(CEREAL_NVP(a), CEREAL_NVP(nothing));
    }
};

struct WithFlag {
    std::uint8_t a = 0;
    bool flag = false;
    ToyMode mode = ToyMode::calm;
    std::int8_t b = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(a), CEREAL_NVP(flag), CEREAL_NVP(mode), CEREAL_NVP(b));
    }
};

struct Padded {
    std::uint8_t a = 0;
    std::uint32_t b = 0;
};

struct Floating {
    float a = 0.0F;
};

} // namespace

template <>
inline constexpr bool twinstep::contiguous<Reorders> = true;

TEST_CASE("a type that names every member in order is contiguous", "[sim][unit]") {
    REQUIRE(twinstep::detail::contiguity_holds<ToyBody>());
    REQUIRE(twinstep::detail::contiguity_holds<WithFlag>());
}

TEST_CASE("a serialize that skips, reorders, repeats or replaces a member is caught",
          "[sim][fault]") {
    REQUIRE_FALSE(twinstep::detail::contiguity_holds<Skips>());
    REQUIRE_FALSE(twinstep::detail::contiguity_holds<Reorders>());
    REQUIRE_FALSE(twinstep::detail::contiguity_holds<Repeats>());
    REQUIRE_FALSE(twinstep::detail::contiguity_holds<ReordersLate>());
    REQUIRE_FALSE(twinstep::detail::contiguity_holds<Forgets>());
}

TEST_CASE("a false claim stops the program at its first run", "[sim][fault]") {
    REQUIRE(assertion_of([] {
                Bytes bytes;
                BufferSink sink(bytes);
                OutArchive archive(sink);
                archive(std::vector<Reorders>(2));
            }) == "proved");
}

TEST_CASE("padding and floats cannot be claimed contiguous", "[sim][unit]") {
    // contiguity_holds<Padded> does not compile; the concept that it asserts can be asked.
    STATIC_REQUIRE(PaddingFree<ToyBody>);
    STATIC_REQUIRE_FALSE(PaddingFree<Padded>);
    STATIC_REQUIRE_FALSE(PaddingFree<Floating>);
    STATIC_REQUIRE_FALSE(PaddingFree<std::string>);
}

TEST_CASE("characters and long double have no encoding", "[sim][unit]") {
    STATIC_REQUIRE_FALSE(Scalar<char>);
    STATIC_REQUIRE_FALSE(Scalar<wchar_t>);
    STATIC_REQUIRE_FALSE(Scalar<char32_t>);
    STATIC_REQUIRE_FALSE(Scalar<long double>);
    STATIC_REQUIRE(Scalar<std::int8_t>);
    STATIC_REQUIRE(Scalar<bool>);
}
