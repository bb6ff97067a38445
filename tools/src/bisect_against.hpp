// SPDX-License-Identifier: MIT
// The same inputs in another build of the command, hash by hash.
#pragma once

#include "other_program.hpp"

#include "twinstep/replay/bisect.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace twinstep::tools {

/// Plays inputs here, has the other program record the same inputs from the text form, and compares
/// what both recorded. The other program is any build of this command: `record GAME --from
/// ndjson:FILE -o FILE --json`, and `state FILE --at T --json` to name a field.
class OtherBuild {
public:
    /// `seconds` is what one run of the other program may take at most; 0: a minute. Errors:
    /// io_error.
    static Result<OtherBuild>
    create(const std::string& program, const Simulation& kind, std::uint64_t seconds);

    /// Where the two part. Errors: io_error if the other program does not do what it should;
    /// wrong_tick if the inputs begin later than at tick 0.
    Result<std::optional<Divergence>> compare(const replay::InputChoice& choice);

    /// Names section and field of what compare() found in these inputs just now, if it can be had.
    void name_field(const replay::InputChoice& choice, Divergence& divergence);

private:
    OtherBuild(std::string program, const Simulation& kind, ScratchFolder folder)
        : program_(std::move(program))
        , kind_(&kind)
        , folder_(std::move(folder)) {}

    Result<void> write_inputs(const replay::InputChoice& choice);
    Result<void> run_other(const std::vector<std::string>& arguments, std::string& output);
    Result<std::optional<Divergence>> compare_files() const;

    std::string program_;
    const Simulation* kind_;
    ScratchFolder folder_;
    std::chrono::milliseconds limit_{std::chrono::minutes(1)};
};

} // namespace twinstep::tools
