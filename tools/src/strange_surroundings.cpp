// SPDX-License-Identifier: MIT
// Changes the locale and the floating-point mode of a thread, and puts them back.
#include "strange_surroundings.hpp"

#include <array>
#include <cfenv>

#if !defined(_WIN32)
#include <clocale>
#include <locale.h> // newlocale, which <clocale> need not have.
#endif
#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace twinstep::tools {

#if defined(_WIN32)

struct StrangeSurroundings::Kept {
    std::fenv_t mode{};
};

StrangeSurroundings::StrangeSurroundings()
    : kept_(std::make_unique<Kept>()) {}

StrangeSurroundings::~StrangeSurroundings() = default;

bool StrangeSurroundings::has_locale() const {
    return false;
}

#else

struct StrangeSurroundings::Kept {
    std::fenv_t mode{};
    locale_t comma{};
    locale_t before{};
};

namespace {

/// A locale whose decimal point is a comma, or none.
locale_t comma_locale() {
    constexpr std::array names{"de_DE.UTF-8",
                               "fr_FR.UTF-8",
                               "ru_RU.UTF-8",
                               "pt_BR.UTF-8",
                               "it_IT.UTF-8",
                               "es_ES.UTF-8",
                               "pl_PL.UTF-8",
                               "nl_NL.UTF-8"};
    for (const char* const name : names) {
        const locale_t found = newlocale(LC_ALL_MASK, name, locale_t{});
        if (found == locale_t{}) {
            continue;
        }
        const locale_t before = uselocale(found);
        const bool comma = *std::localeconv()->decimal_point == ',';
        uselocale(before);
        if (comma) {
            return found;
        }
        freelocale(found);
    }
    return locale_t{};
}

} // namespace

StrangeSurroundings::StrangeSurroundings()
    : kept_(std::make_unique<Kept>()) {
    kept_->comma = comma_locale();
}

StrangeSurroundings::~StrangeSurroundings() {
    if (has_locale()) {
        freelocale(kept_->comma);
    }
}

bool StrangeSurroundings::has_locale() const {
    return kept_->comma != locale_t{};
}

#endif

void StrangeSurroundings::enter() {
    std::fegetenv(&kept_->mode);
    std::fesetround(FE_UPWARD);
#if defined(__SSE2__) || defined(_M_X64)
    constexpr unsigned flush_and_denormals_are_zero = 0x8040;
    _mm_setcsr(_mm_getcsr() | flush_and_denormals_are_zero);
#endif
#if !defined(_WIN32)
    if (has_locale()) {
        kept_->before = uselocale(kept_->comma);
    }
#endif
}

void StrangeSurroundings::leave() {
#if !defined(_WIN32)
    if (has_locale()) {
        uselocale(kept_->before);
    }
#endif
    std::fesetenv(&kept_->mode);
}

} // namespace twinstep::tools
