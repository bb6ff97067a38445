// SPDX-License-Identifier: MIT
// What the tests of keys, sessions and the host share: a generator with a seed, keys, addresses.
#pragma once

#include "test_random.hpp"

#include "twinstep/net/crypto.hpp"

#include <cstdint>
#include <span>
#include <string_view>

/// Secrets from a seed.
class TestEntropy final : public twinstep::net::Entropy {
public:
    explicit TestEntropy(std::uint64_t seed = test_seed())
        : random_(seed) {}

    void fill(std::span<std::byte> target) override {
        for (std::byte& byte : target) {
            byte = static_cast<std::byte>(random_.bits());
        }
        ++fills;
    }

    std::uint64_t fills = 0;

private:
    TestRandom random_;
};

/// Room key, or plain where there is nothing better.
inline twinstep::net::wire::Mode sealed_mode() {
    using twinstep::net::wire::Mode;
    return twinstep::net::has_crypto() ? Mode::room_key : Mode::plain;
}

inline twinstep::net::Key key_of(std::uint64_t seed) {
    twinstep::net::Key key;
    TestEntropy(seed).fill(key.bytes);
    return key;
}

/// 127.0.0.1, or another address of 127.0.0.0/8.
inline twinstep::net::Address loopback(std::uint16_t port, std::uint8_t last = 1) {
    twinstep::net::Address address;
    address.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, last};
    address.port = port;
    return address;
}

/// An IPv4 address that is not loopback.
inline twinstep::net::Address far_address(std::uint32_t number, std::uint16_t port = 40'000) {
    twinstep::net::Address address;
    address.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 0};
    address.ip[13] = static_cast<std::uint8_t>(number >> 16U);
    address.ip[14] = static_cast<std::uint8_t>(number >> 8U);
    address.ip[15] = static_cast<std::uint8_t>(number);
    address.port = port;
    return address;
}

inline twinstep::Bytes bytes_of(std::string_view text) {
    const auto view = std::as_bytes(std::span(text));
    return {view.begin(), view.end()};
}
