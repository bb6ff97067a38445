// SPDX-License-Identifier: MIT
// The default answer to a broken contract: say it once, then abort.
#include <twinstep/timer/contract.hpp>

#include <cstdio>
#include <cstdlib>

namespace twinstep::timer {
namespace {

void print_and_abort(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "twinstep: %s:%d: required: %s\n", file, line, condition);
    std::abort();
}

ContractHandler current_handler = print_and_abort;

} // namespace

ContractHandler set_contract_handler(ContractHandler handler) noexcept {
    const ContractHandler before = current_handler;
    current_handler = handler != nullptr ? handler : print_and_abort;
    return before;
}

void contract_broken(const char* condition, const char* file, int line) {
    current_handler(condition, file, line);
    std::abort();
}

} // namespace twinstep::timer
