// SPDX-License-Identifier: MIT
// Elements that come and go, under handles that know when theirs has gone.
#pragma once

#include "twinstep/sim/archive.hpp"
#include "twinstep/sim/assert.hpp"

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace twinstep {

/// Names an element of a SlotMap<T>. A default-made one names none. May be kept in a state.
template <class T>
struct SlotHandle {
    std::uint32_t index = 0;
    std::uint32_t generation = 0; ///< Odd, unless it is a handle of nothing.

    /// Both as one number, for a stream of draws or a key.
    constexpr std::uint64_t key() const { return std::uint64_t{generation} << 32 | index; }

    constexpr auto operator<=>(const SlotHandle&) const = default;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(index), CEREAL_NVP(generation));
    }
};

template <class T>
inline constexpr bool contiguous<SlotHandle<T>> = true;

/// Elements in slots. A slot that was given up is used again, the one given up last first, under
/// another generation, so that an old handle finds nothing. A slot that has had 2^31 - 1 elements
/// is not used again. Walking through goes by slots.
///     SlotMap<Unit, 4096> units_;
///     const SlotHandle<Unit> unit = units_.insert({x, y});
///     if (Unit* target = units_.find(order.target)) { ... }
///     for (auto [handle, unit] : units_) { ... }
/// An element may be erased while the map is walked through, any one; one that is inserted
/// meanwhile is met if its slot is still to come. Pointers and references are good until the next
/// insertion.
/// Which slots are free, in which order, and all generations are part of the state, saved and
/// hashed. slots_max bounds memory: a snapshot with more is refused before any is made.
/// Determinism: pure.
template <class T, std::uint32_t slots_max = 65536>
class SlotMap {
    static_assert(slots_max > 0);
    static_assert(!std::same_as<T, bool>, "use std::uint8_t: a vector of bool has no references");

public:
    using value_type = T;
    using Handle = SlotHandle<T>;

    /// What walking through gives, such as in `for (auto [handle, value] : map)`.
    template <class Value>
    struct Entry {
        Handle handle;
        Value& value;
    };

    template <class Map, class Value>
    class Iterator {
    public:
        explicit Iterator(Map& map)
            : map_(&map) {
            skip_free();
        }

        Entry<Value> operator*() const { return {map_->handle_of(slot_), map_->values_[slot_]}; }

        Iterator& operator++() {
            ++slot_;
            skip_free();
            return *this;
        }

        bool operator==(std::default_sentinel_t) const { return slot_ >= map_->values_.size(); }

    private:
        void skip_free() {
            while (slot_ < map_->values_.size() && !is_taken(map_->generations_[slot_])) {
                ++slot_;
            }
        }

        Map* map_;
        std::size_t slot_ = 0;
    };

    /// Elements that are there.
    std::size_t size() const noexcept { return size_; }

    bool empty() const noexcept { return size_ == 0; }

    /// Slots, taken or not.
    std::size_t slots() const noexcept { return generations_.size(); }

    void reserve(std::size_t count) {
        generations_.reserve(count);
        values_.reserve(count);
        free_.reserve(count);
    }

    /// Requires a slot: at most slots_max elements, fewer where slots have served their time.
    Handle insert(T value) {
        if (free_.empty()) {
            TWINSTEP_ASSERT(generations_.size() < slots_max);
            generations_.push_back(1);
            values_.push_back(std::move(value));
            free_.reserve(generations_.capacity()); // so that erasing allocates nothing
            ++size_;
            return handle_of(generations_.size() - 1);
        }
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        ++generations_[slot];
        values_[slot] = std::move(value);
        ++size_;
        return handle_of(slot);
    }

    /// False if the element has gone already.
    bool erase(Handle handle) {
        if (!contains(handle)) {
            return false;
        }
        const std::uint32_t slot = handle.index;
        values_[slot] = T{};
        ++generations_[slot];
        if (is_usable(generations_[slot])) {
            free_.push_back(slot);
        }
        --size_;
        return true;
    }

    /// Erases all elements, by slots; no handle of now will find one.
    void clear() {
        for (std::size_t slot = 0; slot < generations_.size(); ++slot) {
            if (is_taken(generations_[slot])) {
                erase(handle_of(slot));
            }
        }
    }

    bool contains(Handle handle) const {
        return handle.index < generations_.size() && is_taken(handle.generation) &&
               generations_[handle.index] == handle.generation;
    }

    /// The element, or null if it has gone.
    T* find(Handle handle) { return contains(handle) ? &values_[handle.index] : nullptr; }

    const T* find(Handle handle) const {
        return contains(handle) ? &values_[handle.index] : nullptr;
    }

    /// Requires that the element has not gone.
    T& at(Handle handle) {
        const bool handle_is_stale = !contains(handle);
        TWINSTEP_ASSERT(!handle_is_stale);
        return values_[handle.index];
    }

