// SPDX-License-Identifier: MIT
// The journal: a ring of bytes on their way to a file, kept where a kill cannot take them.
#pragma once

#include "mapped_file.hpp"

#include "twinstep/replay/format.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace twinstep::replay {

inline constexpr std::size_t journal_ring_bytes_min = std::size_t{128} * 1024;
inline constexpr std::size_t journal_ring_bytes_max = std::size_t{1} << 30;

/// The name of a recording's journal: NAME.SESSION.journal, with eight digits of the session id, so
/// that it never is the journal of another recording that had the same name.
std::string journal_path(const std::string& recording, const SessionId& session);

/// One thread appends, one drains. Offsets are those of the recording's file: the byte at offset o
/// lies at o modulo the size of the ring. docs/recording-format.md, "Journal".
class Journal {
public:
    /// Creates the journal's file with a ring of `ring_bytes`, rounded up to a power of two within
    /// the limits. Errors: already_exists, io_error.
    static Result<Journal>
    create(const std::string& path, const SessionId& session, std::size_t ring_bytes);

    /// Starts behind what is in the file already. Requires that nothing was appended.
    void start_at(std::uint64_t offset);

    std::size_t size() const { return ring_.size(); }

    /// Bytes that can be appended. Thread: any; at least so many for the appending one.
    std::size_t room() const;
    /// Appends, in one step for whoever looks. Requires size <= room().
    void append(ByteView bytes);

    /// End of what was appended.
    std::uint64_t written() const { return load(*written_, std::memory_order_acquire); }

    /// End of what is in the file.
    std::uint64_t drained() const { return load(*drained_, std::memory_order_acquire); }

    /// Up to `bytes_max` bytes that wait, in one piece. Thread: the draining one.
    ByteView waiting(std::size_t bytes_max) const;
    /// Takes `bytes` of them off. Thread: the draining one.
    void drain(std::size_t bytes);

    /// Makes every page writable that the system has written back meanwhile, so that it is not the
    /// appending thread that waits for it. Thread: the draining one.
    void make_writable();

    /// Removes the file. The memory stays until the journal is destroyed.
    void remove();

    const std::string& path() const { return path_; }

private:
    Journal(MappedFile file, std::string path);
    static std::uint64_t load(std::uint64_t& counter, std::memory_order order);
    static void store(std::uint64_t& counter, std::uint64_t value);

    MappedFile file_;
    std::string path_;
    std::span<std::byte> ring_;
    std::uint64_t* written_;
    std::uint64_t* drained_;
};

/// What a journal holds beyond the end of a file, as it is now; the writer may still be at work.
/// Nothing if there is no journal, it belongs to another session, does not reach the file's end, or
/// the file has grown beyond `file_bytes` meanwhile.
/// Never an error: a recording without its journal is a recording. `file_bytes` is the file's size.
std::optional<Bytes>
read_journal(const std::string& path, const SessionId& session, std::uint64_t file_bytes);

} // namespace twinstep::replay
