// SPDX-License-Identifier: MIT
// Sorting whose result is defined: by a total order, which builds with checks demand, and the same
// with every standard library where elements are equal all the same.
#pragma once

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace twinstep {

namespace detail {

/// Ends the program by way of the assertion handler: neighbours `first` and the next, in the order
/// that came out, are neither before nor after each other and not the same either.
[[noreturn]] void tied(const char* what, std::size_t first, CallPlace place);

/// True if nobody can tell the values apart. For types that have no == nobody knows.
template <class T>
bool interchangeable(const T& a, const T& b) {
    if constexpr (std::same_as<T, float>) {
        return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
    } else if constexpr (std::same_as<T, double>) {
        return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
    } else if constexpr (std::equality_comparable<T>) {
        return a == b;
    } else {
        return false;
    }
}

/// Lists up to this length are sorted by insertion. Found by trying 8 to 32.
inline constexpr std::size_t insertion_run = 16;

template <class T, class Less>
void sort_by_insertion(std::span<T> values, const Less& less) {
    for (std::size_t i = 1; i < values.size(); ++i) {
        if (!less(values[i], values[i - 1])) {
            continue;
        }
        T value = std::move(values[i]);
        std::size_t hole = i;
        do {
            values[hole] = std::move(values[hole - 1]);
            --hole;
        } while (hole > 0 && less(value, values[hole - 1]));
        values[hole] = std::move(value);
    }
}

/// Elements that there is room for on the stack while two parts are merged. A page of it makes all
/// but the longest lists quick.
template <class T>
inline constexpr std::size_t
    merge_room = std::is_trivially_copyable_v<T>&& std::is_copy_assignable_v<T> ? 4096 / sizeof(T)
                                                                                : 0;

/// Merges as merge_in_place does, by way of a copy of the first part. Requires room for it.
template <class T, class Less>
void merge_through_room(std::span<T> values, std::size_t middle, const Less& less) {
    alignas(T) std::array<std::byte, merge_room<T> * sizeof(T)> room;
    std::memcpy(room.data(), values.data(), middle * sizeof(T));
    const T* first = std::launder(reinterpret_cast<const T*>(room.data()));
    const T* const first_end = first + middle;
    std::size_t second = middle;
    std::size_t target = 0;
    while (first != first_end && second < values.size()) {
        const bool from_second = less(values[second], *first);
        values[target] = from_second ? values[second] : *first;
        second += from_second ? 1 : 0;
        first += from_second ? 0 : 1;
        ++target;
    }
    std::copy(first, first_end, values.begin() + static_cast<std::ptrdiff_t>(target));
}

/// Merges the sorted parts before and from `middle` in place; of equal elements those of the first
/// part come first. The second part is cut in half, the first where that half begins to belong, and
/// what lies between the cuts changes sides. The second part halves with each level of calls.
/// Source: K. Dudzinski, A. Dydek, "On a stable storage merging algorithm", 1981.
template <class T, class Less>
void merge_in_place(std::span<T> values, std::size_t middle, const Less& less) {
    while (middle > 0 && middle < values.size() && less(values[middle], values[middle - 1])) {
        if constexpr (merge_room<T> != 0) {
            if (middle <= merge_room<T>) {
                merge_through_room(values, middle, less);
                return;
            }
        }
        const auto begin = values.begin();
        const auto second = begin + static_cast<std::ptrdiff_t>(middle);
        const auto half = second + (values.end() - second - 1) / 2;
        const auto belongs = std::upper_bound(begin, second, *half, less);
        const auto left = static_cast<std::size_t>(belongs - begin);
        const auto cut = static_cast<std::size_t>(std::rotate(belongs, second, half + 1) - begin);
        merge_in_place(values.first(cut), left, less);
        values = values.subspan(cut);
        middle -= left;
    }
}

template <class T, class Less>
void stable_sort_in_place(std::span<T> values, const Less& less) {
    for (std::size_t begin = 0; begin < values.size(); begin += insertion_run) {
        sort_by_insertion(values.subspan(begin, std::min(insertion_run, values.size() - begin)),
                          less);
    }
    for (std::size_t width = insertion_run; width < values.size(); width *= 2) {
        for (std::size_t begin = 0; begin + width < values.size(); begin += 2 * width) {
            merge_in_place(
                values.subspan(begin, std::min(2 * width, values.size() - begin)), width, less);
        }
    }
}

} // namespace detail

/// Sorts a contiguous list by a total order: `less` says of any two different elements which comes
/// first. With TWINSTEP_VALIDATE, two that it cannot tell apart, though they are not equal, stop
/// the program, which says where they ended up and which call it was. Equal elements keep the order
/// they were in, so that the result is defined in any case. Allocates nothing; uses 4 KiB of stack.
///     total_sort(units, [](const Unit& a, const Unit& b) {
///         return std::tie(a.distance, a.id) < std::tie(b.distance, b.id);
///     });
/// Requires that `less` is a strict weak order: never true both ways round.
/// Determinism: pure.
template <class List, class Less = std::less<>>
void total_sort(List&& list,
                const Less& less = {},
                [[maybe_unused]] CallPlace place = CallPlace::here()) {
    const std::span<std::remove_reference_t<decltype(*std::data(list))>> values(list);
    detail::stable_sort_in_place(values, less);
#if defined(TWINSTEP_VALIDATE_ENABLED) && TWINSTEP_VALIDATE_ENABLED
    for (std::size_t i = 1; i < values.size(); ++i) {
        if (!less(values[i - 1], values[i]) && !detail::interchangeable(values[i - 1], values[i]))
            [[unlikely]] {
            detail::tied("total_sort", i - 1, place);
        }
    }
#endif
}

} // namespace twinstep
