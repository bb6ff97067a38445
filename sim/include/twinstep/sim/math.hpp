// SPDX-License-Identifier: MIT
// Mathematics that is the same everywhere: the float nearest to the true result, for every
// argument.
#pragma once

#include "twinstep/sim/float_environment.hpp"
#include "twinstep/sim/math/batch.hpp"
#include "twinstep/sim/math/exponential.hpp"
#include "twinstep/sim/math/inverse.hpp"
#include "twinstep/sim/math/logarithm.hpp"
#include "twinstep/sim/math/power.hpp"
#include "twinstep/sim/math/root.hpp"
#include "twinstep/sim/math/trigonometric.hpp"
#include "twinstep/sim/math/values.hpp"

/// Functions of floats that depend on nothing but their arguments: not on compiler, flags, CPU,
/// operating system or version of Twinstep. Each result is the float nearest to the mathematical
/// value, ties to even; a NaN is always the canonical one.
/// Requires rounding to nearest and no flushing of subnormals, as steps run under.
/// Determinism: pure; usable in constant expressions.
/// The contract, special values and how it is proved: docs/math.md.
namespace twinstep::math {}
