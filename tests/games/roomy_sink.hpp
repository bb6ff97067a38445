// SPDX-License-Identifier: MIT
// A file in memory, for recordings while allocations are counted.
#pragma once

#include "twinstep/replay.hpp"

#include <cstddef>
#include <system_error>

namespace twinstep {

/// A file in memory whose room is there from the start.
class RoomySink final : public replay::FileSink {
public:
    explicit RoomySink(Bytes& file)
        : file_(file) {
        file_.reserve(std::size_t{1} << 20);
    }

    std::size_t write(ByteView bytes, std::error_code&) override {
        file_.insert(file_.end(), bytes.begin(), bytes.end());
        return bytes.size();
    }

    std::error_code truncate(std::uint64_t size) override {
        file_.resize(static_cast<std::size_t>(size));
        return {};
    }

    std::error_code sync() override { return {}; }

    std::error_code close() override { return {}; }

private:
    Bytes& file_;
};

} // namespace twinstep
