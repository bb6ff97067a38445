// SPDX-License-Identifier: MIT
// A vector for large state: it knows which 4 KiB chunks were written, so that hash and snapshot
// cost what changed.
#pragma once

#include "twinstep/sim/archive.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/snapshot.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace twinstep {

/// What a tracked vector may hold: numbers, and types proved contiguous.
template <class T>
concept Trackable = contiguous<T> ||(Scalar<T> && !std::same_as<T, bool>);

namespace detail {

using ChunkBuffer = std::array<std::byte, chunk_bytes>;

/// A digest as it is hashed: low, then high, each little-endian.
using ChunkDigest = std::array<std::uint64_t, 2>;

ChunkDigest digest_of(ByteView chunk);

constexpr std::size_t chunks_of(std::size_t bytes) {
    return bytes / chunk_bytes + (bytes % chunk_bytes != 0 ? 1 : 0);
}

/// What is known of each chunk of one vector: its digest, and whether it was written since it was
/// hashed and since it was saved into a store of snapshots.
class ChunkTracker {
public:
    /// Bits of a chunk's flags. A write sets them all but `loaded`, in one plain store.
    static constexpr std::uint8_t unhashed = 1; ///< Its digest is not that of its bytes.
    static constexpr std::uint8_t unsaved = 2;  ///< It is not what the store has.
    static constexpr std::uint8_t loaded = 4;   ///< Nobody wrote it since it was loaded.
    static constexpr std::uint8_t written = unhashed | unsaved;

    /// Requires a chunk that is there. Thread: several may mark at the same time.
    void mark(std::size_t chunk) {
#if defined(__GNUC__)
        // Two threads may mark one chunk, for two of its elements. As cheap as any other store.
        __atomic_store_n(flags_.data() + chunk, written, __ATOMIC_RELAXED);
#else
        *static_cast<volatile std::uint8_t*>(flags_.data() + chunk) = written;
#endif
    }

    /// Marks the chunks of the bytes from `begin` to `end`.
    void mark_bytes(std::size_t begin, std::size_t end) {
        for (std::size_t chunk = begin / chunk_bytes; chunk < chunks_of(end); ++chunk) {
            mark(chunk);
        }
    }

    /// The vector had so many bytes and has so many now. Marks what is new, and a last chunk that
    /// ends elsewhere.
    void resize(std::size_t before, std::size_t after);
    void reserve(std::size_t bytes);
    /// Nothing is known of any chunk: all come from a snapshot.
    void loaded_anew(std::size_t bytes);

    /// Brings all digests up to date. Of the others, computes one of `period` again and stops the
    /// program if it is not what it was: somebody wrote and did not mark.
    void refresh(const ChunkedContent& content, std::string_view name, std::uint32_t period);

    std::span<const ChunkDigest> digests() const {
        return digests_;
    }

    std::span<std::uint8_t> flags() {
        return flags_;
    }

    /// The digest of a chunk that was computed elsewhere.
    void adopt(std::size_t chunk, const ChunkDigest& digest);

    /// True if the chunks that are not `unsaved` are what this store has under this version.
    bool follows(const std::shared_ptr<const void>& store, std::uint64_t version) const {
        return store_ == store && version_ == version;
    }

    /// All chunks are in the store.
    void follow(std::shared_ptr<const void> store, std::uint64_t version) {
        store_ = std::move(store);
        version_ = version;
    }

private:
    void recheck(const ChunkedContent& content, std::string_view name, std::uint32_t period);

    std::vector<std::uint8_t> flags_;
    std::vector<ChunkDigest> digests_;
    std::size_t cursor_ = 0;            ///< Chunk that is computed again next.
    std::shared_ptr<const void> store_; ///< Held, so that no other store can be mistaken for it.
    std::uint64_t version_ = 0;
};

/// A tracked vector as sinks see it: canonical bytes in chunks. Valid during the call.
struct ChunkedContent {
    ChunkTracker& tracker;
    std::uint64_t count = 0;           ///< Elements.
    std::size_t element_bytes = 0;     ///< Of each.
    std::size_t size = 0;              ///< Bytes of all elements.
    const std::byte* memory = nullptr; ///< They lie here in their encoding; null if they must be
    const void* values = nullptr;      ///< encoded from here.
    void (*encode)(const void* values, std::size_t first, std::span<std::byte> target) = nullptr;

    std::size_t chunks() const { return chunks_of(size); }

