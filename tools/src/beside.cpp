// SPDX-License-Identifier: MIT
// A file that is made beside the one it shall become, and gets its name only when it was proved.
#include "beside.hpp"

#include "twinstep/replay/errc.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

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
    auto sink = replay::create_file(path_);
    created_ = sink.has_value();
    return sink;
}

Result<void> Beside::rename() {
    // A link fails where the name exists, on every system that has links; a rename would replace.
    std::error_code error;
    std::filesystem::create_hard_link(utf8_path(path_), utf8_path(target_), error);
    if (!error) {
        return {};
    }
    if (exists_already(target_)) {
        return name_taken(target_);
    }
    std::filesystem::rename(utf8_path(path_), utf8_path(target_), error);
    if (error) {
        return fail(Error(replay::Errc::io_error, {}, error.message()).in(target_));
    }
    created_ = false;
    return {};
}

} // namespace twinstep::tools
