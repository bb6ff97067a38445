// SPDX-License-Identifier: MIT
// A recording's file together with what is still in its journal.
#include "head.hpp"
#include "input.hpp"
#include "journal.hpp"
#include "layout.hpp"
#include "path.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

namespace twinstep::replay {

namespace {

/// The first `file_bytes` bytes of a file, then some more.
class JournaledInput final : public Input {
public:
    JournaledInput(std::unique_ptr<Input> file, std::uint64_t file_bytes, Bytes tail)
        : file_(std::move(file))
        , file_bytes_(file_bytes)
        , tail_(std::move(tail)) {}

    std::size_t read(std::span<std::byte> target, std::error_code& error) override {
        std::size_t count = 0;
        if (at_ < file_bytes_) {
            const std::uint64_t left = file_bytes_ - at_;
            count = file_->read(target.first(static_cast<std::size_t>(
                                    std::min<std::uint64_t>(target.size(), left))),
                                error);
        } else {
            const auto start =
                static_cast<std::size_t>(std::min<std::uint64_t>(at_ - file_bytes_, tail_.size()));
            count = std::min(target.size(), tail_.size() - start);
            if (count > 0) {
                std::memcpy(target.data(), tail_.data() + start, count);
            }
        }
        at_ += count;
        return count;
    }

    std::error_code seek(std::uint64_t offset) override {
        at_ = offset;
        return file_->seek(std::min(offset, file_bytes_));
    }

    std::uint64_t size() const override { return file_bytes_ + tail_.size(); }

private:
    std::unique_ptr<Input> file_;
    std::uint64_t file_bytes_;
    Bytes tail_;
    std::uint64_t at_ = 0;
};

/// The session of a recording, if its preamble is right.
std::optional<SessionId> session_of(Input& file) {
    std::array<std::byte, preamble_bytes> bytes{};
    std::size_t done = 0;
    std::error_code error;
    while (!error && done < bytes.size()) {
        const std::size_t count = file.read(std::span(bytes).subspan(done), error);
        if (count == 0) {
            break;
        }
        done += count;
    }
    if (error || done < bytes.size() || file.seek(0)) {
        return std::nullopt;
    }
    const Result<Head> head = decode_preamble(bytes);
    return head ? std::optional(head->session) : std::nullopt;
}

} // namespace

Result<std::unique_ptr<Input>> open_input(const std::string& path) {
    Result<std::unique_ptr<Input>> file = open_plain_input(path);
    if (!file) {
        return file;
    }
    std::error_code ignored;
    // What was read of a pipe cannot be read again.
    if (!std::filesystem::is_regular_file(native_path(path), ignored)) {
        return file;
    }
    const std::optional<SessionId> session = session_of(**file);
    const std::string journal = session ? journal_path(path, *session) : std::string();
    // While it is written, the file may grow beyond what was asked for; then it is asked again.
    for (int tries = 0; tries < 3 && session; ++tries) {
        if (!std::filesystem::exists(native_path(journal), ignored)) {
            break;
        }
        const std::uintmax_t size = std::filesystem::file_size(native_path(path), ignored);
        if (std::optional<Bytes> tail = read_journal(journal, *session, size)) {
            return std::make_unique<JournaledInput>(std::move(*file), size, std::move(*tail));
        }
    }
    return file;
}

} // namespace twinstep::replay
