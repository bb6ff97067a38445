// SPDX-License-Identifier: MIT
// Fixed point, draws and containers next to what they are instead of.
#pragma once

#include "report.hpp"

void toolbox_rows(bench::Report& report);
