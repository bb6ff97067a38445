// SPDX-License-Identifier: MIT
// The test executables' entry point.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