    /// The bytes of a chunk, in memory or in the buffer.
    ByteView chunk(std::size_t index, ChunkBuffer& buffer) const;
};

/// Has the bytes that tracked vectors had.
class ChunkSource {
public:
    virtual ~ChunkSource() = default;

    /// Makes the bytes of the next tracked vector, which begin at `memory`, what they were. The
    /// vector has the right size already.
    virtual void restore(const ChunkedContent& content, std::byte* memory) = 0;
};

/// Receives the encoding of one element.
template <std::size_t size>
class ElementSink final : public ByteSink {
public:
    ElementSink() { rewind(); }

    void rewind() {
        cursor_ = bytes_.data();
        limit_ = bytes_.data() + size;
    }

    /// Requires a whole element.
    ByteView element() const {
        TWINSTEP_ASSERT(cursor_ == limit_);
        return bytes_;
    }

    void put_run(ByteView bytes) override { put(bytes.data(), bytes.size()); }

private:
    void make_room(std::size_t needed) override {
        static_cast<void>(needed);
        const bool element_is_longer_than_its_memory = true;
        TWINSTEP_ASSERT(!element_is_longer_than_its_memory);
    }

    void begin_section(std::string_view) override { make_room(0); }

    void end_section() override { make_room(0); }

    void put_chunked_section(std::string_view, const ChunkedContent&) override { make_room(0); }

    std::array<std::byte, size> bytes_{};
};

/// Encodes the bytes from `first` on, element by element: for floats, whose memory is not their
/// encoding, and where the least significant byte does not come first.
template <class T>
void encode_elements(const void* values, std::size_t first, std::span<std::byte> target) {
    ElementSink<sizeof(T)> sink;
    OutArchive archive(sink);
    std::size_t index = first / sizeof(T);
    std::size_t skipped = first % sizeof(T);
    while (!target.empty()) {
        sink.rewind();
        archive(static_cast<const T*>(values)[index]);
        const ByteView element = sink.element().subspan(skipped);
        const std::size_t used = std::min(element.size(), target.size());
        std::copy_n(element.begin(), used, target.begin());
        target = target.subspan(used);
        skipped = 0;
        ++index;
    }
}

} // namespace detail

/// A vector whose hash and snapshot cost what was written since the last ones, not what is there:
///     TrackedVector<Cell> cells_;
///     archive(section("cells", CEREAL_NVP(cells_)));
/// It is the only value of its section. Reading is free and marks nothing. Writing goes through the
/// functions below, which mark the chunks of 4 KiB that they give away.
///
/// A reference or span that a writing function gave is for writing until the next hash or save, or
/// until the size changes. One that is kept longer writes past the marks: the hash is then of what
/// was there before. Some chunks are computed again with every hash, so that this stops the program
/// (TWINSTEP_ASSERT's handler, naming section and elements) within as many hashes as
/// Simulation::set_recheck_hashes says.
/// Thread: parts of a parallel_for may call `write`, `set` and `write_range` for elements of their
/// own; nothing else may run beside a writing function.
template <class T>
class TrackedVector {
    static_assert(Trackable<T>, "elements are numbers or contiguous (archive.hpp), and no bool");

public:
    using value_type = T;

    TrackedVector() = default;

    explicit TrackedVector(std::size_t count, const T& value = T{}) { assign(count, value); }

    std::size_t size() const noexcept { return values_.size(); }

    bool empty() const noexcept { return values_.empty(); }

    const T* data() const noexcept { return values_.data(); }

    auto begin() const noexcept { return values_.begin(); }

    auto end() const noexcept { return values_.end(); }

    const T& operator[](std::size_t index) const { return values_[index]; }

    const T& front() const { return values_.front(); }

    const T& back() const { return values_.back(); }

    /// The same as a vector.
    const std::vector<T>& values() const noexcept { return values_; }

    /// One element to write. Requires index < size().
    T& write(std::size_t index) {
        TWINSTEP_ASSERT(index < values_.size());
        if constexpr (chunk_bytes % sizeof(T) == 0) {
            tracker_.mark(index / (chunk_bytes / sizeof(T)));
        } else {
            tracker_.mark_bytes(index * sizeof(T), (index + 1) * sizeof(T));
        }
        return values_[index];
    }

    /// Requires index < size().
    void set(std::size_t index, const T& value) { write(index) = value; }

