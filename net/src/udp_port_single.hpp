// SPDX-License-Identifier: MIT
// One datagram for each call of the system, where it cannot take more: everywhere but on Linux.
#pragma once

#if !defined(__linux__)

#include "udp_port_address.hpp"

#include "twinstep/net/types.hpp"
#include "twinstep/sim/bytes.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/udp.hpp>

#include <array>
#include <cstddef>

namespace twinstep::net {

inline constexpr std::size_t udp_batch_max = 1;
/// Longer than any datagram of ours, so that one which is too long is seen to be so.
inline constexpr std::size_t udp_buffer_bytes = 2048;

/// The interface of udp_port_batch.hpp over what every system has.
class UdpInbox {
public:
    std::size_t
    receive(boost::asio::ip::udp::socket& socket, std::size_t, boost::system::error_code& error) {
        size_ = socket.receive_from(boost::asio::buffer(buffer_), from_, 0, error);
        is_cut_ = error == boost::asio::error::message_size;
        if (is_cut_) {
            error = {};
        }
        return error ? 0 : 1;
    }

    bool is_cut(std::size_t) const { return is_cut_; }

    ByteView bytes(std::size_t) const { return ByteView(buffer_).first(size_); }

    Address from(std::size_t) const { return address_of(from_); }

private:
    std::array<std::byte, udp_buffer_bytes> buffer_{};
    boost::asio::ip::udp::endpoint from_;
    std::size_t size_ = 0;
    bool is_cut_ = false;
};

} // namespace twinstep::net

#endif
