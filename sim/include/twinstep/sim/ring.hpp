// SPDX-License-Identifier: MIT
// A list of at most N elements that is written at one end and read at the other.
#pragma once

#include "twinstep/sim/archive.hpp"
#include "twinstep/sim/assert.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace twinstep {

/// A ring of N places. Element 0 is the oldest. Where in memory it lies does not show: it is saved,
/// hashed and compared as the list of its elements, and its bytes are those of a vector.
///     Ring<Order, 16> orders_;
/// Never allocates. Determinism: pure.
template <class T, std::uint32_t places>
class Ring {
    static_assert(places > 0);

public:
    using value_type = T;

    /// Remembers a place and no address: what is pushed and popped meanwhile does not matter to it.
    template <class Container>
    class Iterator {
    public:
        using value_type = T;
        using difference_type = std::ptrdiff_t;

        Iterator() = default;

        Iterator(Container& ring, std::size_t index)
            : ring_(&ring)
            , index_(index) {}

        auto& operator*() const { return (*ring_)[index_]; }

        auto* operator->() const { return &**this; }

        Iterator& operator++() {
            ++index_;
            return *this;
        }

        Iterator operator++(int) {
            Iterator before = *this;
            ++index_;
            return before;
        }

        bool operator==(const Iterator& other) const { return index_ == other.index_; }

    private:
        Container* ring_ = nullptr;
        std::size_t index_ = 0;
    };

    static constexpr std::size_t capacity() { return places; }

    std::size_t size() const noexcept { return size_; }

    bool empty() const noexcept { return size_ == 0; }

    bool full() const noexcept { return size_ == places; }

    /// Requires that it is not full.
    void push_back(T value) {
        TWINSTEP_ASSERT(!full());
        values_[place(size_)] = std::move(value);
        ++size_;
    }

    /// As push_back, but of a full ring the oldest element is dropped.
    void push_over(T value) {
        if (full()) {
            pop_front();
        }
        push_back(std::move(value));
    }

    /// Takes the oldest element out. Requires one.
    T pop_front() {
        TWINSTEP_ASSERT(!empty());
        T value = std::exchange(values_[first_], T{});
        first_ = static_cast<std::uint32_t>(place(1));
        --size_;
        return value;
    }

    /// Takes the newest element out. Requires one.
    T pop_back() {
        TWINSTEP_ASSERT(!empty());
        --size_;
        return std::exchange(values_[place(size_)], T{});
    }

    void clear() {
        while (!empty()) {
            pop_back();
        }
        first_ = 0;
    }

    /// Requires index < size(); 0 is the oldest.
    T& operator[](std::size_t index) {
        TWINSTEP_ASSERT(index < size_);
        return values_[place(index)];
    }

    const T& operator[](std::size_t index) const {
        TWINSTEP_ASSERT(index < size_);
        return values_[place(index)];
    }

    T& front() { return (*this)[0]; }

    const T& front() const { return (*this)[0]; }

    T& back() { return (*this)[size_ - std::size_t{1}]; }

    const T& back() const { return (*this)[size_ - std::size_t{1}]; }

    auto begin() { return Iterator<Ring>(*this, 0); }

    auto end() { return Iterator<Ring>(*this, size_); }

    auto begin() const { return Iterator<const Ring>(*this, 0); }

    auto end() const { return Iterator<const Ring>(*this, size_); }

    friend bool operator==(const Ring& a, const Ring& b) requires std::equality_comparable<T> {
        bool same = a.size_ == b.size_;
        for (std::size_t i = 0; same && i < a.size_; ++i) {
            same = a[i] == b[i];
        }
        return same;
    }

    template <class Archive>
    void serialize(Archive& archive) {
        if constexpr (Archive::is_loading::value) {
            load(archive);
        } else if constexpr (std::same_as<Archive, SchemaArchive>) {
            archive.open("ring" + std::to_string(places) + "[");
            archive(T{});
            archive.close("]");
        } else {
            archive(cereal::make_size_tag(static_cast<cereal::size_type>(size_)));
            for (T& value : *this) {
                archive(value);
            }
        }
    }

private:
    std::size_t place(std::size_t index) const {
        const std::size_t place = first_ + index;
        return place < places ? place : place - places;
    }

    void load(InArchive& archive) {
        cereal::size_type count = 0;
        archive.read_count(count);
        if (count > places) {
            archive.reader().fail(SimErrc::limit_exceeded, "ring.count");
        }
        clear();
        for (std::size_t i = 0; i < count && archive.ok(); ++i) {
            T value{};
            archive(value);
            push_back(std::move(value));
        }
    }

    std::array<T, places> values_{};
    std::uint32_t first_ = 0;
    std::uint32_t size_ = 0;
};

namespace detail {

template <class T, std::uint32_t places>
inline constexpr bool is_list<Ring<T, places>> = true;

} // namespace detail

} // namespace twinstep
