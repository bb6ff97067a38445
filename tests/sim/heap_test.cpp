// SPDX-License-Identifier: MIT
// The heap: against a set, in any order of insertions, with ties, from hostile bytes.
#include "allocation_counter.hpp"
#include "assertion_of.hpp"
#include "state_forms.hpp"
#include "test_random.hpp"

#include "twinstep/sim/heap.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

using namespace twinstep;

namespace {

struct Alarm {
    std::uint64_t tick = 0;
    std::uint32_t id = 0;

    auto operator<=>(const Alarm&) const = default;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(tick), CEREAL_NVP(id));
    }
};

struct ByTick {
    bool operator()(const Alarm& a, const Alarm& b) const { return a.tick < b.tick; }
};

/// As an Alarm, but those of one tick are equal.
struct Visitor {
    std::uint64_t tick = 0;
    std::uint32_t name = 0;

    bool operator==(const Visitor& other) const { return tick == other.tick; }

    bool operator<(const Visitor& other) const { return tick < other.tick; }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(tick), CEREAL_NVP(name));
    }
};

} // namespace

TEST_CASE("a heap gives what a set gives, whether or not it is saved in between",
          "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    Heap<Alarm> heap;
    Heap<Alarm> saved; // is saved and loaded all the time
    std::set<Alarm> model;
    std::size_t largest = 0;
    for (std::uint32_t i = 0; i < 20000; ++i) {
        const bool grow = i / 1000 % 2 == 0;
        if (random.below(10) < (grow ? 7U : 3U)) {
            const Alarm alarm{random.below(500), i};
            heap.push(alarm);
            saved.push(alarm);
            model.insert(alarm);
        } else if (!model.empty()) {
            REQUIRE(heap.top() == *model.begin());
            REQUIRE(heap.pop() == *model.begin());
            REQUIRE(saved.pop() == *model.begin());
            model.erase(model.begin());
        }
        REQUIRE(heap.size() == model.size());
        largest = std::max(largest, model.size());
        if (random.below(20) == 0) {
            const Bytes bytes = bytes_of(saved);
            saved.push({0, 0}); // is gone after loading
            REQUIRE(load_from(bytes, saved));
            REQUIRE(bytes == bytes_of(std::vector<Alarm>(model.begin(), model.end())));
        }
    }
    REQUIRE(largest > 300);
}

TEST_CASE("how a heap came to its content does not show", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    std::vector<Alarm> alarms;
    for (std::uint32_t i = 0; i < 60; ++i) {
        alarms.push_back({random.below(20), i});
    }
    Heap<Alarm> first;
    for (const Alarm& alarm : alarms) {
        first.push(alarm);
    }
    const Hash128 hash = hash_of(first);
    for (int round = 0; round < 50; ++round) {
        for (std::size_t i = alarms.size(); i > 1; --i) {
            std::swap(alarms[i - 1], alarms[random.below(i)]);
        }
        Heap<Alarm> other;
        other.push({0, 0}); // comes out first
        for (const Alarm& alarm : alarms) {
            other.push({alarm.tick + 1, alarm.id});
            other.push(alarm);
        }
        Heap<Alarm> same;
        other.pop();
        while (!other.empty()) {
            const Alarm alarm = other.pop();
            if (std::find(alarms.begin(), alarms.end(), alarm) != alarms.end()) {
                same.push(alarm);
            }
        }
        REQUIRE(hash_of(same) == hash);
    }
    REQUIRE(hash_of(first) == hash);
    first.pop();
    REQUIRE(hash_of(first) != hash);
}

TEST_CASE("equal elements leave a heap as they came, saved or not", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (const bool saving : {false, true}) {
        Heap<Visitor> heap;
        std::vector<Visitor> model;
        for (std::uint32_t i = 0; i < 3000; ++i) {
            if (random.below(5) < 3) {
                const Visitor visitor{random.below(8), i};
                heap.push(visitor);
                model.insert(std::upper_bound(model.begin(), model.end(), visitor), visitor);
            } else if (!model.empty()) {
                const Visitor visitor = heap.pop();
                REQUIRE(visitor.tick == model.front().tick);
                REQUIRE(visitor.name == model.front().name);
                model.erase(model.begin());
            }
            if (saving && i % 7 == 0) {
                const Bytes bytes = bytes_of(heap);
                REQUIRE(bytes == bytes_of(model));
                if (i % 2 != 0) {
                    heap = {};
                    REQUIRE(load_from(bytes, heap));
                }
            }
        }
    }
}

TEST_CASE("a heap refuses what its order cannot tell apart", "[sim][unit]") {
    const std::string refusal = "Heap: elements 0 and 1 of the result differ, but neither comes "
                                "first; add what tells them apart to the order, such as an "
                                "identifier";
    Heap<Alarm, ByTick> heap;
    heap.push({5, 1});
    heap.push({7, 2});
    heap.push({5, 3});
    const int line = __LINE__ + 1;
    const auto pop = [&heap] { heap.pop(); };
    REQUIRE(assertion_with_line_of(pop) == refusal + " in line " + std::to_string(line));
    REQUIRE(assertion_of([&] { hash_of(heap); }) == refusal);
    Heap<Alarm, ByTick> same;
    same.push({5, 1});
    same.push({5, 1});
    REQUIRE(assertion_of([&] {
                hash_of(same);
                same.pop();
            }) == "no assertion");
    REQUIRE(assertion_of([] { Heap<int>().pop(); }) == "!entries_.empty()");
    REQUIRE(assertion_of([] { static_cast<void>(Heap<int>().top()); }) == "!entries_.empty()");
}

TEST_CASE("a heap out of order, cut or too long is refused", "[sim][unit]") {
    Heap<Alarm> heap;
    const Bytes good = bytes_of(std::vector<Alarm>{{1, 1}, {1, 2}, {3, 0}});
    REQUIRE(load_from(good, heap));
    REQUIRE(bytes_of(heap) == good);
    REQUIRE(refusal_of(bytes_of(std::vector<Alarm>{{1, 2}, {1, 1}}), heap) ==
            "malformed heap.order");
    for (std::size_t size = 0; size < good.size(); ++size) {
        REQUIRE(refusal_of(ByteView(good).first(size), heap).starts_with("truncated"));
    }
    Bytes many = good;
    many[7] = std::byte{0x40};
    require_cheap_refusal(many, heap);
    REQUIRE(heap.empty());
    REQUIRE(schema_of(heap) == "heap[{tick:u64,id:u32}]");
    heap.push({4, 5});
    REQUIRE(tree_of(heap) == "[{tick:4 id:5 }]");
}

TEST_CASE("a heap allocates nothing once it has its size", "[sim][unit]") {
    Heap<std::uint32_t> heap;
    Bytes bytes;
    bytes.reserve(1000);
    heap.reserve(100);
    const AllocationCounter allocated;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        heap.push(i * 7919 % 1000);
        if (heap.size() == 100) {
            heap.pop();
        }
        bytes.clear();
        BufferSink sink(bytes);
        OutArchive archive(sink);
        archive(heap);
        sink.finish();
    }
    REQUIRE(allocated.count() == 0);
}
