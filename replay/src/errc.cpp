// SPDX-License-Identifier: MIT
// Error texts.
#include "twinstep/replay/errc.hpp"

#include <string>

namespace twinstep::replay {

namespace {

class ReplayCategory final : public std::error_category {
public:
    const char* name() const noexcept override { return "twinstep.replay"; }

    std::string message(int code) const override {
        switch (static_cast<Errc>(code)) {
        case Errc::io_error:
            return "the system refused";
        case Errc::already_exists:
            return "the file exists already";
        case Errc::not_a_recording:
            return "not a Twinstep recording";
        case Errc::truncated:
            return "the file is truncated";
        case Errc::corrupt_head:
            return "the head of the recording is damaged";
        case Errc::corrupt_record:
            return "a record is damaged";
        case Errc::corrupt_chunk:
            return "a chunk is damaged";
        case Errc::unsupported_version:
            return "another version of the format";
        case Errc::incompatible_simulation:
            return "recorded by another simulation";
        case Errc::limit_exceeded:
            return "a limit of the format is exceeded";
        case Errc::bad_text:
            return "the text form is wrong";
        case Errc::disk_almost_full:
            return "less room is left on the disk than was to be kept free";
        case Errc::recorder_stopped:
            return "recording has stopped";
        case Errc::bad_key:
            return "the key file is refused";
        case Errc::wrong_tick:
            return "wrong tick";
        }
        return "unknown error";
    }
};

} // namespace

const std::error_category& replay_category() noexcept {
    static const ReplayCategory category;
    return category;
}

std::error_code make_error_code(Errc code) noexcept {
    return {static_cast<int>(code), replay_category()};
}

} // namespace twinstep::replay
