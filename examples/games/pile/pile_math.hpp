// SPDX-License-Identifier: MIT
// The only floating-point operations the game uses: + - * /, comparisons, and one square root.
#pragma once

#include <cstdint>

#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace twinstep::games::pile_detail {

/// A point or direction. Units: metres, metres a second, or none.
struct Vec {
    float x = 0.0F;
    float y = 0.0F;
};

constexpr Vec operator+(Vec a, Vec b) {
    return {a.x + b.x, a.y + b.y};
}

constexpr Vec operator-(Vec a, Vec b) {
    return {a.x - b.x, a.y - b.y};
}

constexpr Vec operator*(Vec a, float scale) {
    return {a.x * scale, a.y * scale};
}

constexpr float dot(Vec a, Vec b) {
    return a.x * b.x + a.y * b.y;
}

constexpr float cross(Vec a, Vec b) {
    return a.x * b.y - a.y * b.x;
}

/// Turns `v` by the unit vector `turn` (cosine, sine).
constexpr Vec rotate(Vec turn, Vec v) {
    return {turn.x * v.x - turn.y * v.y, turn.y * v.x + turn.x * v.y};
}

/// Turns `v` back.
constexpr Vec unrotate(Vec turn, Vec v) {
    return {turn.x * v.x + turn.y * v.y, turn.x * v.y - turn.y * v.x};
}

/// The second argument unless the first is smaller; a NaN first gives the second.
constexpr float lesser(float a, float b) {
    return a < b ? a : b;
}

/// The second argument unless the first is larger; a NaN first gives the second.
constexpr float greater(float a, float b) {
    return a > b ? a : b;
}

/// `value` in [low, high]; a NaN gives `low`. Requires low <= high.
constexpr float clamp(float value, float low, float high) {
    return value > low ? (value < high ? value : high) : low;
}

/// The size of a number; both zeros give +0.
constexpr float magnitude(float value) {
    return value < 0.0F ? -value : value + 0.0F;
}

/// IEEE square root, correctly rounded everywhere. Requires value >= 0.
inline float square_root(float value) {
#if defined(__SSE2__) || defined(_M_X64)
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(value)));
#else
    return __builtin_sqrtf(value);
#endif
}

/// The unit vector along `v`, or `fallback` where `v` is too short to have a direction.
inline Vec unit(Vec v, Vec fallback) {
    const float length_squared = dot(v, v);
    if (!(length_squared > 1.0e-12F)) {
        return fallback;
    }
    return v * (1.0F / square_root(length_squared));
}

/// The grid cell of a coordinate in metres, in [0, cells). A NaN gives 0; never out of range of the
/// integer. Requires cells >= 1.
constexpr std::int32_t cell_of(float coordinate, std::int32_t cells) {
    if (!(coordinate > 0.0F)) {
        return 0;
    }
    if (!(coordinate < static_cast<float>(cells))) {
        return cells - 1;
    }
    return static_cast<std::int32_t>(coordinate);
}

} // namespace twinstep::games::pile_detail
