// SPDX-License-Identifier: MIT
// A file that is made beside the one it shall become, and gets its name only when it was proved.
#pragma once

#include "twinstep/replay/file_sink.hpp"
#include "twinstep/sim/result.hpp"

#include <memory>
#include <string>

namespace twinstep::tools {

/// "NAME.part" on the way to NAME. It goes away with its object unless it was renamed, so that a
/// verb that ends early leaves nothing behind. Thread: one owner at a time.
class Beside {
public:
    /// The path is UTF-8, of a file that must not exist.
    explicit Beside(std::string target);
    ~Beside();

    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;

    /// Of the file that is written, to read it back.
    const std::string& path() const { return path_; }

    /// Creates the file. Errors: already_exists if the target exists or another run is making it;
    /// io_error.
    Result<std::unique_ptr<replay::FileSink>> create();

    /// The same beside a target that exists and is to be replaced. Errors: already_exists if
    /// another run is making it; io_error.
    Result<std::unique_ptr<replay::FileSink>> create_replacement();

    /// Gives the file its name, unless somebody else took that meanwhile, so that a loss of power
    /// takes neither the name nor what it names. Requires that the sink was closed. Errors:
    /// already_exists, io_error; the file then goes away.
    Result<void> rename();

    /// Gives the file the name of the target, which is kept as `backup` (UTF-8 path that must not
    /// exist) unless that is empty. At every moment there is a whole file of that name. Requires
    /// that the sink was closed. Errors: already_exists for the backup, io_error; nothing has
    /// changed then.
    Result<void> replace(const std::string& backup);

private:
    std::string target_;
    std::string path_;
    bool created_ = false;
};

} // namespace twinstep::tools
