// SPDX-License-Identifier: MIT
// A thread as another program might have left it: another locale, another floating-point mode.
#pragma once

#include "twinstep/replay/checks.hpp"

#include <memory>

namespace twinstep::tools {

/// While it is entered, this thread writes numbers with a decimal comma, rounds up, and, on x86,
/// flushes subnormals. Thread: one at a time.
class StrangeSurroundings final : public replay::Circumstance {
public:
    StrangeSurroundings();
    ~StrangeSurroundings() override;

    /// Whether a locale with a decimal comma is installed; without one the locale is left alone.
    bool has_locale() const;

    void enter() override;
    void leave() override;

private:
    struct Kept;
    std::unique_ptr<Kept> kept_;
};

} // namespace twinstep::tools
