// SPDX-License-Identifier: MIT
// Which files a run of verify looks at: all that the paths lead to, or one shard of them.
#pragma once

#include "verification.hpp"

#include <optional>
#include <string>
#include <vector>

namespace twinstep::tools {

/// A file that was found, or a directory that could not be searched.
struct FoundFile {
    std::string path;
    std::string problem; ///< Why the directory cannot be searched; empty: it is a file.
};

/// All .twin files under the paths, sorted by their bytes, each once: the same on every machine
/// that sees the same names. A path that does not exist stays in the list: its turn ends with an
/// error that names it.
std::vector<FoundFile> collect_files(const std::vector<std::string>& paths);

/// Keeps every N-th file for "K/N", K from 1, and says what the whole list was. An empty text is
/// the only shard. None: the text is not such a fraction.
std::optional<Shard> keep_shard(std::vector<FoundFile>& files, const std::string& text);

/// Files of a shard: how many keep_shard leaves of `shard.files`.
std::size_t files_of(const Shard& shard);

} // namespace twinstep::tools
