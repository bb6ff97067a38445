// SPDX-License-Identifier: MIT
// The system's random numbers.
#include "sodium.hpp"

#include "twinstep/net/types.hpp"

#include <cstddef>
#include <random>

namespace twinstep::net {

namespace {

class SystemEntropy final : public Entropy {
public:
    void fill(std::span<std::byte> target) override {
#if TWINSTEP_NET_CRYPTO
        ensure_sodium();
        randombytes_buf(target.data(), target.size());
#else
        // Every library this is built with asks the kernel or the CPU here; none has a fixed seed.
        // tidy: allow c-random: secrets must not be repeatable.
        std::random_device device;
        for (std::byte& byte : target) {
            byte = static_cast<std::byte>(device() & 0xFFU);
        }
#endif
    }
};

} // namespace

Entropy& system_entropy() {
    static SystemEntropy entropy;
    return entropy;
}

} // namespace twinstep::net
