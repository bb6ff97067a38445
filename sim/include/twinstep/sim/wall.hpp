// SPDX-License-Identifier: MIT
// Read in front of every file of a simulation; see twinstep_simulation_wall in TwinstepWall.cmake.
// What a simulation needs is read here, with whatever that needs for itself. From then on a header
// that has no place in a simulation is an error.
#pragma once

#include "twinstep/sim.hpp"

// A simulation may use these, which are made of what it may not.
#include <any>
#include <complex>
#include <memory_resource>

#if !defined(TWINSTEP_WALL_OPEN)
#define TWINSTEP_WALL_SHUT
#endif
