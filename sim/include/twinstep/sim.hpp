// SPDX-License-Identifier: MIT
// Everything a game needs in order to be simulated.
#pragma once

#include "twinstep/sim/draws.hpp"
#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/fixed.hpp"
#include "twinstep/sim/flat_map.hpp"
#include "twinstep/sim/float_environment.hpp"
#include "twinstep/sim/game.hpp"
#include "twinstep/sim/heap.hpp"
#include "twinstep/sim/manifest.hpp"
#include "twinstep/sim/order.hpp"
#include "twinstep/sim/ring.hpp"
#include "twinstep/sim/simulation.hpp"
#include "twinstep/sim/slot_map.hpp"
