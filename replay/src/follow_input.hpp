// SPDX-License-Identifier: MIT
// A file that grows, and what its journal holds of it beyond its end.
#pragma once

#include "input.hpp"

#include "twinstep/replay/format.hpp"

#include <memory>
#include <optional>
#include <string>

namespace twinstep::replay {

/// Reads the file and, where it ends, its journal, both as they are at that moment.
class FollowInput final : public Input {
public:
    FollowInput(std::unique_ptr<Input> file, std::string path)
        : file_(std::move(file))
        , path_(std::move(path)) {}

    std::size_t read(std::span<std::byte> target, std::error_code& error) override;
    std::error_code seek(std::uint64_t offset) override;

    std::uint64_t size() const override { return file_->size(); }

    /// The recording's session, once its preamble was read.
    void set_session(const SessionId& session) { session_ = session; }

private:
    std::optional<Bytes> journal_tail(std::uint64_t from) const;

    std::unique_ptr<Input> file_;
    std::string path_;
    std::optional<SessionId> session_;
    std::uint64_t at_ = 0;
};

} // namespace twinstep::replay
