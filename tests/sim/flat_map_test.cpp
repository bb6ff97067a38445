// SPDX-License-Identifier: MIT
// The flat map: against std::map in content, bytes, hash, schema and tree; from hostile bytes.
#include "allocation_counter.hpp"
#include "assertion_of.hpp"
#include "state_forms.hpp"
#include "test_random.hpp"

#include "twinstep/sim/flat_map.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

using namespace twinstep;

namespace {

/// A value without padding, and one with.
struct Stock {
    std::uint16_t count = 0;
    std::uint16_t age = 0;

    bool operator==(const Stock&) const = default;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(count), CEREAL_NVP(age));
    }
};

enum class Ware : std::uint8_t { wood, iron, bread };

} // namespace

template <>
inline constexpr bool twinstep::contiguous<Stock> = true;

static_assert(contiguous<FlatMapItem<std::uint32_t, Stock>>);
static_assert(contiguous<FlatMapItem<Ware, std::uint8_t>>);
static_assert(contiguous<FlatMapItem<std::uint8_t, bool>>);
static_assert(!contiguous<FlatMapItem<std::uint8_t, std::uint16_t>>, "padding");
static_assert(!contiguous<FlatMapItem<std::uint32_t, float>>, "floats");
static_assert(!contiguous<FlatMapItem<std::uint32_t, std::string>>);

namespace {

/// Whatever the type needs.
template <class T>
T made_of(std::uint32_t number) {
    if constexpr (std::same_as<T, std::string>) {
        return "n" + std::to_string(number);
    } else if constexpr (std::same_as<T, Stock>) {
        return {static_cast<std::uint16_t>(number), 7};
    } else {
        return static_cast<T>(number);
    }
}

template <class Key, class Value>
void compare_with_map(TestRandom& random) {
    FlatMap<Key, Value> flat;
    std::map<Key, Value> model;
    for (std::uint32_t i = 0; i < 3000; ++i) {
        const auto key = made_of<Key>(static_cast<std::uint32_t>(random.below(100)));
        const auto value = made_of<Value>(i);
        switch (random.below(7)) {
        case 0:
        case 1:
            REQUIRE(flat.insert(key, value) == model.emplace(key, value).second);
            break;
        case 2:
            flat.set(key, value);
            model.insert_or_assign(key, value);
            break;
        case 3:
            flat[key] = value;
            model[key] = value;
            break;
        case 4:
        case 5:
            REQUIRE(flat.erase(key) == (model.erase(key) == 1));
            break;
        default:
            if (random.below(60) == 0) {
                const auto unwanted = [](const Key& k, const Value& v) {
                    return bytes_of(k).back() == bytes_of(v).front();
                };
                const std::size_t before = model.size();
                std::erase_if(model,
                              [&](const auto& item) { return unwanted(item.first, item.second); });
                REQUIRE(flat.erase_if(unwanted) == before - model.size());
            }
        }
        const auto found = model.find(key);
        REQUIRE(flat.contains(key) == (found != model.end()));
        if (found != model.end()) {
            REQUIRE(*flat.find(key) == found->second);
            REQUIRE(flat.at(key) == found->second);
        } else {
            REQUIRE(flat.find(key) == nullptr);
        }
        const auto place =
            static_cast<std::size_t>(std::distance(model.begin(), model.lower_bound(key)));
        REQUIRE(flat.lower_bound(key) == place);
        REQUIRE(flat.size() == model.size());
        REQUIRE(flat.empty() == model.empty());
        if (i % 16 == 0) {
            const Bytes bytes = bytes_of(flat);
            REQUIRE(bytes == bytes_of(model));
            REQUIRE(hash_of(flat) == hash_of(model));
            REQUIRE(tree_of(flat) == tree_of(model));
            FlatMap<Key, Value> loaded;
            loaded[made_of<Key>(5)] = value;
            REQUIRE(load_from(bytes, loaded));
            REQUIRE(loaded == flat);
        }
    }
    REQUIRE(schema_of(flat) == schema_of(model));
}

} // namespace

