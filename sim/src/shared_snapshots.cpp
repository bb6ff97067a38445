// SPDX-License-Identifier: MIT
// Snapshots as a chain of changes: tables of pages for the newest, and for each snapshot what
// became of the one before.
#include "twinstep/sim/shared_snapshots.hpp"

#include "chunk_flags.hpp"

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/snapshot.hpp"
#include "twinstep/sim/tracked.hpp"

#include <algorithm>
#include <cstring>
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#endif

namespace twinstep {

namespace {

void append(Bytes& target, ByteView bytes) {
    target.insert(target.end(), bytes.begin(), bytes.end());
}

#if defined(__SSE2__) || defined(_M_X64)
/// A page is read much later or never: writing it past the caches takes half the time, because
/// what it held before is not fetched. Requires a target aligned to 16 bytes.
void copy_past_caches(std::byte* target, ByteView source) {
    const std::size_t whole = source.size() / sizeof(__m128i);
    for (std::size_t i = 0; i < whole; ++i) {
        const std::byte* from = source.data() + i * sizeof(__m128i);
        _mm_stream_si128(reinterpret_cast<__m128i*>(target) + i,
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    }
    const std::size_t copied = whole * sizeof(__m128i);
    std::copy(source.begin() + static_cast<std::ptrdiff_t>(copied), source.end(), target + copied);
}

/// What was written past the caches is there for other threads.
void finish_copies() {
    _mm_sfence();
}
#else
void copy_past_caches(std::byte* target, ByteView source) {
    std::copy(source.begin(), source.end(), target);
}

void finish_copies() {}
#endif

} // namespace

// --- PagePool ---

std::uint32_t detail::PagePool::take() {
    if (free_.empty()) {
        const auto first = static_cast<std::uint32_t>(blocks_.size() * block_pages);
        blocks_.push_back(std::make_unique<Page[]>(block_pages));
        free_.reserve(blocks_.size() * block_pages);
        for (std::uint32_t i = block_pages; i > 0; --i) {
            free_.push_back(first + i - 1);
        }
    }
    const std::uint32_t page = free_.back();
    free_.pop_back();
    return page;
}

void detail::PagePool::give_back(std::uint32_t page) {
    if (page != none) {
        free_.push_back(page);
    }
}

// --- the sinks ---

/// Keeps chunks apart from all other bytes.
class SharedSnapshots::SaveSink final : public BufferSink {
public:
    SaveSink(SharedSnapshots& owner, Snapshot& snapshot)
        : BufferSink(snapshot.rest)
        , owner_(owner)
        , snapshot_(snapshot) {}

    void put_chunked_section(std::string_view name,
                             const detail::ChunkedContent& content) override {
        begin_chunked_section(name, content);
        finish();
        const std::size_t table = snapshot_.gaps.size();
        snapshot_.gaps.push_back({snapshot_.rest.size(), content.size});
        owner_.keep(content, table, snapshot_);
    }

private:
    SharedSnapshots& owner_;
    Snapshot& snapshot_;
};

/// Takes no bytes; tells tracked vectors what is known of the chunks that they were loaded from.
class SharedSnapshots::AdoptSink final : public ByteSink {
public:
    explicit AdoptSink(SharedSnapshots& owner)
        : owner_(owner) {
        make_room(0);
    }

    void put_run(ByteView) override {}

    void begin_section(std::string_view) override {}

    void end_section() override {}

    void put_chunked_section(std::string_view, const detail::ChunkedContent& content) override {
        owner_.adopt(content, table_);
        ++table_;
    }

private:
    void make_room(std::size_t size) override {
        TWINSTEP_ASSERT(size <= nothing_.size());
        cursor_ = nothing_.data();
        limit_ = nothing_.data() + nothing_.size();
    }

    SharedSnapshots& owner_;
    std::size_t table_ = 0;
    std::array<std::byte, 256> nothing_{};
};

/// Makes one tracked vector after the other what the newest snapshot has.
class SharedSnapshots::Restorer final : public detail::ChunkSource {
public:
    explicit Restorer(SharedSnapshots& owner)
        : owner_(owner) {}

