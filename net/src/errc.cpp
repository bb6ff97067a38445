// SPDX-License-Identifier: MIT
// Error texts.
#include "twinstep/net/errc.hpp"

#include <string>

namespace twinstep::net {

namespace {

class NetCategory final : public std::error_category {
public:
    const char* name() const noexcept override { return "twinstep.net"; }

    std::string message(int code) const override {
        switch (static_cast<NetErrc>(code)) {
        case NetErrc::malformed:
            return "the bytes mean nothing";
        case NetErrc::unknown_frame:
            return "a frame of an unknown type";
        case NetErrc::limit_exceeded:
            return "a limit of the protocol is exceeded";
        case NetErrc::not_authentic:
            return "not authentic";
        case NetErrc::replayed:
            return "received before";
        case NetErrc::refused:
            return "refused";
        case NetErrc::bad_setting:
            return "the setting cannot work";
        case NetErrc::different_simulation:
            return "another simulation";
        case NetErrc::timed_out:
            return "nothing was heard for too long";
        case NetErrc::closed:
            return "the connection was ended";
        case NetErrc::not_built:
            return "this build has no libsodium";
        case NetErrc::io_error:
            return "the system refused";
        case NetErrc::resource_exhausted:
            return "a bounded table is full";
        }
        return "unknown error";
    }
};

} // namespace

const std::error_category& net_category() noexcept {
    static const NetCategory category;
    return category;
}

std::error_code make_error_code(NetErrc code) noexcept {
    return {static_cast<int>(code), net_category()};
}

} // namespace twinstep::net