TEST_CASE("a flat map is a map, down to bytes, hash, schema and tree", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    compare_with_map<std::uint32_t, Stock>(random); // in one run
    compare_with_map<std::int16_t, double>(random); // one by one, negative keys first
    compare_with_map<std::uint8_t, std::uint64_t>(random);
    compare_with_map<std::string, std::string>(random);
}

TEST_CASE("the order of insertions leaves no trace in a flat map", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    std::vector<std::uint32_t> keys;
    for (std::uint32_t i = 0; i < 50; ++i) {
        keys.push_back(i * 3);
    }
    std::optional<Hash128> hash;
    for (int round = 0; round < 50; ++round) {
        for (std::size_t i = keys.size(); i > 1; --i) {
            std::swap(keys[i - 1], keys[random.below(i)]);
        }
        FlatMap<std::uint32_t, Stock> map;
        for (const std::uint32_t key : keys) {
            map[key + 1] = {};
            map[key] = {static_cast<std::uint16_t>(key), 1};
        }
        for (const std::uint32_t key : keys) {
            map.erase(key + 1);
        }
        REQUIRE(hash.value_or(hash_of(map)) == hash_of(map));
        hash = hash_of(map);
    }
}

TEST_CASE("walking through a flat map gives keys to read and values to write", "[sim][unit]") {
    FlatMap<Ware, Stock> map;
    map.reserve(3);
    map.insert(Ware::bread, {3, 0});
    map.insert(Ware::wood, {1, 0});
    for (auto [ware, stock] : map) {
        static_assert(std::is_const_v<std::remove_reference_t<decltype(ware)>>);
        stock.age = static_cast<std::uint16_t>(ware);
    }
    std::vector<int> seen;
    const auto& fixed = map;
    for (const auto& [ware, stock] : fixed) {
        seen.push_back(static_cast<int>(ware) * 100 + stock.count * 10 + stock.age);
    }
    REQUIRE(seen == std::vector<int>{10, 232});
    REQUIRE(fixed.items().size() == 2);
    REQUIRE(assertion_of([&] { static_cast<void>(fixed.at(Ware::iron)); }) == "value != nullptr");
    REQUIRE(assertion_of([&] { map.at(Ware::iron) = {}; }) == "value != nullptr");
    map.clear();
    REQUIRE(fixed.empty());
}

TEST_CASE("keys that are equal and yet differ stop the program", "[sim][unit]") {
    struct LastDigit {
        bool operator()(int a, int b) const { return a % 10 < b % 10; }
    };

    FlatMap<int, int, LastDigit> map;
    map[13] = 1;
    REQUIRE(map.contains(13));
    REQUIRE(assertion_of([&] { map[23] = 2; }) == "items_[place].key == key");
}

TEST_CASE("a flat map out of order, doubled, cut or too long is refused", "[sim][unit]") {
    using Item = FlatMapItem<std::uint32_t, std::string>;
    FlatMap<std::uint32_t, std::string> map;
    const Bytes good = bytes_of(std::vector<Item>{{1, "a"}, {2, "b"}, {7, ""}});
    REQUIRE(load_from(good, map));
    REQUIRE(bytes_of(map) == good);
    REQUIRE(refusal_of(bytes_of(std::vector<Item>{{2, "a"}, {1, "b"}}), map) ==
            "malformed map.key");
    REQUIRE(refusal_of(bytes_of(std::vector<Item>{{2, "a"}, {2, "a"}}), map) ==
            "malformed map.key");
    for (std::size_t size = 0; size < good.size(); ++size) {
        REQUIRE(refusal_of(ByteView(good).first(size), map).starts_with("truncated"));
    }
    REQUIRE(good.size() * 8 - refused_bits(good, map) > 20);
    Bytes many = good;
    many[6] = std::byte{1};
    require_cheap_refusal(many, map);
}

TEST_CASE("a flat map allocates nothing once it has its size", "[sim][unit]") {
    FlatMap<std::uint32_t, Stock> map;
    map.reserve(64);
    const AllocationCounter allocated;
    for (std::uint32_t i = 0; i < 2000; ++i) {
        map[i * 37 % 64].count += 1;
        map.erase(i * 11 % 64);
    }
    REQUIRE(allocated.count() == 0);
}
