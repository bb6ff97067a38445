// SPDX-License-Identifier: MIT
// An iterator over what has an operator[]: a container and a place in it.
#pragma once

#include <cstddef>
#include <type_traits>

namespace twinstep::detail {

/// Remembers no address of an element, so that a container may grow under it.
template <class Container>
class PlaceIterator {
public:
    using value_type = typename std::remove_const_t<Container>::value_type;
    using difference_type = std::ptrdiff_t;

    PlaceIterator() = default;

    PlaceIterator(Container& container, std::size_t place)
        : container_(&container)
        , place_(place) {}

    decltype(auto) operator*() const { return (*container_)[place_]; }

    auto operator->() const { return &**this; }

    PlaceIterator& operator++() {
        ++place_;
        return *this;
    }

    PlaceIterator operator++(int) {
        PlaceIterator before = *this;
        ++place_;
        return before;
    }

    bool operator==(const PlaceIterator& other) const { return place_ == other.place_; }

private:
    Container* container_ = nullptr;
    std::size_t place_ = 0;
};

} // namespace twinstep::detail
