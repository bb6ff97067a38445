// SPDX-License-Identifier: MIT
// Random draws that belong to an entity: functions of seed, stream, entity, tick and draw number,
// and what is made of them: bounded integers, fractions, normal numbers, shuffled lists.
#pragma once

#include "twinstep/sim/archive.hpp"
#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/fixed.hpp"
#include "twinstep/sim/impl/wide.hpp"
#include "twinstep/sim/random.hpp"
#include "twinstep/sim/types.hpp"

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <utility>

namespace twinstep {

/// All that a draw depends on.
struct DrawKey {
    std::uint64_t seed = 0;
    std::uint32_t stream = 0; ///< What is drawn for; each purpose has a number of its own.
    std::uint64_t entity = 0; ///< Whom it is drawn for, such as SlotHandle::key().
    Tick tick;
    std::uint32_t draw = 0; ///< The first is 0.
};

/// 64 random bits: the draw with this key. Two keys have nothing to do with each other, and none
/// with the draws of Random.
/// Determinism: pure. Source: Philox4x32-10 (random.hpp), once for a key from seed, tick and
/// stream, once with this key for entity and draw.
std::uint64_t draw_bits(const DrawKey& key);

/// How often was drawn: a member of the state, one for the game, a part of it, or each entity. Two
/// runs that draw differently then differ in it at that tick, even if nothing else does yet.
struct DrawCount {
    std::uint64_t count = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(count));
    }

    constexpr auto operator<=>(const DrawCount&) const = default;
};

template <>
inline constexpr bool contiguous<DrawCount> = true;

/// The draws of one stream at one tick. Make it once a step: that is half of each draw's work.
class DrawStream {
public:
    DrawStream(std::uint64_t seed, Tick tick, std::uint32_t stream);

    /// Of the session and the tick that `random` is for.
    DrawStream(const Random& random, std::uint32_t stream)
        : DrawStream(random.seed(), random.tick(), stream) {}

private:
    friend class Draws;
    friend std::uint64_t draw_bits(const DrawKey& key);

    /// Draws 2 * index and 2 * index + 1 of an entity.
    std::array<std::uint32_t, 4> block(std::uint64_t entity, std::uint32_t index) const;

    std::array<std::uint32_t, 2> key_;
};

/// Lives from a draw to the end of the expression that it stands in. Not for users: it is the
/// default of a last parameter.
class DrawGuard {
public:
    explicit DrawGuard(CallPlace place = CallPlace::here())
        : place_(place) {}

    DrawGuard(const DrawGuard&) = delete;
    DrawGuard& operator=(const DrawGuard&) = delete;

    ~DrawGuard() {
        if (held_ != nullptr) {
            *held_ = false;
        }
    }

private:
    friend class Draws;

    CallPlace place_;
    bool* held_ = nullptr;
};

/// The draws of one entity in one stream at one tick, from the first on.
///     const DrawStream damage(step.random, 2);
///     for (auto [handle, unit] : units_) {
///         Draws draws(damage, handle.key(), unit.draws); // unit.draws: a DrawCount
///         const std::uint32_t points = draws.below(6);
///         ...
/// A second object with the same stream and entity repeats the draws of the first.
/// One draw an expression: compilers evaluate the arguments of a call in different orders. With
/// TWINSTEP_VALIDATE a second one stops the program and says in which line; so does a draw inside a
/// function that was called with a draw among its arguments.
/// Thread: parts of a loop may draw at the same time if each has a count of its own.
class Draws {
public:
    /// Requires that `count` lives as long.
    Draws(const DrawStream& stream, std::uint64_t entity, DrawCount& count)
        : stream_(stream)
        , entity_(entity)
        , count_(count) {}

    Draws(const Draws&) = delete;
    Draws& operator=(const Draws&) = delete;

    /// 64 fresh bits. Requires fewer than 2^32 draws.
    std::uint64_t bits(DrawGuard&& guard = DrawGuard()) {
        begin(guard);
        const std::uint64_t value = next();
        hold(guard);
        return value;
    }

    /// Uniform in [0, bound), without bias. Requires bound >= 1.
    std::uint32_t below(std::uint32_t bound, DrawGuard&& guard = DrawGuard()) {
        begin(guard);
        const std::uint32_t value = next_below(bound);
        hold(guard);
        return value;
    }

    /// Uniform in [low, high], without bias. Requires low <= high.
    std::int32_t between(std::int32_t low, std::int32_t high, DrawGuard&& guard = DrawGuard()) {
        begin(guard);
        const std::int32_t value = next_between(low, high);
        hold(guard);
        return value;
    }

    /// How many were drawn from this object.
    std::uint32_t draws() const { return draw_; }

