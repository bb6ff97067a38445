// SPDX-License-Identifier: MIT
// A file for decoders that only read files; one a process, written anew for each input.
#pragma once

#include "fuzz_targets.hpp"

#include "twinstep/replay/format.hpp"

#include <filesystem>
#include <fstream>
#include <string>

/// Removed at the end, if the process ends well.
class ScratchFile {
public:
    explicit ScratchFile(const std::string& name) {
        // Several processes fuzz the same target.
        const auto id = twinstep::replay::make_session_id();
        require(id.has_value(), "the system has no random numbers");
        path_ = (std::filesystem::temp_directory_path() /
                 ("twinstep_fuzz_" + twinstep::replay::to_hex(*id) + "_" + name))
                    .string();
    }

    ~ScratchFile() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }

    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    const std::string& path() const { return path_; }

    void write(twinstep::ByteView bytes) const {
        std::ofstream file(path_, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
        file.close();
        require(file.good(), "the file for the decoder cannot be written");
    }

private:
    std::string path_;
};
