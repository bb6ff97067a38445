// SPDX-License-Identifier: MIT
// Instructions against the rules, for whichever machine the code is.
#include "lint_opcodes.hpp"

#include "lint_names.hpp"

#include <algorithm>

namespace twinstep::tools::lint {

namespace {

/// Code that runs before main and sets the mode is what -ffast-math links in; it has a few dozen
/// bytes.
bool is_start_up(const CodeImage& image, std::uint64_t address) {
    constexpr std::uint64_t start_up_bytes_max = 128;
    return std::any_of(image.constructors.begin(), image.constructors.end(), [&](auto start) {
        return address >= start && address - start < start_up_bytes_max;
    });
}

} // namespace

Decoding find_opcodes(const CodeImage& image, const FunctionIndex& functions, FindingList& list) {
    const OpcodeUse use = [&](std::uint32_t section,
                              std::uint64_t address,
                              std::string_view mnemonic,
                              Hazard hazard) {
        Finding finding = finding_at(image, functions, section, address);
        const CodeSymbol* function = functions.find(section, address);
        // Another function may follow a short one that runs before main.
        const bool start_up =
            finding.function == "set_fast_math" ||
            (image.linked &&
             (function == nullptr ||
              std::find(image.constructors.begin(), image.constructors.end(), function->address) !=
                  image.constructors.end()) &&
             is_start_up(image, address));
        if (hazard == Hazard::float_mode && start_up) {
            hazard = Hazard::fast_math;
        }
        finding.symbol = mnemonic;
        finding.hazard = hazard;
        finding.instead = instead_of(hazard);
        list.add(std::move(finding), mnemonic);
    };
    switch (image.machine) {
    case Machine::x86_32:
    case Machine::x86_64:
        return scan_x86(image, functions, use);
    case Machine::aarch64:
        return scan_aarch64(image, use);
    case Machine::other:
        break;
    }
    return {false, 0, "its instructions are not decoded"};
}

std::vector<LinkedCall> linked_calls(const CodeImage& image) {
    switch (image.machine) {
    case Machine::x86_32:
    case Machine::x86_64:
        return x86_calls(image);
    case Machine::aarch64:
        return aarch64_calls(image);
    case Machine::other:
        break;
    }
    return {};
}

} // namespace twinstep::tools::lint
