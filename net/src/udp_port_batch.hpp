// SPDX-License-Identifier: MIT
// Many datagrams for one call of the system, where there is such a call (Linux): in and out.
#pragma once

#if defined(__linux__)

#include "udp_port_address.hpp"

#include "twinstep/net/types.hpp"
#include "twinstep/net/wire.hpp"
#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/bytes.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/udp.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <sys/socket.h>
#include <vector>

namespace twinstep::net {

/// Datagrams in one call: more save next to nothing and make the first ones wait.
inline constexpr std::size_t udp_batch_max = 32;

/// What one call has taken from a socket.
class UdpInbox {
public:
    UdpInbox()
        : buffers_(udp_batch_max) {
        for (std::size_t i = 0; i < udp_batch_max; ++i) {
            parts_[i] = {buffers_[i].data(), buffers_[i].size()};
            heads_[i].msg_hdr.msg_iov = &parts_[i];
            heads_[i].msg_hdr.msg_iovlen = 1;
            heads_[i].msg_hdr.msg_name = names_[i].data();
        }
    }

    UdpInbox(const UdpInbox&) = delete;
    UdpInbox& operator=(const UdpInbox&) = delete;

    /// Takes at most `most` datagrams that are there; replaces the ones before. With an error there
    /// are none.
    std::size_t receive(boost::asio::ip::udp::socket& socket,
                        std::size_t most,
                        boost::system::error_code& error) {
        TWINSTEP_ASSERT(most <= udp_batch_max);
        for (std::size_t i = 0; i < most; ++i) {
            heads_[i].msg_hdr.msg_namelen = static_cast<socklen_t>(names_[i].capacity());
            heads_[i].msg_hdr.msg_flags = 0;
        }
        const int got = recvmmsg(socket.native_handle(),
                                 heads_.data(),
                                 static_cast<unsigned>(most),
                                 MSG_DONTWAIT,
                                 nullptr);
        error = {got < 0 ? errno : 0, boost::asio::error::get_system_category()};
        return got < 0 ? 0 : static_cast<std::size_t>(got);
    }

    /// Requires index < what receive() said, as all that follow.
    bool is_cut(std::size_t index) const {
        return (heads_[index].msg_hdr.msg_flags & MSG_TRUNC) != 0;
    }

    /// Valid until the next receive().
    ByteView bytes(std::size_t index) const {
        return ByteView(buffers_[index]).first(heads_[index].msg_len);
    }

    Address from(std::size_t index) const { return address_of(names_[index]); }

private:
    /// Longer than any datagram of ours, so that one which is too long is seen to be so.
    using Buffer = std::array<std::byte, 2048>;

    std::vector<Buffer> buffers_;
    std::array<iovec, udp_batch_max> parts_{};
    std::array<boost::asio::ip::udp::endpoint, udp_batch_max> names_{};
    std::array<mmsghdr, udp_batch_max> heads_{};
};

/// Datagrams that wait for the call that sends them; all for sockets of the owner.
class UdpOutgoing {
public:
    UdpOutgoing()
        : buffers_(udp_batch_max) {
        for (std::size_t i = 0; i < udp_batch_max; ++i) {
            heads_[i].msg_hdr.msg_iov = &parts_[i];
            heads_[i].msg_hdr.msg_iovlen = 1;
            heads_[i].msg_hdr.msg_name = names_[i].data();
        }
    }

    UdpOutgoing(const UdpOutgoing&) = delete;
    UdpOutgoing& operator=(const UdpOutgoing&) = delete;

    bool full() const { return count_ == udp_batch_max; }

    static bool fits(ByteView datagram) { return datagram.size() <= sizeof(Buffer); }

    /// Keeps a copy. Requires !full() and fits(datagram).
    void add(int socket, const Address& to, ByteView datagram) {
        TWINSTEP_ASSERT(!full());
        TWINSTEP_ASSERT(fits(datagram));
        std::copy(datagram.begin(), datagram.end(), buffers_[count_].begin());
        parts_[count_] = {buffers_[count_].data(), datagram.size()};
        names_[count_] = endpoint_of(to);
        heads_[count_].msg_hdr.msg_namelen = static_cast<socklen_t>(names_[count_].size());
        sockets_[count_] = socket;
        ++count_;
    }

    /// Sends all in their order and is empty afterwards. Calls `sent(datagrams)` and
    /// `failed(errno)` for each one that the system refused: it is not tried again.
    template <class Sent, class Failed>
    void flush(Sent&& sent, Failed&& failed) {
        std::size_t at = 0;
        while (at < count_) {
            std::size_t end = at + 1;
            while (end < count_ && sockets_[end] == sockets_[at]) {
                ++end;
            }
            const int done =
                sendmmsg(sockets_[at], &heads_[at], static_cast<unsigned>(end - at), MSG_DONTWAIT);
            if (done > 0) {
                sent(static_cast<std::size_t>(done));
                at += static_cast<std::size_t>(done);
            } else if (done == 0 || errno != EINTR) {
                failed(errno);
                ++at;
            }
        }
        count_ = 0;
    }

private:
    using Buffer = std::array<std::byte, wire::datagram_bytes_max>;

    std::vector<Buffer> buffers_;
    std::array<iovec, udp_batch_max> parts_{};
    std::array<boost::asio::ip::udp::endpoint, udp_batch_max> names_{};
    std::array<mmsghdr, udp_batch_max> heads_{};
    std::array<int, udp_batch_max> sockets_{};
    std::size_t count_ = 0;
};

} // namespace twinstep::net

#endif
