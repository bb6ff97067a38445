// SPDX-License-Identifier: MIT
// The slot map: against a model, stale handles, the order of reuse, from hostile bytes.
#include "allocation_counter.hpp"
#include "assertion_of.hpp"
#include "state_forms.hpp"
#include "test_random.hpp"

#include "twinstep/sim/slot_map.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <tuple>
#include <vector>

using namespace twinstep;

namespace {

/// The form of a slot map's bytes, by its page.
template <class T>
struct SlotBytes {
    std::vector<std::uint32_t> generations;
    std::vector<T> values; // of the taken slots
    std::vector<std::uint32_t> free;

    Bytes bytes() const {
        Bytes all;
        BufferSink sink(all);
        OutArchive archive(sink);
        archive(generations);
        for (const T& value : values) {
            archive(value);
        }
        archive(free);
        sink.finish();
        return all;
    }
};

/// What a slot map does, by the plainest means.
template <class T>
class SlotModel {
public:
    SlotHandle<T> insert(const T& value) {
        std::uint32_t slot = static_cast<std::uint32_t>(form_.generations.size());
        if (form_.free.empty()) {
            form_.generations.push_back(1);
        } else {
            slot = form_.free.back();
            form_.free.pop_back();
            ++form_.generations[slot];
        }
        taken_[slot] = value;
        return {slot, form_.generations[slot]};
    }

    bool erase(SlotHandle<T> handle) {
        if (find(handle) == nullptr) {
            return false;
        }
        ++form_.generations[handle.index];
        form_.free.push_back(handle.index);
        taken_.erase(handle.index);
        return true;
    }

    T* find(SlotHandle<T> handle) {
        const auto found = taken_.find(handle.index);
        const bool fresh =
            found != taken_.end() && form_.generations[handle.index] == handle.generation;
        return fresh ? &found->second : nullptr;
    }

    Bytes bytes() {
        form_.values.clear();
        for (const auto& [slot, value] : taken_) {
            form_.values.push_back(value);
        }
        return form_.bytes();
    }

    const std::map<std::uint32_t, T>& taken() const { return taken_; }

private:
    SlotBytes<T> form_;
    std::map<std::uint32_t, T> taken_;
};

template <class T, class Make>
void compare_with_model(TestRandom& random, const Make& make) {
    SlotMap<T, 100> map;
    SlotModel<T> model;
    std::vector<SlotHandle<T>> handles{{}, {3, 2}, {1000, 1}}; // all there ever were
    for (std::uint32_t i = 0; i < 4000; ++i) {
        const SlotHandle<T> any = handles[random.below(handles.size())];
        const SlotHandle<T> recent =
            random.below(2) == 0 ? any
                                 : handles[handles.size() - 1 -
                                           random.below(std::min<std::size_t>(handles.size(), 60))];
        if (random.below(2) == 0 && model.taken().size() < 100) {
            const T value = make(i);
            const SlotHandle<T> handle = map.insert(value);
            REQUIRE(handle == model.insert(value));
            handles.push_back(handle);
        } else {
            REQUIRE(map.erase(recent) == model.erase(recent));
        }
        REQUIRE(map.contains(any) == (model.find(any) != nullptr));
        if (model.find(any) != nullptr) {
            REQUIRE(*map.find(any) == *model.find(any));
            REQUIRE(map.at(any) == *model.find(any));
        } else {
            REQUIRE(map.find(any) == nullptr);
        }
        REQUIRE(map.size() == model.taken().size());
        if (i % 8 == 0) {
            auto expected = model.taken().begin();
            for (auto [handle, value] : map) {
                REQUIRE(handle.index == expected->first);
                REQUIRE(value == expected->second);
                REQUIRE(map.find(handle) == &value);
                ++expected;
            }
            REQUIRE(expected == model.taken().end());
            const Bytes bytes = bytes_of(map);
            REQUIRE(bytes == model.bytes());
            // From here on it is the one that was loaded.
            SlotMap<T, 100> loaded;
            loaded.insert(make(i));
            REQUIRE(load_from(bytes, loaded));
            REQUIRE(loaded == map);
            REQUIRE(hash_of(loaded) == hash_of(map));
            map = loaded;
        }
    }
    REQUIRE(map.slots() > 40);
}

} // namespace

