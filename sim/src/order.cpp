// SPDX-License-Identifier: MIT
// The last words where an order is not total.
#include "twinstep/sim/order.hpp"

#include <string>

namespace twinstep::detail {

void tied(const char* what, std::size_t first, CallPlace place) {
    const std::string text =
        std::string(what) + ": elements " + std::to_string(first) + " and " +
        std::to_string(first + 1) +
        " of the result differ, but neither comes first; add what tells them apart to the order, "
        "such as an identifier";
    assertion_failed({text, place.file, place.line, what});
}

} // namespace twinstep::detail
