// SPDX-License-Identifier: MIT
// A file that is made beside the one it shall become, and gets its name only when it was proved.
#include "beside.hpp"

#include "twinstep/replay/errc.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#if !defined(_WIN32)
#include <fcntl.h>
#include <unistd.h>
#endif

namespace twinstep::tools {

namespace {

std::filesystem::path utf8_path(const std::string& text) {
    return {std::u8string(text.begin(), text.end())};
}

bool exists_already(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(utf8_path(path), ignored);
}

tl::unexpected<Error> name_taken(const std::string& path) {
    return fail(Error(replay::Errc::already_exists, {}, "choose another name").in(path));
}

tl::unexpected<Error> not_done(const std::error_code& error, const std::string& path) {
    return fail(Error(replay::Errc::io_error, {}, error.message()).in(path));
}

/// Makes a file's bytes, or a directory's names, survive a loss of power. On Windows the sink has
/// flushed the file, and names are the file system's business.
std::error_code make_durable(const std::filesystem::path& path, bool directory) {
#if defined(_WIN32)
    static_cast<void>(path);
    static_cast<void>(directory);
    return {};
#else
    const int flags = O_RDONLY | O_CLOEXEC | (directory ? O_DIRECTORY : 0);
    int descriptor = -1;
    do {
        descriptor = ::open(path.c_str(), flags); // NOLINT(cppcoreguidelines-pro-type-vararg)
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) {
        // A directory that may be written and not read cannot be asked.
        return directory && errno == EACCES ? std::error_code{}
                                            : std::error_code(errno, std::generic_category());
    }
    const bool done = ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP;
    const std::error_code error =
        done ? std::error_code{} : std::error_code(errno, std::generic_category());
    ::close(descriptor);
    return error;
#endif
}

/// Of the directory that holds a file.
std::error_code make_name_durable(const std::string& path) {
    const std::filesystem::path folder = utf8_path(path).parent_path();
    return make_durable(folder.empty() ? std::filesystem::path(".") : folder, true);
}

} // namespace

Beside::Beside(std::string target)
    : target_(std::move(target))
    , path_(target_ + ".part") {}

Beside::~Beside() {
    if (created_) {
        std::error_code ignored;
        std::filesystem::remove(utf8_path(path_), ignored);
    }
}

Result<std::unique_ptr<replay::FileSink>> Beside::create() {
    if (exists_already(target_)) {
        return name_taken(target_);
    }
    return create_replacement();
}

Result<std::unique_ptr<replay::FileSink>> Beside::create_replacement() {
    auto sink = replay::create_file(path_);
    created_ = sink.has_value();
    return sink;
}

Result<void> Beside::rename() {
    if (const std::error_code error = make_durable(utf8_path(path_), false)) {
        return not_done(error, path_);
    }
    // A link fails where the name exists, on every system that has links; a rename would replace.
    std::error_code error;
    std::filesystem::create_hard_link(utf8_path(path_), utf8_path(target_), error);
    if (error) {
        if (exists_already(target_)) {
            return name_taken(target_);
        }
        std::filesystem::rename(utf8_path(path_), utf8_path(target_), error);
        if (error) {
            return not_done(error, target_);
        }
        created_ = false;
    }
    if (const std::error_code unsure = make_name_durable(target_)) {
        return not_done(unsure, target_);
    }
    return {};
}

Result<void> Beside::replace(const std::string& backup) {
    if (const std::error_code error = make_durable(utf8_path(path_), false)) {
        return not_done(error, path_);
    }
    std::error_code error;
    if (!backup.empty()) {
        std::filesystem::create_hard_link(utf8_path(target_), utf8_path(backup), error);
        if (error && exists_already(backup)) {
            return name_taken(backup);
        }
        if (error) {
            // Where there are no links, a copy; it refuses to write over anything as well.
            error.clear();
            std::filesystem::copy_file(utf8_path(target_), utf8_path(backup), error);
        }
        if (error) {
            return not_done(error, backup);
        }
        // The old bytes must have their new name before they lose the old one.
        if (const std::error_code unsure = make_name_durable(backup)) {
            return not_done(unsure, backup);
        }
    }
    std::filesystem::rename(utf8_path(path_), utf8_path(target_), error);
    if (error) {
        return not_done(error, target_);
    }
    created_ = false;
    if (const std::error_code unsure = make_name_durable(target_)) {
        return not_done(unsure, target_);
    }
    return {};
}

} // namespace twinstep::tools
