// SPDX-License-Identifier: MIT
// libFuzzer's entry into one target, which is chosen when this is compiled.
#include "fuzz_targets.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // An own buffer of the exact size: whoever reads beyond it is caught.
    static_assert(sizeof(std::byte) == sizeof(std::uint8_t));
    TWINSTEP_FUZZ_FUNCTION(twinstep::ByteView(reinterpret_cast<const std::byte*>(data), size));
    return 0;
}