    /// Stops the program if this is the second draw of an expression; not for users.
    void begin([[maybe_unused]] const DrawGuard& guard) const {
#if defined(TWINSTEP_VALIDATE_ENABLED) && TWINSTEP_VALIDATE_ENABLED
        if (open_) [[unlikely]] {
            second_draw(guard.place_);
        }
#endif
    }

    /// The expression has drawn; not for users.
    void hold(DrawGuard& guard) {
        open_ = true;
        guard.held_ = &open_;
    }

private:
    [[noreturn]] static void second_draw(CallPlace place);
    std::uint64_t next();
    std::uint32_t next_below(std::uint32_t bound);
    std::int32_t next_between(std::int32_t low, std::int32_t high);

    DrawStream stream_;
    std::uint64_t entity_;
    DrawCount& count_;
    std::uint32_t draw_ = 0;
    bool open_ = false; ///< The expression that drew last has not ended.
    std::array<std::uint32_t, 4> block_{};
};

/// Where 64 fresh bits come from: Random, Draws.
template <class S>
concept BitSource = requires(S& source) {
    { source.bits() } -> std::same_as<std::uint64_t>;
};

namespace detail {

/// Calls `draw`, which may take bits in several statements, as one draw of the caller's expression.
template <BitSource Source, class Draw>
auto one_draw(Source& source, DrawGuard& guard, const Draw& draw) {
    if constexpr (std::same_as<Source, Draws>) {
        source.begin(guard);
        const auto value = draw();
        source.hold(guard);
        return value;
    } else {
        return draw();
    }
}

/// Uniform in [0, bound), from the upper half of a 64 x 64 bit product; the few lower halves that
/// would be hit once too often are rejected.
/// Source: D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019.
template <BitSource Source>
std::uint64_t below_wide(Source& source, std::uint64_t bound) {
    const std::uint64_t reject_below = (0 - bound) % bound;
    for (;;) {
        const Wide product = multiply(source.bits(), bound);
        if (product.low >= reject_below) {
            return product.high;
        }
    }
}

/// A normal number from 64 bits: the upper half is how far from the centre, the lower where.
float normal_from(std::uint64_t bits);

} // namespace detail

/// Uniform in [0, bound), without bias, for bounds beyond 32 bits. Requires bound >= 1.
template <BitSource Source>
std::uint64_t below(Source& source, std::uint64_t bound, DrawGuard&& guard = DrawGuard()) {
    TWINSTEP_ASSERT(bound >= 1);
    return detail::one_draw(source, guard, [&] { return detail::below_wide(source, bound); });
}

/// True in `numerator` of `denominator` cases, exactly. Requires denominator >= 1.
template <BitSource Source>
bool chance(Source& source,
            std::uint32_t numerator,
            std::uint32_t denominator,
            DrawGuard&& guard = DrawGuard()) {
    return below(source, denominator, std::move(guard)) < numerator;
}

/// Uniform in [0, 1): one of the 2^24 multiples of 2^-24 for float, of the 2^53 of 2^-53 for
/// double, and any number of that range for fixed point.
///     const float share = unit<float>(draws);
template <class T, BitSource Source>
T unit(Source& source, DrawGuard&& guard = DrawGuard()) {
    return detail::one_draw(source, guard, [&] {
        const std::uint64_t bits = source.bits();
        if constexpr (std::same_as<T, float>) {
            return static_cast<float>(static_cast<std::int32_t>(bits >> 40)) * 0x1p-24F;
        } else if constexpr (std::same_as<T, double>) {
            return static_cast<double>(static_cast<std::int64_t>(bits >> 11)) * 0x1p-53;
        } else {
            return T::from_raw(static_cast<typename T::Raw>(bits >> (64 - T::fraction_bits)));
        }
    });
}

/// A normal number with mean 0 and standard deviation 1; none is beyond 6.67. Takes one draw.
/// Source: G. E. P. Box, M. E. Muller, "A note on the generation of random normal deviates", 1958.
template <BitSource Source>
float normal(Source& source, DrawGuard&& guard = DrawGuard()) {
    return detail::one_draw(source, guard, [&] { return detail::normal_from(source.bits()); });
}

/// Puts a list into any of its orders, each as likely: from the last place down, each element
/// changes places with one of those up to itself. Takes a draw for each element but the first, and
/// those that are rejected. For contiguous lists such as vectors, arrays and spans.
/// Source: R. Durstenfeld, "Algorithm 235: Random permutation", CACM 7(7), 1964.
template <BitSource Source, class List>
void shuffle(Source& source, List&& list) {
    const std::span values(list);
    for (std::size_t last = values.size(); last > 1; --last) {
        const std::uint64_t other = below(source, last);
        std::swap(values[last - 1], values[static_cast<std::size_t>(other)]);
    }
}

} // namespace twinstep