    const T& at(Handle handle) const {
        const bool handle_is_stale = !contains(handle);
        TWINSTEP_ASSERT(!handle_is_stale);
        return values_[handle.index];
    }

    auto begin() { return Iterator<SlotMap, T>(*this); }

    auto begin() const { return Iterator<const SlotMap, const T>(*this); }

    std::default_sentinel_t end() const { return {}; }

    /// Equal if nothing that is done to both can tell them apart.
    bool operator==(const SlotMap&) const = default;

    template <class Archive>
    void serialize(Archive& archive) {
        if constexpr (Archive::is_loading::value) {
            load(archive);
        } else {
            archive(cereal::make_nvp("generations", generations_));
            if constexpr (std::same_as<Archive, SchemaArchive>) {
                archive(cereal::make_nvp("values", values_));
            } else if constexpr (std::same_as<Archive, VisitArchive>) {
                visit_values(archive);
            } else {
                save_values(archive);
            }
            archive(cereal::make_nvp("free", free_));
        }
    }

private:
    /// The generation of a slot that has served its time. Even, as those of all free slots.
    static constexpr std::uint32_t retired = UINT32_MAX - 1;

    static constexpr bool is_taken(std::uint32_t generation) { return generation % 2 != 0; }

    static constexpr bool is_usable(std::uint32_t generation) {
        return !is_taken(generation) && generation != retired;
    }

    Handle handle_of(std::size_t slot) const {
        return {static_cast<std::uint32_t>(slot), generations_[slot]};
    }

    /// One after the other, those of taken slots; as runs where elements allow it.
    void save_values(OutArchive& archive) {
        for (std::size_t slot = 0; slot < values_.size();) {
            std::size_t end = slot;
            while (end < values_.size() && is_taken(generations_[end])) {
                ++end;
            }
            if constexpr (contiguous<T> || Scalar<T>) {
                archive.write_run(values_.data() + slot, end - slot);
            } else {
                for (std::size_t i = slot; i < end; ++i) {
                    archive(values_[i]);
                }
            }
            slot = end + 1;
        }
    }

    /// As a list with a place for each slot, so that a path says which it is.
    void visit_values(VisitArchive& archive) {
        archive.name_next("values");
        archive.begin_object(true);
        for (std::size_t slot = 0; slot < values_.size(); ++slot) {
            if (is_taken(generations_[slot])) {
                archive(values_[slot]);
            } else {
                archive.begin_object(false);
                archive.end_object();
            }
        }
        archive.end_object();
    }

    void load(InArchive& archive) {
        generations_.clear();
        values_.clear();
        free_.clear();
        size_ = 0;
        const std::size_t free_wanted = load_slots(archive);
        load_free(archive, free_wanted);
        if (!archive.ok()) {
            *this = SlotMap();
        }
    }

    /// How many of the slots are free and may be used again.
    std::size_t load_slots(InArchive& archive) {
        cereal::size_type count = 0;
        archive.read_count(count, sizeof(std::uint32_t));
        if (count > slots_max) {
            archive.reader().fail(SimErrc::limit_exceeded, "slot_map.slots");
        }
        std::size_t free_wanted = 0;
        for (std::size_t slot = 0; slot < count && archive.ok(); ++slot) {
            std::uint32_t generation = 0;
            archive(generation);
            if (generation == 0 || generation > retired) {
                archive.reader().fail(SimErrc::malformed, "slot_map.generation");
            }
            free_wanted += is_usable(generation) ? 1U : 0U;
            generations_.push_back(generation);
        }
        for (std::size_t slot = 0; slot < generations_.size() && archive.ok(); ++slot) {
            values_.emplace_back();
            if (is_taken(generations_[slot])) {
                archive(values_.back());
                ++size_;
            }
        }
        return free_wanted;
    }

    /// Each slot that is free and may be used again must be in the list, once.
    void load_free(InArchive& archive, std::size_t wanted) {
        cereal::size_type count = 0;
        archive.read_count(count, sizeof(std::uint32_t));
        if (archive.ok() && count != wanted) {
            archive.reader().fail(SimErrc::malformed, "slot_map.free");
        }
        for (std::size_t i = 0; i < count && archive.ok(); ++i) {
            std::uint32_t slot = 0;
            archive(slot);
            if (slot >= generations_.size() || !is_usable(generations_[slot])) {
                archive.reader().fail(SimErrc::malformed, "slot_map.free");
                return;
            }
            ++generations_[slot]; // not usable: a second time it is refused
            free_.push_back(slot);
        }
        for (const std::uint32_t slot : free_) {
            --generations_[slot];
        }
    }

    std::vector<std::uint32_t> generations_; ///< Of each slot; odd while it is taken.
    std::vector<T> values_;                  ///< Of each slot; default-made where it is free.
    std::vector<std::uint32_t> free_;        ///< Slots to use again, the last first.
    std::size_t size_ = 0;
};

} // namespace twinstep
