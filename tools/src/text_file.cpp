// SPDX-License-Identifier: MIT
// Text files, with reasons where they cannot be read.
#include "text_file.hpp"

#include "twinstep/replay/errc.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace twinstep::tools {

Result<std::ifstream> open_text_file(const std::string& path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        return fail(Error(replay::Errc::io_error, {}, "it is a directory").in(path));
    }
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        const std::error_code reason(errno != 0 ? errno : EIO, std::generic_category());
        return fail(Error(replay::Errc::io_error, {}, reason.message()).in(path));
    }
    // Some files open and yet cannot be read: better said here than after an output was begun.
    file.peek();
    if (file.bad()) {
        const std::error_code reason(errno != 0 ? errno : EIO, std::generic_category());
        return fail(Error(replay::Errc::io_error, {}, reason.message()).in(path));
    }
    file.clear();
    return file;
}

Result<std::string> read_text_file(const std::string& path, std::uint64_t bytes_max) {
    Result<std::ifstream> opened = open_text_file(path);
    if (!opened) {
        return fail(opened.error());
    }
    std::ifstream& file = *opened;
    std::string text;
    std::vector<char> buffer(std::size_t{64} * 1024);
    while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) ||
           file.gcount() > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(file.gcount()));
        if (text.size() > bytes_max) {
            return fail(
                Error(SimErrc::limit_exceeded, "size", fmt::format("more than {} bytes", bytes_max))
                    .in(path));
        }
    }
    if (file.bad()) {
        return fail(Error(replay::Errc::io_error, {}, "cannot be read").in(path));
    }
    return text;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\r";
    const std::size_t first = text.find_first_not_of(blank);
    return first == std::string_view::npos
               ? std::string_view{}
               : text.substr(first, text.find_last_not_of(blank) - first + 1);
}

} // namespace twinstep::tools
