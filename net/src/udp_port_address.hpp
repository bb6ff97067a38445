// SPDX-License-Identifier: MIT
// Between our addresses and Asio's.
#pragma once

#include "twinstep/net/types.hpp"
#include "twinstep/sim/result.hpp"

#include <boost/asio/ip/udp.hpp>
#include <boost/system/error_code.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace twinstep::net {

/// The part of Address::scope that is the system's; the rest marks a socket of ours.
inline constexpr std::uint32_t scope_mask = 0x00FFFFFFU;

/// True for an IPv4 address, which Address holds in IPv6's form.
bool is_v4(const Address& address);

boost::asio::ip::udp::endpoint endpoint_of(const Address& address);
Address address_of(const boost::asio::ip::udp::endpoint& endpoint);

/// What the system said of `what` at `where`.
Error io_error(const boost::system::error_code& error, std::string what, std::string_view where);

} // namespace twinstep::net
