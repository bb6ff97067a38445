// SPDX-License-Identifier: MIT
// The last states of a simulation in memory, for going back: what did not change is kept once.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/simulation.hpp"
#include "twinstep/sim/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace twinstep {

namespace detail {

struct ChunkedContent;

/// Pages of chunk_bytes each, named by number. They never move, and those that are given back are
/// given out again.
class PagePool {
public:
    static constexpr std::uint32_t none = UINT32_MAX;

    std::uint32_t take();
    /// Requires a page that was taken; none is no page.
    void give_back(std::uint32_t page);

    std::byte* at(std::uint32_t page) {
        return blocks_[page / block_pages][page % block_pages].bytes.data();
    }

    const std::byte* at(std::uint32_t page) const { return const_cast<PagePool*>(this)->at(page); }

    /// Pages that were taken and not given back.
    std::size_t in_use() const { return blocks_.size() * block_pages - free_.size(); }

private:
    static constexpr std::uint32_t block_pages = 64;

    struct Page {
        alignas(64) std::array<std::byte, chunk_bytes> bytes;
    };

    std::vector<std::unique_ptr<Page[]>> blocks_;
    std::vector<std::uint32_t> free_;
};

} // namespace detail

/// The snapshots of the last ticks. Of a tracked vector, a save copies the chunks that were written
/// since the save before; all other state is copied whole. Nothing is allocated once memory is as
/// large as it needs to be.
///     SharedSnapshots snapshots(12);
///     snapshots.save(simulation);               // each tick
///     snapshots.go_back(Tick{40}, simulation);  // what came after tick 40 is dropped
/// Thread: one at a time, by the owner of the simulation.
class SharedSnapshots {
public:
    /// Keeps so many snapshots at most. Requires at least 1.
    explicit SharedSnapshots(std::size_t kept);

    /// Keeps the state of a simulation, which is always the same one or one of its kind. Drops the
    /// snapshots of its tick and later ones, if there are any; else, if there is no room, the
    /// oldest.
    void save(Simulation& simulation);

    std::size_t count() const noexcept { return count_; }

    /// Requires a snapshot.
    Tick oldest() const;
    Tick newest() const;

    bool holds(Tick tick) const;

    /// Replaces `target` with what Simulation::save gave at this tick. Requires that it is held.
    void copy(Tick tick, Bytes& target) const;

    /// Goes to the state of this tick, with the digests of its chunks, and drops what is later.
    /// Requires that it is held. Errors: those of Simulation::load; nothing is dropped then.
    Result<void> load(Tick tick, Simulation& simulation);

    /// As `load`, but in place: copies the chunks that differ, and what is not tracked (on CPUs
    /// whose least significant byte comes last, everything). What
    /// `serialize` does not name stays as it is. Requires a simulation with the set-up of those
    /// that were saved. Errors: what a loading `serialize` refuses; the later snapshots are then
    /// dropped and the state is undefined until the next reset or load.
    Result<void> go_back(Tick tick, Simulation& simulation);

    /// Bytes of all chunks that are kept, each of them once.
    std::uint64_t chunk_bytes_kept() const { return std::uint64_t{pool_.in_use()} * chunk_bytes; }

private:
    class SaveSink;
    class AdoptSink;
    class Restorer;

    static constexpr std::uint32_t none = detail::PagePool::none;

    /// In one tracked vector one chunk's page became another; none for a chunk that is not there.
    struct Change {
        std::uint32_t table = 0;
        std::uint32_t chunk = 0;
        std::uint32_t before = none;
        std::uint32_t after = none;
    };

    /// The elements of a tracked vector belong here in the other bytes.
    struct Gap {
        std::size_t offset = 0;
        std::size_t bytes = 0;
    };

    struct Snapshot {
        Tick tick;
        Bytes rest;                  ///< Everything but the elements of tracked vectors.
        std::vector<Gap> gaps;       ///< One for each tracked vector.
        std::vector<Change> changes; ///< Against the snapshot before; none for the oldest.
    };

    /// The pages of one tracked vector.
    struct Table {
        std::vector<std::uint32_t> pages; ///< As long as the vector ever was.
        std::size_t chunks = 0;           ///< That are there in the newest snapshot.
        std::uint64_t version = 0;        ///< Another after every change.
        std::uint64_t version_left = 0;   ///< That of the snapshot from which one goes back.
    };

    const Snapshot& at(std::size_t index) const { return ring_[(first_ + index) % ring_.size()]; }

    Snapshot& at(std::size_t index) { return ring_[(first_ + index) % ring_.size()]; }

    std::size_t index_of(Tick tick) const;
    void drop_oldest();
    void drop_newest();
    void keep(const detail::ChunkedContent& content, std::size_t table, Snapshot& snapshot);
    std::uint32_t new_page(ByteView bytes, const std::array<std::uint64_t, 2>* digest);
    void forget_end(std::size_t table, std::size_t chunks, Snapshot& snapshot);
    void adopt(const detail::ChunkedContent& content, std::size_t table);
    void restore(const detail::ChunkedContent& content, std::byte* memory, std::size_t table);
    bool is_page(std::uint32_t page, ByteView bytes) const;

    std::vector<Snapshot> ring_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    std::vector<Table> tables_; ///< Of the newest snapshot.
    detail::PagePool pool_;
    std::vector<std::array<std::uint64_t, 2>> digests_; ///< Of each page; zeros: unknown.
    std::shared_ptr<const void> identity_;
    Bytes loading_;
    std::vector<Change> left_; ///< Changes of the snapshots from which one goes back.
    mutable std::vector<std::vector<std::uint32_t>>
        earlier_; ///< Tables of a snapshot that is read.
};

} // namespace twinstep