TEST_CASE("a slot map does what its model does, whenever it is saved and loaded",
          "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    compare_with_model<std::uint32_t>(random, [](std::uint32_t i) { return i + 1; });
    compare_with_model<std::string>(random, [](std::uint32_t i) { return std::to_string(i); });
    compare_with_model<double>(random, [](std::uint32_t i) { return i * 0.5; });
}

TEST_CASE("slots are used again, the one given up last first, and old handles find nothing",
          "[sim][unit]") {
    SlotMap<int> map;
    const auto a = map.insert(1);
    const auto b = map.insert(2);
    const auto c = map.insert(3);
    REQUIRE(a == SlotHandle<int>{0, 1});
    REQUIRE(c == SlotHandle<int>{2, 1});
    REQUIRE(map.erase(a));
    REQUIRE(map.erase(c));
    REQUIRE_FALSE(map.erase(c));
    REQUIRE_FALSE(map.erase({}));
    const auto d = map.insert(4);
    REQUIRE(d == SlotHandle<int>{2, 3});
    REQUIRE(map.insert(5) == SlotHandle<int>{0, 3});
    REQUIRE(map.insert(6) == SlotHandle<int>{3, 1});
    REQUIRE(map.find(a) == nullptr);
    REQUIRE(map.find(c) == nullptr);
    REQUIRE(*map.find(b) == 2);
    REQUIRE(d.key() == 0x300000002);
    REQUIRE(assertion_of([&] { map.at(c) = 1; }) == "!handle_is_stale");
    REQUIRE(assertion_of([&] { static_cast<void>(std::as_const(map).at(a)); }) ==
            "!handle_is_stale");
    map.clear();
    REQUIRE(map.empty());
    REQUIRE(map.find(d) == nullptr);
    REQUIRE(map.slots() == 4);
    REQUIRE(map.insert(7) == SlotHandle<int>{3, 3});
}

TEST_CASE("what is to come is part of a slot map's state", "[sim][unit]") {
    // The same elements in the same slots, but other slots will be used next.
    const auto with_gaps = [](std::uint32_t first, std::uint32_t second) {
        SlotMap<int> map;
        for (int i = 0; i < 4; ++i) {
            map.insert(i);
        }
        map.erase({first, 1});
        map.erase({second, 1});
        return map;
    };
    SlotMap<int> a = with_gaps(1, 2);
    SlotMap<int> b = with_gaps(2, 1);
    REQUIRE_FALSE(a == b);
    REQUIRE(hash_of(a) != hash_of(b));
    a.erase(a.insert(0));
    REQUIRE_FALSE(a == b);
    REQUIRE(tree_of(with_gaps(1, 2)) ==
            "{generations[:1 :2 :2 :1 ]values[:0 {}{}:3 ]free[:1 :2 ]}");
    REQUIRE(schema_of(a) == "{generations:[u32],values:[i32],free:[u32]}");
    REQUIRE(schema_of(SlotHandle<int>{}) == "{index:u32,generation:u32}");
}

TEST_CASE("elements may go while a slot map is walked through", "[sim][unit]") {
    SlotMap<int> map;
    std::vector<SlotHandle<int>> handles;
    for (int i = 0; i < 10; ++i) {
        handles.push_back(map.insert(i));
    }
    std::vector<int> met;
    for (auto [handle, value] : map) {
        met.push_back(value);
        if (value == 2) {
            map.erase(handle);
            map.erase(handles[5]);
        }
        if (value == 7) {
            map.insert(100); // slot 5: behind
            map.insert(101); // slot 2: behind
            map.insert(102); // slot 10: to come
        }
    }
    REQUIRE(met == std::vector<int>{0, 1, 2, 3, 4, 6, 7, 8, 9, 102});
}

