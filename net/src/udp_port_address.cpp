// SPDX-License-Identifier: MIT
// Addresses: read, resolved, turned into Asio's and back.
#if defined(_WIN32) && !defined(_WIN32_WINNT)
#define _WIN32_WINNT 0x0A00
#endif
#include "udp_port_address.hpp"

#include "twinstep/net/errc.hpp"
#include "twinstep/net/udp_port.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace twinstep::net {

namespace {

Error bad_address(std::string_view text, std::string detail) {
    return Error(NetErrc::bad_setting, "address", "\"" + std::string(text) + "\": " + detail);
}

} // namespace

bool is_v4(const Address& address) {
    constexpr std::array<std::uint8_t, 12> prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    return std::equal(prefix.begin(), prefix.end(), address.ip.begin());
}

boost::asio::ip::udp::endpoint endpoint_of(const Address& address) {
    if (is_v4(address)) {
        boost::asio::ip::address_v4::bytes_type bytes{};
        std::copy(address.ip.begin() + 12, address.ip.end(), bytes.begin());
        return {boost::asio::ip::address_v4(bytes), address.port};
    }
    boost::asio::ip::address_v6::bytes_type bytes{};
    std::copy(address.ip.begin(), address.ip.end(), bytes.begin());
    return {boost::asio::ip::address_v6(bytes, address.scope & scope_mask), address.port};
}

Address address_of(const boost::asio::ip::udp::endpoint& endpoint) {
    Address address;
    address.port = endpoint.port();
    if (endpoint.address().is_v4()) {
        const auto bytes = endpoint.address().to_v4().to_bytes();
        address.ip[10] = address.ip[11] = 0xFF;
        std::copy(bytes.begin(), bytes.end(), address.ip.begin() + 12);
        return address;
    }
    const boost::asio::ip::address_v6 v6 = endpoint.address().to_v6();
    const auto bytes = v6.to_bytes();
    std::copy(bytes.begin(), bytes.end(), address.ip.begin());
    address.scope = static_cast<std::uint32_t>(v6.scope_id()) & scope_mask;
    return address;
}

Error io_error(const boost::system::error_code& error, std::string what, std::string_view where) {
    return Error(NetErrc::io_error, std::move(what), error.message()).in(where);
}

Address local_for(const Address& server) {
    Address address;
    if (is_v4(server)) {
        address.ip[10] = address.ip[11] = 0xFF;
    }
    return address;
}

bool is_unspecified(const Address& address) {
    return address.ip == local_for(address).ip;
}

Result<HostPort> parse_host_port(std::string_view text, std::uint16_t port_default) {
    constexpr const char* form = "write HOST:PORT, 192.0.2.1:7777 or [2001:db8::1]:7777";
    HostPort found{{}, port_default};
    std::string_view port;
    bool has_port = false;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) {
            return fail(bad_address(text, form));
        }
        found.host = text.substr(1, end - 1);
        const std::string_view rest = text.substr(end + 1);
        has_port = !rest.empty();
        if (has_port && rest.front() != ':') {
            return fail(bad_address(text, form));
        }
        port = has_port ? rest.substr(1) : rest;
    } else {
        const std::size_t colon = text.find(':');
        const bool bare_v6 =
            colon != std::string_view::npos && text.find(':', colon + 1) != std::string_view::npos;
        has_port = colon != std::string_view::npos && !bare_v6;
        found.host = has_port ? text.substr(0, colon) : text;
        port = has_port ? text.substr(colon + 1) : std::string_view{};
    }
    if (has_port) {
        std::uint32_t value = 0;
        const bool digits =
            !port.empty() && port.size() <= 5 &&
            std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
        for (const char digit : digits ? port : std::string_view{}) {
            value = value * 10 + static_cast<std::uint32_t>(digit - '0');
        }
        if (!digits || value > 65535) {
            return fail(bad_address(text, "a port is a number of 0 to 65535"));
        }
        found.port = static_cast<std::uint16_t>(value);
    }
    if (found.host.empty()) {
        return fail(bad_address(text, form));
    }
    return found;
}

Result<Address> parse_address(std::string_view text, std::uint16_t port_default) {
    const Result<HostPort> parsed = parse_host_port(text, port_default);
    if (!parsed) {
        return fail(parsed.error());
    }
    boost::system::error_code error;
    const boost::asio::ip::address address = boost::asio::ip::make_address(parsed->host, error);
    if (error) {
        return fail(bad_address(text, "an IPv4 or IPv6 address is needed, not a name"));
    }
    return address_of(boost::asio::ip::udp::endpoint(address, parsed->port));
}

Result<std::vector<Address>> resolve(std::string_view text, std::uint16_t port_default) {
    const Result<HostPort> parsed = parse_host_port(text, port_default);
    if (!parsed) {
        return fail(parsed.error());
    }
    if (const Result<Address> plain = parse_address(text, port_default)) {
        return std::vector<Address>{*plain};
    }
    boost::asio::io_context context;
    boost::asio::ip::udp::resolver resolver(context);
    boost::system::error_code error;
    const auto found = resolver.resolve(parsed->host, std::to_string(parsed->port), error);
    std::vector<Address> addresses;
    if (!error) {
        for (const auto& entry : found) {
            const Address address = address_of(entry.endpoint());
            if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) {
                addresses.push_back(address);
            }
        }
    }
    if (addresses.empty()) {
        return fail(io_error(error, "resolve", parsed->host));
    }
    if (std::all_of(addresses.begin(), addresses.end(), is_loopback)) {
        std::stable_partition(addresses.begin(), addresses.end(), is_v4);
    }
    return addresses;
}

} // namespace twinstep::net
