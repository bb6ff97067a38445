// SPDX-License-Identifier: MIT
// A queue that gives the least element first, in an order that does not depend on how it is kept.
#pragma once

#include "twinstep/sim/archive.hpp"
#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/order.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace twinstep {

/// A binary heap: `top` and `pop` give the least element of a total order. With TWINSTEP_VALIDATE,
/// two elements that the order cannot tell apart, though they are not equal, stop the program when
/// they meet at the top or in a hash. Equal elements come out in the order in which they came in.
///     Heap<Event, ByTickAndId> events_;
/// It is saved and hashed in order, like the vector of what will be popped, so how it came to hold
/// this does not show. Requires that Less is a stateless strict weak order.
/// Determinism: pure.
template <class T, class Less = std::less<T>>
class Heap {
public:
    using value_type = T;

    std::size_t size() const noexcept { return entries_.size(); }

    bool empty() const noexcept { return entries_.empty(); }

    void clear() noexcept { entries_.clear(); }

    void reserve(std::size_t count) { entries_.reserve(count); }

    void push(T value) {
        entries_.push_back({std::move(value), next_});
        ++next_;
        rise(entries_.size() - 1);
    }

    /// The least element. Requires one.
    const T& top() const {
        TWINSTEP_ASSERT(!entries_.empty());
        return entries_.front().value;
    }

    /// Takes the least element out. Requires one.
    T pop([[maybe_unused]] CallPlace place = CallPlace::here()) {
        TWINSTEP_ASSERT(!entries_.empty());
        T least = std::move(entries_.front().value);
        if (entries_.size() > 1) {
            entries_.front() = std::move(entries_.back());
        }
        entries_.pop_back();
        if (!entries_.empty()) {
            sink();
#if defined(TWINSTEP_VALIDATE_ENABLED) && TWINSTEP_VALIDATE_ENABLED
            refuse_tie(least, top(), 0, place);
#endif
        }
        return least;
    }

    template <class Archive>
    void serialize(Archive& archive) {
        if constexpr (Archive::is_loading::value) {
            load(archive);
        } else if constexpr (std::same_as<Archive, SchemaArchive>) {
            archive.open("heap[");
            archive(T{});
            archive.close("]");
        } else {
            settle();
            archive(cereal::make_size_tag(static_cast<cereal::size_type>(entries_.size())));
            for (Entry& entry : entries_) {
                archive(entry.value);
            }
        }
    }

private:
    struct Entry {
        T value;
        std::uint64_t order = 0; ///< Of equal elements, the one that came first has the least.
    };

    static bool before(const Entry& a, const Entry& b) {
        const Less less;
        return less(a.value, b.value) || (a.order < b.order && !less(b.value, a.value));
    }

    static void refuse_tie(const T& a, const T& b, std::size_t first, CallPlace place) {
        if (!Less{}(a, b) && !detail::interchangeable(a, b)) [[unlikely]] {
            detail::tied("Heap", first, place);
        }
    }

    void rise(std::size_t at) {
        while (at > 0) {
            const std::size_t parent = (at - 1) / 2;
            if (!before(entries_[at], entries_[parent])) {
                return;
            }
            std::swap(entries_[at], entries_[parent]);
            at = parent;
        }
    }

    /// The first entry, to where it belongs.
    void sink() {
        std::size_t at = 0;
        for (;;) {
            std::size_t child = 2 * at + 1;
            if (child >= entries_.size()) {
                return;
            }
            if (child + 1 < entries_.size() && before(entries_[child + 1], entries_[child])) {
                ++child;
            }
            if (!before(entries_[child], entries_[at])) {
                return;
            }
            std::swap(entries_[at], entries_[child]);
            at = child;
        }
    }

    /// Puts the entries in order, which a heap may be in, and numbers them anew. What comes out
    /// later is the same as before: no two entries are equal.
    void settle() {
        detail::stable_sort_in_place(std::span(entries_),
                                     [](const Entry& a, const Entry& b) { return before(a, b); });
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            entries_[i].order = i;
#if defined(TWINSTEP_VALIDATE_ENABLED) && TWINSTEP_VALIDATE_ENABLED
            if (i > 0) {
                refuse_tie(entries_[i - 1].value, entries_[i].value, i - 1, CallPlace::here());
            }
#endif
        }
    }

    void load(InArchive& archive) {
        cereal::size_type count = 0;
        archive.read_count(count);
        entries_.clear();
        for (std::size_t i = 0; i < count && archive.ok(); ++i) {
            Entry entry{T{}, i};
            archive(entry.value);
            if (!entries_.empty() && Less{}(entry.value, entries_.back().value)) {
                archive.reader().fail(SimErrc::malformed, "heap.order");
            }
            if (archive.ok()) {
                entries_.push_back(std::move(entry));
            }
        }
        next_ = entries_.size();
    }

    std::vector<Entry> entries_;
    std::uint64_t next_ = 0;
};

namespace detail {

template <class T, class Less>
inline constexpr bool is_list<Heap<T, Less>> = true;

} // namespace detail

} // namespace twinstep