    void restore(const detail::ChunkedContent& content, std::byte* memory) override {
        owner_.restore(content, memory, table_);
        ++table_;
    }

private:
    SharedSnapshots& owner_;
    std::size_t table_ = 0;
};

// --- SharedSnapshots ---

SharedSnapshots::SharedSnapshots(std::size_t kept)
    : ring_(kept)
    , identity_(std::make_shared<const char>()) {
    TWINSTEP_ASSERT(kept >= 1);
}

Tick SharedSnapshots::oldest() const {
    TWINSTEP_ASSERT(count_ > 0);
    return at(0).tick;
}

Tick SharedSnapshots::newest() const {
    TWINSTEP_ASSERT(count_ > 0);
    return at(count_ - 1).tick;
}

/// The index of a tick's snapshot, or count_.
std::size_t SharedSnapshots::index_of(Tick tick) const {
    std::size_t index = 0;
    while (index < count_ && at(index).tick != tick) {
        ++index;
    }
    return index;
}

bool SharedSnapshots::holds(Tick tick) const {
    return index_of(tick) < count_;
}

void SharedSnapshots::save(Simulation& simulation) {
    const Tick tick = simulation.tick();
    while (count_ > 0 && newest() >= tick) {
        drop_newest();
    }
    if (count_ == ring_.size()) {
        drop_oldest();
    }
    Snapshot& snapshot = at(count_);
    snapshot.tick = tick;
    snapshot.rest.clear();
    snapshot.gaps.clear();
    snapshot.changes.clear();
    SaveSink sink(*this, snapshot);
    simulation.save_sections(sink);
    sink.finish();
    // Sections do not come and go in simulations of one kind.
    TWINSTEP_ASSERT(snapshot.gaps.size() == tables_.size());
    ++count_;
    if (count_ == 1) {
        // Nobody goes back beyond the oldest.
        for (const Change& change : snapshot.changes) {
            pool_.give_back(change.before);
        }
        snapshot.changes.clear();
    }
}

void SharedSnapshots::drop_oldest() {
    first_ = (first_ + 1) % ring_.size();
    --count_;
    if (count_ > 0) {
        for (const Change& change : at(0).changes) {
            pool_.give_back(change.before);
        }
        at(0).changes.clear();
    }
}

/// Makes the tables those of the snapshot before. The tables of the oldest stay, for a save to
/// share.
void SharedSnapshots::drop_newest() {
    Snapshot& dropped = at(count_ - 1);
    for (const Change& change : dropped.changes) {
        tables_[change.table].pages[change.chunk] = change.before;
        pool_.give_back(change.after);
    }
    dropped.changes.clear();
    --count_;
    if (count_ == 0) {
        return;
    }
    for (std::size_t table = 0; table < tables_.size(); ++table) {
        tables_[table].chunks = detail::chunks_of(at(count_ - 1).gaps[table].bytes);
        ++tables_[table].version;
    }
}

void SharedSnapshots::keep(const detail::ChunkedContent& content,
                           std::size_t table_index,
                           Snapshot& snapshot) {
    if (table_index == tables_.size()) {
        tables_.emplace_back();
    }
    Table& table = tables_[table_index];
    const std::size_t chunks = content.chunks();
    if (table.pages.size() < chunks) {
        table.pages.resize(chunks, none);
    }
    detail::ChunkTracker& tracker = content.tracker;
    // Of a vector that this store has not just saved, marks say nothing: its bytes are compared.
    const bool known = tracker.follows(identity_, table.version);
    if (!known) {
        for (std::uint8_t& flags : tracker.flags()) {
            flags |= detail::ChunkTracker::unsaved;
        }
    }
    detail::ChunkBuffer buffer;
    detail::take_flagged(tracker.flags(), detail::ChunkTracker::unsaved, [&](std::size_t index) {
        const auto chunk = static_cast<std::uint32_t>(index);
        const std::uint32_t before = table.pages[chunk];
        const ByteView bytes = content.chunk(chunk, buffer);
        if (known || !is_page(before, bytes)) {
            const bool hashed = (tracker.flags()[index] & detail::ChunkTracker::unhashed) == 0;
            const std::uint32_t page =
                new_page(bytes, hashed ? &tracker.digests()[index] : nullptr);
            snapshot.changes.push_back(
                {static_cast<std::uint32_t>(table_index), chunk, before, page});
            table.pages[chunk] = page;
        }
    });
    finish_copies();
    forget_end(table_index, chunks, snapshot);
    tracker.follow(identity_, table.version);
}

/// The vector ends after so many chunks now.
void SharedSnapshots::forget_end(std::size_t table_index, std::size_t chunks, Snapshot& snapshot) {
    Table& table = tables_[table_index];
    for (std::size_t index = chunks; index < table.chunks; ++index) {
        snapshot.changes.push_back({static_cast<std::uint32_t>(table_index),
                                    static_cast<std::uint32_t>(index),
                                    table.pages[index],
                                    none});
        table.pages[index] = none;
    }
    table.chunks = chunks;
    ++table.version;
}

std::uint32_t SharedSnapshots::new_page(ByteView bytes, const detail::ChunkDigest* digest) {
    const std::uint32_t page = pool_.take();
    copy_past_caches(pool_.at(page), bytes);
    if (digests_.size() <= page) {
        digests_.resize(page + std::size_t{1});
    }
    digests_[page] = digest != nullptr ? *digest : detail::ChunkDigest{};
    return page;
}

bool SharedSnapshots::is_page(std::uint32_t page, ByteView bytes) const {
    return page != none && std::memcmp(pool_.at(page), bytes.data(), bytes.size()) == 0;
}

void SharedSnapshots::copy(Tick tick, Bytes& target) const {
    const std::size_t index = index_of(tick);
    TWINSTEP_ASSERT(index < count_);
    earlier_.resize(tables_.size());
    for (std::size_t table = 0; table < tables_.size(); ++table) {
        earlier_[table] = tables_[table].pages;
    }
    for (std::size_t later = count_ - 1; later > index; --later) {
        for (const Change& change : at(later).changes) {
            earlier_[change.table][change.chunk] = change.before;
        }
    }
    const Snapshot& snapshot = at(index);
    target.clear();
    write_snapshot_head(target, tick);
    std::size_t offset = 0;
    for (std::size_t table = 0; table < snapshot.gaps.size(); ++table) {
        const Gap& gap = snapshot.gaps[table];
        append(target, ByteView(snapshot.rest).subspan(offset, gap.offset - offset));
        for (std::size_t begin = 0; begin < gap.bytes; begin += chunk_bytes) {
            const std::byte* page = pool_.at(earlier_[table][begin / chunk_bytes]);
            append(target, {page, std::min(chunk_bytes, gap.bytes - begin)});
        }
        offset = gap.offset;
    }
    append(target, ByteView(snapshot.rest).subspan(offset));
}

Result<void> SharedSnapshots::load(Tick tick, Simulation& simulation) {
    copy(tick, loading_);
    if (Result<void> loaded = simulation.load(loading_); !loaded) {
        return loaded;
    }
    while (newest() > tick) {
        drop_newest();
    }
    AdoptSink sink(*this);
    simulation.save_sections(sink);
    return {};
}

/// A chunk that nobody has touched since it was loaded is what the table says.
void SharedSnapshots::adopt(const detail::ChunkedContent& content, std::size_t table_index) {
    using detail::ChunkTracker;
    const Table& table = tables_[table_index];
    ChunkTracker& tracker = content.tracker;
    const std::span<std::uint8_t> flags = tracker.flags();
    for (std::size_t chunk = 0; chunk < std::min(flags.size(), table.chunks); ++chunk) {
        if ((flags[chunk] & ChunkTracker::loaded) != 0) {
            flags[chunk] &= static_cast<std::uint8_t>(~unsigned{ChunkTracker::unsaved});
            const detail::ChunkDigest& digest = digests_[table.pages[chunk]];
            if (digest != detail::ChunkDigest{}) {
                tracker.adopt(chunk, digest);
            }
        }
    }
    tracker.follow(identity_, table.version);
}

Result<void> SharedSnapshots::go_back(Tick tick, Simulation& simulation) {
    const std::size_t index = index_of(tick);
    TWINSTEP_ASSERT(index < count_);
    for (Table& table : tables_) {
        table.version_left = table.version;
    }
    left_.clear();
    while (newest() > tick) {
        const std::vector<Change>& changes = at(count_ - 1).changes;
        left_.insert(left_.end(), changes.begin(), changes.end());
        drop_newest();
    }
    Restorer chunks(*this);
    const Result<bool> done = simulation.load_in_place(tick, at(index).rest, chunks);
    if (!done) {
        return fail(done.error());
    }
    return *done ? Result<void>{} : load(tick, simulation);
}

void SharedSnapshots::restore(const detail::ChunkedContent& content,
                              std::byte* memory,
                              std::size_t table_index) {
    using detail::ChunkTracker;
    const Table& table = tables_[table_index];
    ChunkTracker& tracker = content.tracker;
    const std::span<std::uint8_t> flags = tracker.flags();
    TWINSTEP_ASSERT(flags.size() == table.chunks);
    if (tracker.follows(identity_, table.version_left)) {
        for (const Change& change : left_) {
            if (change.table == table_index && change.chunk < flags.size()) {
                flags[change.chunk] |= ChunkTracker::unsaved;
            }
        }
    } else {
        std::fill(flags.begin(), flags.end(), ChunkTracker::written);
    }
    detail::take_flagged(flags, ChunkTracker::unsaved, [&](std::size_t chunk) {
        const std::uint32_t page = table.pages[chunk];
        const std::size_t first = chunk * chunk_bytes;
        std::memcpy(memory + first, pool_.at(page), std::min(chunk_bytes, content.size - first));
        flags[chunk] = ChunkTracker::unhashed;
        if (digests_[page] != detail::ChunkDigest{}) {
            tracker.adopt(chunk, digests_[page]);
        }
    });
    tracker.follow(identity_, table.version);
}

} // namespace twinstep
