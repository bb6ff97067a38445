// SPDX-License-Identifier: MIT
// Paths are UTF-8 everywhere in this module; here they become the system's.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace twinstep::replay {

inline std::filesystem::path native_path(const std::string& path) {
    return {std::u8string(path.begin(), path.end())};
}

/// Takes back a file that create_file made; it is nobody else's, because it did not exist before.
inline void remove_created(const std::string& path) {
    std::error_code ignored;
    std::filesystem::remove(native_path(path), ignored);
}

} // namespace twinstep::replay