    /// The elements from `begin` to `end`, to write. Requires begin <= end <= size().
    std::span<T> write_range(std::size_t begin, std::size_t end) {
        TWINSTEP_ASSERT(begin <= end);
        TWINSTEP_ASSERT(end <= values_.size());
        if (begin < end) {
            tracker_.mark_bytes(begin * sizeof(T), end * sizeof(T));
        }
        return std::span<T>(values_).subspan(begin, end - begin);
    }

    void push_back(const T& value) {
        values_.push_back(value);
        fit(values_.size() - 1);
    }

    /// Requires an element.
    void pop_back() {
        TWINSTEP_ASSERT(!values_.empty());
        values_.pop_back();
        fit(values_.size() + 1);
    }

    void resize(std::size_t count, const T& value = T{}) {
        const std::size_t before = values_.size();
        values_.resize(count, value);
        fit(before);
    }

    void assign(std::size_t count, const T& value) {
        values_.assign(count, value);
        fit(0);
    }

    /// Requires elements that are not this vector's own.
    void assign(std::span<const T> values) {
        values_.assign(values.begin(), values.end());
        fit(0);
    }

    void clear() {
        const std::size_t before = values_.size();
        values_.clear();
        fit(before);
    }

    void reserve(std::size_t count) {
        values_.reserve(count);
        tracker_.reserve(count * sizeof(T));
    }

private:
    friend class OutArchive;
    friend class InArchive;

    void fit(std::size_t before) {
        tracker_.resize(before * sizeof(T), values_.size() * sizeof(T));
    }

    detail::ChunkedContent content() {
        constexpr bool whole = std::endian::native == std::endian::little || sizeof(T) == 1;
        constexpr bool in_memory = whole && !std::is_floating_point_v<T>;
        return {tracker_,
                values_.size(),
                sizeof(T),
                values_.size() * sizeof(T),
                in_memory ? reinterpret_cast<const std::byte*>(values_.data()) : nullptr,
                values_.data(),
                &detail::encode_elements<T>};
    }

    std::vector<T> values_;
    detail::ChunkTracker tracker_;
};

// --- the archives ---

template <class T>
void OutArchive::chunked_section(std::string_view name, const char*, TrackedVector<T>& vector) {
    if constexpr (!std::is_arithmetic_v<T> && std::endian::native == std::endian::little) {
        static const bool proved = detail::contiguity_holds<T>();
        TWINSTEP_ASSERT(proved);
    }
    sink_.put_chunked_section(name, vector.content());
}

template <class T>
void InArchive::restore_chunks(TrackedVector<T>& vector) {
    std::uint64_t count = 0;
    read(count);
    vector.resize(static_cast<std::size_t>(count));
    const detail::ChunkedContent content = vector.content();
    if constexpr (std::endian::native == std::endian::little || sizeof(T) == 1) {
        // Of floats too: a NaN that was saved is the canonical one.
        chunks_->restore(content, reinterpret_cast<std::byte*>(vector.values_.data()));
    } else {
        Bytes bytes;
        detail::ChunkBuffer buffer;
        for (std::size_t chunk = 0; chunk < content.chunks(); ++chunk) {
            const ByteView view = content.chunk(chunk, buffer);
            bytes.insert(bytes.end(), view.begin(), view.end());
        }
        chunks_->restore(content, bytes.data());
        InArchive archive(bytes);
        for (T& value : vector.values_) {
            archive(value);
        }
    }
}

template <class T>
void InArchive::chunked_section(std::string_view name, const char*, TrackedVector<T>& vector) {
    if (chunks_ != nullptr) {
        read_section_frame(name, detail::chunked_mark);
        restore_chunks(vector);
        end_section();
        return;
    }

    // Whatever becomes of the elements, also if one of them throws: nothing is known of them.
    struct Forget {
        TrackedVector<T>& vector;

        ~Forget() { vector.tracker_.loaded_anew(vector.values_.size() * sizeof(T)); }
    } forget{vector};

    read_section_frame(name, detail::chunked_mark);
    (*this)(vector.values_);
    end_section();
}

template <class T>
void VisitArchive::chunked_section(std::string_view name,
                                   const char* field,
                                   const TrackedVector<T>& vector) {
    begin_section(name);
    if (field != nullptr) {
        name_next(field);
    }
    (*this)(vector.values());
    end_section();
}

template <class T>
void SchemaArchive::chunked_section(std::string_view name,
                                    const char* field,
                                    const TrackedVector<T>&) {
    begin_section(name);
    if (field != nullptr) {
        name_next(field);
    }
    open("chunked[");
    (*this)(T{});
    close("]");
    end_section();
}

} // namespace twinstep
