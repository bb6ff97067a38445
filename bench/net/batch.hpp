// SPDX-License-Identifier: MIT
// Datagrams of a loopback socket 32 at a time, with the same two system calls as the product's
// port.
#pragma once

#include "net/socket.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace bench {

/// Takes datagrams in batches and sends answers in batches. Nothing is copied on the way out: an
/// answer is written where the call takes it from.
class SocketBatch {
public:
    static constexpr std::size_t most = 32;
    static constexpr std::size_t bytes_max = 2048;

    explicit SocketBatch(const UdpSocket& socket)
        : socket_(socket)
        , in_(most)
        , out_(most) {
        for (std::size_t i = 0; i < most; ++i) {
            in_parts_[i] = {in_[i].data(), bytes_max};
            prepare(in_heads_[i], in_parts_[i], in_names_[i]);
            prepare(out_heads_[i], out_parts_[i], out_names_[i]);
            out_names_[i].sin_family = AF_INET;
            out_names_[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        }
    }

    SocketBatch(const SocketBatch&) = delete;
    SocketBatch& operator=(const SocketBatch&) = delete;

    /// How many came; all until none is left if it is less than `most`.
    std::size_t receive() {
        for (mmsghdr& head : in_heads_) {
            head.msg_hdr.msg_namelen = sizeof(sockaddr_in);
        }
        const int got = recvmmsg(socket_.get(), in_heads_.data(), most, MSG_DONTWAIT, nullptr);
        return got > 0 ? static_cast<std::size_t>(got) : 0;
    }

    twinstep::ByteView bytes(std::size_t index) const {
        return twinstep::ByteView(in_[index]).first(in_heads_[index].msg_len);
    }

    std::uint16_t from(std::size_t index) const { return ntohs(in_names_[index].sin_port); }

    /// Where the next answer is to be written, before `add`.
    std::byte* place() { return out_[count_].data(); }

    void add(std::uint16_t to, std::size_t bytes) {
        out_names_[count_].sin_port = htons(to);
        out_parts_[count_] = {out_[count_].data(), bytes};
        if (++count_ == most) {
            flush();
        }
    }

    void flush() {
        if (count_ != 0) {
            // A full buffer is loss, which is what UDP promises.
            static_cast<void>(sendmmsg(
                socket_.get(), out_heads_.data(), static_cast<unsigned>(count_), MSG_DONTWAIT));
            count_ = 0;
        }
    }

private:
    using Buffer = std::array<std::byte, bytes_max>;

    static void prepare(mmsghdr& head, iovec& part, sockaddr_in& name) {
        head.msg_hdr.msg_iov = &part;
        head.msg_hdr.msg_iovlen = 1;
        head.msg_hdr.msg_name = &name;
        head.msg_hdr.msg_namelen = sizeof name;
    }

    const UdpSocket& socket_;
    std::vector<Buffer> in_;
    std::vector<Buffer> out_;
    std::array<iovec, most> in_parts_{};
    std::array<iovec, most> out_parts_{};
    std::array<sockaddr_in, most> in_names_{};
    std::array<sockaddr_in, most> out_names_{};
    std::array<mmsghdr, most> in_heads_{};
    std::array<mmsghdr, most> out_heads_{};
    std::size_t count_ = 0;
};

} // namespace bench
