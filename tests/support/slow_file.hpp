// SPDX-License-Identifier: MIT
// A disk that needs 20 ms for each write.
#pragma once

#include "twinstep/replay/file_sink.hpp"

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

/// A file whose writes take 20 ms each, but for the first, a recording's head.
class SlowFile final : public twinstep::replay::FileSink {
public:
    explicit SlowFile(std::unique_ptr<FileSink> file)
        : file_(std::move(file)) {}

    std::size_t write(twinstep::ByteView bytes, std::error_code& error) override {
        if (!std::exchange(is_head_, false)) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        return file_->write(bytes, error);
    }

    std::error_code truncate(std::uint64_t size) override { return file_->truncate(size); }

    std::error_code sync() override { return file_->sync(); }

    std::error_code close() override { return file_->close(); }

private:
    std::unique_ptr<FileSink> file_;
    bool is_head_ = true;
};
