// SPDX-License-Identifier: MIT
// A map in one sorted list: quick to look up and to walk through, and the same whatever the order
// of insertions was.
#pragma once

#include "twinstep/sim/archive.hpp"
#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/order.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace twinstep {

/// A key and its value, as a flat map keeps them.
template <class Key, class Value>
struct FlatMapItem {
    Key key{};
    Value value{};

    bool operator==(const FlatMapItem&) const = default;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(key), CEREAL_NVP(value));
    }
};

namespace detail {

/// Types whose memory is their encoding on a little-endian machine.
template <class T>
inline constexpr bool encoded_in_place = contiguous<T> || std::is_enum_v<T> ||
                                         (Scalar<T> && std::integral<T>);

} // namespace detail

template <class Key, class Value>
inline constexpr bool contiguous<FlatMapItem<Key, Value>> = detail::encoded_in_place<Key>&&
    detail::encoded_in_place<Value>&& PaddingFree<FlatMapItem<Key, Value>>;

/// A map as a sorted vector. Bytes, schema and hash are those of a std::map with the same content,
/// so that one may take the other's place; a hash costs much less if key and value are integers or
/// contiguous, without padding between them.
///     FlatMap<std::uint32_t, Stock> stocks_;
///     for (auto [id, stock] : stocks_) { stock.age += 1; } // by id
/// Inserting and erasing move what is behind, so it is for maps that are looked up more often than
/// changed, or small. Pointers and references to values are good until the next of these.
/// Requires that Less is a stateless total order of the keys. Floats are no keys (-0 equals 0, NaN
/// has no order), and neither are pointers (their order is the allocator's).
/// Determinism: pure.
template <class Key, class Value, class Less = std::less<Key>>
class FlatMap {
    static_assert(!std::is_floating_point_v<Key>, "floats have no total order");
    static_assert(!std::is_pointer_v<Key>, "the order of addresses is the allocator's");

public:
    using Item = FlatMapItem<Key, Value>;

    /// What walking through a map gives, such as in `for (auto [key, value] : map)`.
    struct Entry {
        const Key& key;
        Value& value;
    };

    class Iterator {
    public:
        explicit Iterator(Item* item)
            : item_(item) {}

        Entry operator*() const { return {item_->key, item_->value}; }

        Iterator& operator++() {
            ++item_;
            return *this;
        }

        bool operator==(const Iterator&) const = default;

    private:
        Item* item_;
    };

    FlatMap() = default;

    std::size_t size() const noexcept { return items_.size(); }

    bool empty() const noexcept { return items_.empty(); }

    void clear() noexcept { items_.clear(); }

    void reserve(std::size_t count) { items_.reserve(count); }

    /// All, by key.
    std::span<const Item> items() const noexcept { return items_; }

    const Item* begin() const noexcept { return items_.data(); }

    const Item* end() const noexcept { return items_.data() + items_.size(); }

    Iterator begin() noexcept { return Iterator(items_.data()); }

    Iterator end() noexcept { return Iterator(items_.data() + items_.size()); }

    /// The place in items() of the first key that is not less; size() if there is none.
    std::size_t lower_bound(const Key& key) const {
        // Halves without a branch on what was compared, which no CPU could foretell.
        const Item* first = items_.data();
        std::size_t count = items_.size();
        while (count > 0) {
            const std::size_t half = (count + 1) / 2;
            first += half * static_cast<std::size_t>(Less{}(first[half - 1].key, key));
            count -= half;
        }
        return static_cast<std::size_t>(first - items_.data());
    }

    bool contains(const Key& key) const { return find(key) != nullptr; }

    /// The value, or null.
    const Value* find(const Key& key) const {
        const std::size_t place = lower_bound(key);
        return is_at(place, key) ? &items_[place].value : nullptr;
    }

    Value* find(const Key& key) {
        const std::size_t place = lower_bound(key);
        return is_at(place, key) ? &items_[place].value : nullptr;
    }

    /// Requires that the key is there.
    const Value& at(const Key& key) const {
        const Value* const value = find(key);
        TWINSTEP_ASSERT(value != nullptr);
        return *value;
    }

    Value& at(const Key& key) {
        Value* const value = find(key);
        TWINSTEP_ASSERT(value != nullptr);
        return *value;
    }

    /// The value, default-made if the key is new.
    Value& operator[](const Key& key) {
        const std::size_t place = lower_bound(key);
        if (!is_at(place, key)) {
            insert_at(place, key, Value{});
        }
        return items_[place].value;
    }

    /// False, and nothing changes, if the key is there.
    bool insert(const Key& key, Value value) {
        const std::size_t place = lower_bound(key);
        if (is_at(place, key)) {
            return false;
        }
        insert_at(place, key, std::move(value));
        return true;
    }

    /// Inserts, or replaces the value of a key that is there.
    void set(const Key& key, Value value) { (*this)[key] = std::move(value); }

    /// False if the key is not there.
    bool erase(const Key& key) {
        const std::size_t place = lower_bound(key);
        const bool found = is_at(place, key);
        if (found) {
            items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(place));
        }
        return found;
    }

    /// Erases what `unwanted(key, value)` is true for, asked once for each, by key. How many.
    template <class Predicate>
    std::size_t erase_if(Predicate unwanted) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (unwanted(std::as_const(items_[i].key), items_[i].value)) {
                continue;
            }
            if (kept != i) {
                items_[kept] = std::move(items_[i]);
            }
            ++kept;
        }
        const std::size_t erased = items_.size() - kept;
        items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(kept), items_.end());
        return erased;
    }

    bool operator==(const FlatMap&) const = default;

    template <class Archive>
    void serialize(Archive& archive) {
        if constexpr (Archive::is_loading::value) {
            load(archive);
        } else if constexpr (std::same_as<Archive, SchemaArchive>) {
            archive.open("map[");
            archive(Key{}, Value{});
            archive.close("]");
        } else if constexpr (std::same_as<Archive, OutArchive>) {
            archive(items_);
        } else {
            for (Item& item : items_) {
                archive(item);
            }
        }
    }

private:
    bool is_at(std::size_t place, const Key& key) const {
        if (place == items_.size() || Less{}(key, items_[place].key)) {
            return false;
        }
        if constexpr (std::equality_comparable<Key>) {
            // Otherwise which of the two is kept would depend on which came first.
            TWINSTEP_VALIDATE(items_[place].key == key);
        }
        return true;
    }

    void insert_at(std::size_t place, const Key& key, Value value) {
        items_.insert(items_.begin() + static_cast<std::ptrdiff_t>(place),
                      Item{key, std::move(value)});
    }

    void load(InArchive& archive) {
        cereal::size_type count = 0;
        archive.read_count(count);
        items_.clear();
        for (std::size_t i = 0; i < count && archive.ok(); ++i) {
            Item item;
            archive(item);
            if (!items_.empty() && !Less{}(items_.back().key, item.key)) {
                archive.reader().fail(SimErrc::malformed, "map.key");
            }
            if (archive.ok()) {
                items_.push_back(std::move(item));
            }
        }
    }

    std::vector<Item> items_;
};

namespace detail {

template <class Key, class Value, class Less>
inline constexpr bool is_list<FlatMap<Key, Value, Less>> = true;

} // namespace detail

} // namespace twinstep
