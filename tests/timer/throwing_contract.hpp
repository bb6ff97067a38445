// SPDX-License-Identifier: MIT
// Turns a broken contract into an exception while a test looks at it.
#pragma once

#include <twinstep/timer/contract.hpp>

#include <stdexcept>

namespace timer_test {

struct ContractBroken : std::logic_error {
    using std::logic_error::logic_error;
};

class ThrowingContract {
public:
    ThrowingContract()
        : before_(twinstep::timer::set_contract_handler(raise)) {}

    ThrowingContract(const ThrowingContract&) = delete;
    ThrowingContract& operator=(const ThrowingContract&) = delete;

    ~ThrowingContract() { twinstep::timer::set_contract_handler(before_); }

private:
    static void raise(const char* condition, const char* /*file*/, int /*line*/) {
        throw ContractBroken(condition);
    }

    twinstep::timer::ContractHandler before_;
};

} // namespace timer_test