TEST_CASE("a slot that has served its time is not used again", "[sim][unit]") {
    SlotMap<std::uint8_t, 3> map;
    // One use before the last.
    SlotBytes<std::uint8_t> form{{UINT32_MAX - 3}, {}, {0}};
    REQUIRE(load_from(form.bytes(), map));
    const auto last = map.insert(1);
    REQUIRE(last.generation == UINT32_MAX - 2);
    REQUIRE(map.erase(last));
    REQUIRE(map.insert(2) == SlotHandle<std::uint8_t>{1, 1});
    REQUIRE_FALSE(map.contains(last));
    form = {{UINT32_MAX - 1, 1}, {2}, {}};
    REQUIRE(bytes_of(map) == form.bytes());
    REQUIRE(load_from(form.bytes(), map));
    REQUIRE(bytes_of(map) == form.bytes());
    map.insert(3);
    REQUIRE(assertion_of([&] { map.insert(4); }) == "generations_.size() < slots_max");
}

TEST_CASE("a slot map that could not have come about is refused", "[sim][unit]") {
    using Map = SlotMap<std::uint16_t, 6>;
    using Form = SlotBytes<std::uint16_t>;
    const auto verdict = [](const Form& form) {
        Map map;
        map.insert(1);
        std::string text = refusal_of(form.bytes(), map);
        REQUIRE((text == "accepted" || map == Map()));
        return text;
    };
    const std::string bad_free = "malformed slot_map.free";
    REQUIRE(verdict({{1, 2, 3, 4, 2}, {10, 30}, {3, 1, 4}}) == "accepted");
    REQUIRE(verdict({{}, {}, {}}) == "accepted");
    REQUIRE(verdict({{1, 2, 3, 4, 2}, {10, 30}, {3, 1, 3}}) == bad_free); // a cycle, if linked
    REQUIRE(verdict({{1, 2, 3, 4, 2}, {10, 30}, {3, 1, 0}}) == bad_free); // taken
    REQUIRE(verdict({{1, 2, 3, 4, 2}, {10, 30}, {3, 1, 5}}) == bad_free); // no slot
    REQUIRE(verdict({{1, 2, 3, 4, 2}, {10, 30}, {3, 1, UINT32_MAX}}) == bad_free);
    REQUIRE(verdict({{1, 2, 3, 4, 2}, {10, 30}, {3, 1}}) == bad_free);
    REQUIRE(verdict({{1, 2, 3, 4, 2}, {10, 30}, {3, 1, 4, 4}}) == bad_free);
    REQUIRE(verdict({{UINT32_MAX - 1}, {}, {0}}) == bad_free); // has served its time
    REQUIRE(verdict({{0}, {}, {0}}) == "malformed slot_map.generation");
    REQUIRE(verdict({{UINT32_MAX}, {1}, {}}) == "malformed slot_map.generation");
    REQUIRE(verdict({{1, 1, 1, 1, 1, 1, 1}, {1, 2, 3, 4, 5, 6, 7}, {}}) ==
            "limit_exceeded slot_map.slots");
}

TEST_CASE("a slot map cut, changed or too long is refused or is what it says", "[sim][unit]") {
    SlotMap<std::string, 8> map;
    for (int i = 0; i < 5; ++i) {
        map.insert(std::to_string(i));
    }
    map.erase({1, 1});
    map.erase({3, 1});
    const Bytes good = bytes_of(map);
    SlotMap<std::string, 8> loaded;
    for (std::size_t size = 0; size < good.size(); ++size) {
        REQUIRE_FALSE(load_from(ByteView(good).first(size), loaded));
        REQUIRE(loaded == SlotMap<std::string, 8>());
    }
    REQUIRE(good.size() * 8 - refused_bits(good, loaded) > 20);
    Bytes many = good;
    many[6] = std::byte{1};
    require_cheap_refusal(many, loaded);
}

TEST_CASE("a slot map allocates nothing once it has its size", "[sim][unit]") {
    SlotMap<std::uint32_t> map;
    std::vector<SlotHandle<std::uint32_t>> handles;
    handles.reserve(100);
    for (std::uint32_t i = 0; i < 100; ++i) {
        handles.push_back(map.insert(i));
    }
    const AllocationCounter allocated;
    for (int round = 0; round < 20; ++round) {
        for (const auto handle : handles) {
            map.erase(handle);
        }
        handles.clear();
        for (std::uint32_t i = 0; i < 100; ++i) {
            handles.push_back(map.insert(i));
        }
    }
    REQUIRE(allocated.count() == 0);
}
