// SPDX-License-Identifier: MIT
// The ring: against a deque; where it begins in memory does not show.
#include "assertion_of.hpp"
#include "state_forms.hpp"
#include "test_random.hpp"

#include "twinstep/sim/ring.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <memory>
#include <string>
#include <vector>

using namespace twinstep;

namespace {

template <std::uint32_t places>
void compare_ring(TestRandom& random) {
    Ring<std::int32_t, places> ring;
    std::deque<std::int32_t> model;
    for (std::int32_t i = 0; i < 3000; ++i) {
        switch (random.below(6)) {
        case 0:
        case 1:
            if (model.size() < places) {
                ring.push_back(i);
                model.push_back(i);
            }
            break;
        case 2:
            ring.push_over(i);
            if (model.size() == places) {
                model.pop_front();
            }
            model.push_back(i);
            break;
        case 3:
            if (!model.empty()) {
                REQUIRE(ring.pop_front() == model.front());
                model.pop_front();
            }
            break;
        case 4:
            if (!model.empty()) {
                REQUIRE(ring.pop_back() == model.back());
                model.pop_back();
            }
            break;
        default:
            if (random.below(50) == 0) {
                ring.clear();
                model.clear();
            } else if (!model.empty()) {
                const std::size_t place = random.below(model.size());
                ring[place] += 1;
                model[place] += 1;
            }
        }
        REQUIRE(std::vector<std::int32_t>(ring.begin(), ring.end()) ==
                std::vector<std::int32_t>(model.begin(), model.end()));
        REQUIRE(ring.size() == model.size());
        REQUIRE(ring.full() == (model.size() == places));
        REQUIRE(ring.empty() == model.empty());
        if (!model.empty()) {
            REQUIRE(ring.front() == model.front());
            REQUIRE(ring.back() == model.back());
        }
        // Bytes and hash are those of a list, and of a ring that begins elsewhere.
        std::vector<std::int32_t> list(model.begin(), model.end());
        const Bytes bytes = bytes_of(list);
        REQUIRE(bytes_of(ring) == bytes);
        REQUIRE(hash_of(ring) == hash_of(list));
        Ring<std::int32_t, places> other;
        other.push_back(7);
        REQUIRE(load_from(bytes, other));
        REQUIRE(other == ring);
        other = ring;
        REQUIRE(bytes_of(other) == bytes);
    }
}

} // namespace

TEST_CASE("a ring is a list, wherever it begins in memory", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    compare_ring<1>(random);
    compare_ring<3>(random);
    compare_ring<8>(random);
}

TEST_CASE("rings are equal by what they hold", "[sim][unit]") {
    Ring<std::string, 3> a;
    Ring<std::string, 3> b;
    for (const char* word : {"x", "y", "z", "u"}) {
        a.push_over(word);
    }
    for (const char* word : {"y", "z", "u"}) {
        b.push_back(word);
    }
    REQUIRE(a == b);
    REQUIRE(hash_of(a) == hash_of(b));
    b.pop_back();
    REQUIRE_FALSE(a == b);
    a.pop_front();
    REQUIRE_FALSE(a == b);
    REQUIRE(tree_of(a) == "[:z :u ]");
    REQUIRE(schema_of(a) == "ring3[text]");
    REQUIRE(schema_of(a) != schema_of(Ring<std::string, 4>()));
    const auto& fixed = a;
    REQUIRE(fixed.front() + fixed.back() + fixed[1] == "zuu");
    REQUIRE(fixed.begin()->size() == 1);
}

TEST_CASE("what leaves a ring is not kept", "[sim][unit]") {
    Ring<std::shared_ptr<int>, 2> ring;
    const auto pointer = std::make_shared<int>(1);
    ring.push_back(pointer);
    ring.push_back(pointer);
    REQUIRE(pointer.use_count() == 3);
    ring.pop_front();
    REQUIRE(pointer.use_count() == 2);
    ring.clear();
    REQUIRE(pointer.use_count() == 1);
}

TEST_CASE("a ring that is full or empty is the caller's to know", "[sim][unit]") {
    Ring<int, 1> ring;
    REQUIRE(assertion_of([&] { ring.pop_front(); }) == "!empty()");
    REQUIRE(assertion_of([&] { ring.pop_back(); }) == "!empty()");
    REQUIRE(assertion_of([&] { ring.front() = 1; }) == "index < size_");
    REQUIRE(assertion_of([&] { ring.back() = 1; }) == "index < size_");
    ring.push_back(1);
    REQUIRE(assertion_of([&] { ring.push_back(2); }) == "!full()");
    REQUIRE(assertion_of([&] { ring[1] = 1; }) == "index < size_");
}

TEST_CASE("a ring from bytes has no more than its places", "[sim][unit]") {
    Ring<std::int32_t, 3> ring;
    const Bytes four = bytes_of(std::vector<std::int32_t>{1, 2, 3, 4});
    REQUIRE(refusal_of(four, ring) == "limit_exceeded ring.count");
    Bytes bytes = bytes_of(std::vector<std::int32_t>{1, 2, 3});
    REQUIRE(load_from(bytes, ring));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        REQUIRE(refusal_of(ByteView(bytes).first(size), ring).starts_with("truncated"));
    }
    bytes.push_back(std::byte{0});
    REQUIRE(refusal_of(bytes, ring) == "trailing_bytes end");
}
