// SPDX-License-Identifier: MIT
// Reads a recording while it is being written.
#pragma once

#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace twinstep::replay {

/// How a file that is followed stands while there is nothing new in it.
enum class FollowState : std::uint8_t {
    waiting,  ///< Nothing is wrong; more may come.
    closed,   ///< The trailer was read: nothing more will come.
    cut,      ///< The file has become shorter than what was read of it.
    replaced, ///< Another recording has the name now; what was read belongs to the one before.
};

/// "waiting", "closed", "cut" or "replaced".
const char* to_string(FollowState state);

/// A reader that can go on when the file has grown, without reading anything twice. What the
/// recorder has in its journal is read with it, so a tick can be read before its step begins. The
/// file is held open: it may be renamed meanwhile. Thread: one owner at a time.
class Follower {
public:
    /// Errors: those of Reader::open.
    static Result<Follower> open(const std::string& path);

    Follower(Follower&&) noexcept;
    Follower& operator=(Follower&&) noexcept;
    ~Follower();

    /// The next record; RecordKind::end if there is none yet, and for ever once the file is closed.
    /// A record that is only half there is none yet. Errors: damage, io_error.
    Result<Record> next();

    /// What next() answering `end` means; looks at the file. Never an error.
    FollowState state();

    /// For what was read so far. Of its state, `truncated` means that half a record is there.
    const Reader& reader() const;
    /// To prepare a simulation with. Requires that no record was read yet.
    Reader& reader();

private:
    struct Impl;
    explicit Follower(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Plays along with the records that are read, and compares every hash.
class FollowCheck {
public:
    /// Borrows a simulation that prepare_simulation() has made ready for the recording.
    explicit FollowCheck(Simulation& simulation);
    FollowCheck(FollowCheck&&) noexcept;
    FollowCheck& operator=(FollowCheck&&) noexcept;
    ~FollowCheck();

    /// Compares the state with what the record says of it; a tick is then stepped. After a
    /// divergence nothing more is done. Errors: the driver's.
    Result<void> take(const Record& record);

    std::uint64_t hashes_checked() const;
    const std::optional<Divergence>& divergence() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace twinstep::replay
