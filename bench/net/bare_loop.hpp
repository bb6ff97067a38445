// SPDX-License-Identifier: MIT
// The floor: receive a datagram, open it, seal an answer, send it. No protocol, no match. The calls
// of the system are those of the product's port, in batches of the same size.
#pragma once

#include "net/batch.hpp"

#include <sodium.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace bench {

/// Clients and server of the bare loop over the sockets given. Keys and sequences are each
/// client's own, and looked up by the port, as any server must.
class BareLoop {
public:
    static constexpr std::size_t header_bytes = 7;

    /// `up_bytes` and `down_bytes`: of a whole datagram with header and tag.
    BareLoop(UdpSocket& server,
             std::vector<UdpSocket>& clients,
             std::size_t up_bytes,
             std::size_t down_bytes)
        : port_(server.port())
        , clients_(clients)
        , up_bytes_(up_bytes)
        , down_bytes_(down_bytes)
        , batch_(server)
        , peers_(clients.size())
        , by_port_(65536, 0) {
        for (std::size_t i = 0; i < peers_.size(); ++i) {
            randombytes_buf(peers_[i].up.data(), peers_[i].up.size());
            randombytes_buf(peers_[i].down.data(), peers_[i].down.size());
            by_port_[clients_[i].port()] = static_cast<std::uint32_t>(i);
        }
    }

    /// Every client sends a datagram. Not what is measured.
    void clients_send() {
        ++sequence_;
        for (std::size_t i = 0; i < peers_.size(); ++i) {
            seal(peers_[i].up, 1, out_.data(), up_bytes_);
            clients_[i].send(port_, twinstep::ByteView(out_).first(up_bytes_));
        }
    }

    /// Receives, opens, seals and sends until nothing is left; how many it were.
    std::size_t serve() {
        std::size_t served = 0;
        for (std::size_t count = SocketBatch::most; count == SocketBatch::most;) {
            count = batch_.receive();
            for (std::size_t i = 0; i < count; ++i) {
                const std::uint16_t from = batch_.from(i);
                Peer& peer = peers_[by_port_[from]];
                if (!open(peer.up, 1, batch_.bytes(i))) {
                    continue;
                }
                seal(peer.down, 2, batch_.place(), down_bytes_);
                batch_.add(from, down_bytes_);
                ++served;
            }
            batch_.flush();
        }
        return served;
    }

    /// Every client takes what came.
    std::size_t clients_receive() {
        std::size_t received = 0;
        std::uint16_t from = 0;
        for (std::size_t i = 0; i < peers_.size(); ++i) {
            while (!clients_[i].receive(from).empty()) {
                ++received;
            }
        }
        return received;
    }

private:
    using Key = std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_KEYBYTES>;

    struct Peer {
        Key up{};
        Key down{};
    };

    std::array<unsigned char, 12> nonce(std::uint8_t direction, std::uint32_t sequence) const {
        std::array<unsigned char, 12> bytes{};
        bytes[0] = direction;
        std::memcpy(bytes.data() + 4, &sequence, sizeof sequence);
        return bytes;
    }

    /// `out` has room for `bytes`.
    void seal(const Key& key, std::uint8_t direction, std::byte* out, std::size_t bytes) {
        const auto number = nonce(direction, sequence_);
        out[0] = std::byte{0x40};
        std::memcpy(out + 3, &sequence_, sizeof sequence_);
        unsigned long long size = 0;
        crypto_aead_chacha20poly1305_ietf_encrypt(
            reinterpret_cast<unsigned char*>(out) + header_bytes,
            &size,
            plain_.data(),
            bytes - header_bytes - crypto_aead_chacha20poly1305_ietf_ABYTES,
            reinterpret_cast<const unsigned char*>(out),
            header_bytes,
            nullptr,
            number.data(),
            key.data());
    }

    bool open(const Key& key, std::uint8_t direction, twinstep::ByteView view) {
        if (view.size() < header_bytes + crypto_aead_chacha20poly1305_ietf_ABYTES) {
            return false;
        }
        std::uint32_t sequence = 0;
        std::memcpy(&sequence, view.data() + 3, sizeof sequence);
        const auto number = nonce(direction, sequence);
        unsigned long long size = 0;
        const auto* bytes = reinterpret_cast<const unsigned char*>(view.data());
        return crypto_aead_chacha20poly1305_ietf_decrypt(plain_.data(),
                                                         &size,
                                                         nullptr,
                                                         bytes + header_bytes,
                                                         view.size() - header_bytes,
                                                         bytes,
                                                         header_bytes,
                                                         number.data(),
                                                         key.data()) == 0;
    }

    std::uint16_t port_;
    std::vector<UdpSocket>& clients_;
    std::size_t up_bytes_;
    std::size_t down_bytes_;
    SocketBatch batch_;
    std::vector<Peer> peers_;
    std::vector<std::uint32_t> by_port_;
    std::uint32_t sequence_ = 0;
    std::array<unsigned char, 2048> plain_{};
    std::array<std::byte, 2048> out_{};
};

} // namespace bench
