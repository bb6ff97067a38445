// SPDX-License-Identifier: MIT
// Files in one order everywhere, so that shards on many machines part the same list.
#include "verification_files.hpp"

#include "twinstep/sim/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

namespace twinstep::tools {

namespace {

namespace fs = std::filesystem;

/// With / between its parts on every system, so that the order and the digest are the same.
std::string common_name(const fs::path& path) {
    return path.generic_string();
}

/// Adds everything named .twin in a directory and below. Links to directories are not followed, so
/// that no loop is walked. What is no regular file is kept: its turn ends with an error.
void search_files(const std::string& root, std::vector<FoundFile>& found) {
    std::vector<fs::path> open{root};
    while (!open.empty()) {
        const fs::path directory = std::move(open.back());
        open.pop_back();
        std::error_code error;
        auto entry = fs::directory_iterator(directory, error);
        for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
            std::error_code ignored;
            if (fs::is_directory(entry->symlink_status(ignored))) {
                open.push_back(entry->path());
            } else if (entry->path().extension() == ".twin") {
                found.push_back({common_name(entry->path()), {}});
            }
        }
        if (error) {
            found.push_back({common_name(directory), error.message()});
        }
    }
}

/// Of all names in order. Their lengths are part of it: two lists never run into one.
std::string list_digest(const std::vector<FoundFile>& files) {
    Hasher hasher;
    hasher.begin("verify.list", Tick{0}, "files");
    for (const FoundFile& file : files) {
        const std::string line = fmt::format("{}:{}\n", file.path.size(), file.path);
        hasher.update(std::as_bytes(std::span(line)));
    }
    return to_hex(hasher.finish());
}

} // namespace

std::vector<FoundFile> collect_files(const std::vector<std::string>& paths) {
    std::vector<FoundFile> found;
    for (const std::string& path : paths) {
        std::error_code ignored;
        if (fs::is_directory(path, ignored)) {
            search_files(path, found);
        } else {
            found.push_back({path, {}});
        }
    }
    std::sort(found.begin(), found.end(), [](const FoundFile& left, const FoundFile& right) {
        return left.path != right.path ? left.path < right.path : left.problem > right.problem;
    });
    const auto same = [](const FoundFile& left, const FoundFile& right) {
        return left.path == right.path;
    };
    found.erase(std::unique(found.begin(), found.end(), same), found.end());
    return found;
}

std::optional<Shard> keep_shard(std::vector<FoundFile>& files, const std::string& text) {
    Shard shard;
    shard.files = files.size();
    shard.list = list_digest(files);
    if (text.empty()) {
        return shard;
    }
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, shard.index);
    if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '/') {
        return std::nullopt;
    }
    const auto second = std::from_chars(first.ptr + 1, end, shard.count);
    if (second.ec != std::errc{} || second.ptr != end || shard.index == 0 ||
        shard.index > shard.count) {
        return std::nullopt;
    }
    std::vector<FoundFile> kept;
    for (std::size_t i = shard.index - 1; i < files.size(); i += shard.count) {
        kept.push_back(std::move(files[i]));
    }
    files = std::move(kept);
    return shard;
}

std::size_t files_of(const Shard& shard) {
    const std::size_t before = shard.index - 1;
    return shard.files <= before ? 0 : (shard.files - before - 1) / shard.count + 1;
}

} // namespace twinstep::tools
