// SPDX-License-Identifier: MIT
// Archives on Cereal's own base classes: canonical little-endian bytes out, bounded bytes in, and
// the same `serialize` walked for field paths and for the schema.
#pragma once

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/types.hpp"

#include <cereal/cereal.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/common.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace twinstep {

/// A named part of the state. Every value of a game's `serialize` belongs to exactly one section:
///     archive(section("players", CEREAL_NVP(players_)), section("arena", CEREAL_NVP(doors_)));
template <class... Values>
struct Section {
    std::string_view name;
    std::tuple<Values...> values;
};

/// Makes a section. Requires an ASCII name of 1 to section_name_bytes_max bytes, unique in the
/// state.
template <class... Values>
Section<Values...> section(std::string_view name, Values&&... values) {
    return {name, std::tuple<Values...>(std::forward<Values>(values)...)};
}

/// Says that the memory of T is its encoding on a little-endian machine: integers only, no padding,
/// `serialize` names every member in order. Runs of T are then saved and hashed whole. The claim is
/// proved the first time such a run is written, not believed.
///     template <> inline constexpr bool twinstep::contiguous<Unit> = true;
template <class T>
inline constexpr bool contiguous = false;

/// Types whose every bit is value: what a contiguous type must be. Floats are not, because -0 and
/// the NaNs have bits that compare equal or mean the same.
template <class T>
concept PaddingFree =
    std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>;

template <class T>
class TrackedVector;

namespace detail {

/// A tracked vector as sinks see it; see tracked.hpp.
struct ChunkedContent;

/// Where the elements of tracked vectors come from if not from the bytes; see tracked.hpp.
class ChunkSource;

/// True if encoding T field by field gives T's memory, tried with patterns that tell every byte of
/// T from every other.
template <class T>
bool contiguity_holds();

} // namespace detail

/// Types whose encoding is defined: integers of a known width, bool, float, double. Plain `char` is
/// not one of them: its sign differs between CPUs.
template <class T>
concept Scalar =
    std::is_arithmetic_v<T> && !std::same_as<T, long double> && !std::same_as<T, char> &&
    !std::same_as<T, wchar_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

/// Where an OutArchive puts its bytes.
class ByteSink {
public:
    virtual ~ByteSink() = default;
    ByteSink(const ByteSink&) = delete;
    ByteSink& operator=(const ByteSink&) = delete;

    /// Appends a few bytes.
    void put(const void* source, std::size_t size) {
        if (static_cast<std::size_t>(limit_ - cursor_) < size) [[unlikely]] {
            make_room(size);
        }
        std::memcpy(cursor_, source, size);
        cursor_ += size;
    }

    /// Appends bytes that are already canonical and may be many.
    virtual void put_run(ByteView bytes) = 0;
    virtual void begin_section(std::string_view name) = 0;
    virtual void end_section() = 0;
    /// A whole section whose only value is a tracked vector.
    virtual void put_chunked_section(std::string_view name,
                                     const detail::ChunkedContent& content) = 0;

protected:
    ByteSink() = default;
    /// Makes at least `size` bytes available between cursor_ and limit_.
    virtual void make_room(std::size_t size) = 0;

    std::byte* cursor_ = nullptr;
    std::byte* limit_ = nullptr;
};

/// Writes canonical bytes: little-endian, fixed width, no padding, every NaN the same NaN.
class OutArchive : public cereal::OutputArchive<OutArchive, cereal::AllowEmptyClassElision> {
public:
    explicit OutArchive(ByteSink& sink)
        : OutputArchive(this)
        , sink_(sink) {}

    template <Scalar T>
    void write(T value) {
        const auto bits = canonical(value);
        sink_.put(&bits, sizeof(bits));
    }

    /// A run of scalars, or of types proved contiguous.
    template <class T>
    void write_run(const T* values, std::size_t count) {
        constexpr bool whole = std::endian::native == std::endian::little || sizeof(T) == 1;
        if constexpr (std::is_floating_point_v<T> || (!whole && Scalar<T>)) {
            for (std::size_t i = 0; i < count; ++i) {
                write(values[i]);
            }
        } else if constexpr (whole) {
            if constexpr (!std::is_arithmetic_v<T>) {
                static const bool proved = detail::contiguity_holds<T>();
                TWINSTEP_ASSERT(proved);
            }
            sink_.put_run(std::as_bytes(std::span(values, count)));
        } else {
            for (std::size_t i = 0; i < count; ++i) {
                (*this)(values[i]);
            }
        }
    }

    void begin_section(std::string_view name) { sink_.begin_section(name); }

    void end_section() { sink_.end_section(); }

    template <class T>
    void chunked_section(std::string_view name, const char* field, TrackedVector<T>& vector);

    /// Whether a NaN was written since the last call, outside of tracked vectors.
    bool take_nan_seen() { return std::exchange(nan_seen_, false); }

private:
    template <Scalar T>
    auto canonical(T value) {
        if constexpr (std::is_floating_point_v<T>) {
            using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
            constexpr Bits nan =
                sizeof(T) == 4 ? Bits{0x7FC00000} : static_cast<Bits>(0x7FF8000000000000ULL);
            if (value != value) [[unlikely]] {
                nan_seen_ = true;
                return detail::little_endian(nan);
            }
            return detail::little_endian(std::bit_cast<Bits>(value));
        } else if constexpr (std::same_as<T, bool>) {
            return static_cast<std::uint8_t>(value ? 1 : 0);
        } else {
            return detail::little_endian(static_cast<std::make_unsigned_t<T>>(value));
        }
    }

    ByteSink& sink_;
    bool nan_seen_ = false;
};

/// Reads canonical bytes that may be hostile. Sticky: after the first failure every value reads as
/// zero and every count as none, so that a user's `serialize` ends quickly; `finish` tells. A count
/// larger than the bytes left fails before anything is allocated.
class InArchive : public cereal::InputArchive<InArchive, cereal::AllowEmptyClassElision> {
public:
    /// With `chunks`, tracked vectors keep what they have and are made what these say; of them the
    /// bytes have only the count.
    explicit InArchive(ByteView source = {}, detail::ChunkSource* chunks = nullptr)
        : InputArchive(this)
        , reader_(source)
        , chunks_(chunks) {}

    /// Starts over on other bytes.
    void reset(ByteView source) { reader_ = ByteReader(source); }

    template <Scalar T>
    void read(T& value) {
        if constexpr (std::same_as<T, bool>) {
            const std::uint8_t byte = reader_.u8("bool");
            if (byte > 1) {
                reader_.fail(SimErrc::malformed, "bool");
            }
            value = byte == 1;
        } else {
            std::array<std::byte, sizeof(T)> raw{};
            const ByteView view = reader_.bytes(sizeof(T), "value");
            if (view.size() == sizeof(T)) {
                std::memcpy(raw.data(), view.data(), sizeof(T));
            }
            if constexpr (std::endian::native != std::endian::little) {
                for (std::size_t i = 0; i < sizeof(T) / 2; ++i) {
                    std::swap(raw[i], raw[sizeof(T) - 1 - i]);
                }
            }
            value = std::bit_cast<T>(raw);
            if constexpr (std::is_floating_point_v<T>) {
                require_canonical(value, view);
            }
        }
    }

    /// A count of things that take at least `bytes_each` bytes. Requires bytes_each >= 1.
    void read_count(cereal::size_type& count, std::size_t bytes_each = 1) {
        const std::uint64_t wanted = reader_.u64("count");
        if (wanted > reader_.remaining() / bytes_each) {
            reader_.fail(SimErrc::truncated, "count");
        }
        count = reader_.ok() ? static_cast<cereal::size_type>(wanted) : 0;
    }

    /// Reads a section's frame, which must have this name and not be that of a chunked section.
    void begin_section(std::string_view name);
    /// The section's bytes must be used up.
    void end_section();

    template <class T>
    void chunked_section(std::string_view name, const char* field, TrackedVector<T>& vector);

    bool ok() const { return reader_.ok(); }

    /// Everything was read and nothing is left, or the first error.
    Result<void> finish();

    ByteReader& reader() { return reader_; }

private:
    /// A NaN with another payload, or spelled with a sign, would load as a state that saves to
    /// other bytes than it came from.
    template <class T>
    void require_canonical(T value, ByteView view) {
        if (value != value && view.size() == sizeof(T)) {
            if constexpr (sizeof(T) == 4) {
                if (std::bit_cast<std::uint32_t>(value) != 0x7FC00000) {
                    reader_.fail(SimErrc::malformed, "nan");
                }
            } else if (std::bit_cast<std::uint64_t>(value) != 0x7FF8000000000000) {
                reader_.fail(SimErrc::malformed, "nan");
            }
        }
    }

    void read_section_frame(std::string_view name, std::uint8_t mark);

    template <class T>
    void restore_chunks(TrackedVector<T>& vector);

    ByteReader reader_;
    detail::ChunkSource* chunks_;
    std::size_t section_end_ = 0;
};

/// A field's value as a visitor sees it.
struct FieldValue {
    enum class Type : std::uint8_t {
        boolean,
        unsigned_integer,
        signed_integer,
        float32,
        float64,
        text
    };
    Type type = Type::unsigned_integer;
    std::uint64_t bits = 0; ///< The value, sign-extended, or the bit pattern of a float.
    std::string_view text;  ///< For Type::text only; valid during the call.
    std::uint8_t width = 0; ///< Bits the value has in the encoding; 0 for text.
    /// The value counts 2^-fraction_bits. Not 0 for fixed point only.
    std::uint8_t fraction_bits = 0;
};

/// The value as decimal text; floats and fixed point in shortest round-trip form.
std::string to_string(const FieldValue& value);

/// Walks a state as a named tree. Unnamed children (elements of a list) have an empty name.
class FieldVisitor {
public:
    virtual ~FieldVisitor() = default;
    /// Returns false to be spared the section.
    virtual bool begin_section(std::string_view name) = 0;
    virtual void end_section() = 0;
    virtual void begin_object(std::string_view name, bool list) = 0;
    virtual void end_object() = 0;
    virtual void field(std::string_view name, const FieldValue& value) = 0;
};

/// Shows every field of a `serialize` to a FieldVisitor.
class VisitArchive : public cereal::OutputArchive<VisitArchive, cereal::AllowEmptyClassElision> {
public:
    explicit VisitArchive(FieldVisitor& visitor)
        : OutputArchive(this)
        , visitor_(visitor) {}

    void name_next(const char* name) { next_name_ = name; }

    template <Scalar T>
    void write(T value, int fraction_bits = 0) {
        FieldValue field;
        field.width = sizeof(T) * 8;
        field.fraction_bits = static_cast<std::uint8_t>(fraction_bits);
        if constexpr (std::same_as<T, bool>) {
            field.type = FieldValue::Type::boolean;
            field.bits = value ? 1U : 0U;
        } else if constexpr (std::same_as<T, float>) {
            field.type = FieldValue::Type::float32;
            field.bits = std::bit_cast<std::uint32_t>(value);
        } else if constexpr (std::same_as<T, double>) {
            field.type = FieldValue::Type::float64;
            field.bits = std::bit_cast<std::uint64_t>(value);
        } else if constexpr (std::is_signed_v<T>) {
            field.type = FieldValue::Type::signed_integer;
            field.bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
        } else {
            field.bits = value;
        }
        emit(field);
    }

    void write_text(std::string_view text) { emit({FieldValue::Type::text, 0, text, 0, 0}); }

    void begin_object(bool list);
    void end_object();
    void begin_section(std::string_view name);
    void end_section();

    template <class T>
    void chunked_section(std::string_view name, const char* field, const TrackedVector<T>& vector);

private:
    void emit(const FieldValue& value);
    std::string_view take_name();

    FieldVisitor& visitor_;
    const char* next_name_ = nullptr;
    bool skipping_ = false;
};

/// Spells the layout of a `serialize` as text, from a default-made value; its hash is the schema
/// fingerprint. Lists show their element type once.
class SchemaArchive : public cereal::OutputArchive<SchemaArchive, cereal::AllowEmptyClassElision> {
public:
    SchemaArchive()
        : OutputArchive(this) {}

    void name_next(const char* name);
    void word(std::string_view text);
    void open(std::string_view bracket);
    void close(std::string_view bracket);
    void begin_section(std::string_view name);
    void end_section();

    template <class T>
    void chunked_section(std::string_view name, const char* field, const TrackedVector<T>& vector);

    template <Scalar T>
    void write(T) {
        if constexpr (std::same_as<T, bool>) {
            word("bool");
        } else {
            const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
            word(std::string(1, kind) + std::to_string(sizeof(T) * 8));
        }
    }

    const std::string& text() const { return text_; }

private:
    void separate();

    std::string text_;
    std::vector<std::string> sections_;
    bool first_ = true;
};

/// The schema text of T, such as "{forward:i8,side:i8,turn:i16,buttons:u8}".
template <class T>
std::string schema_of(const T& value) {
    SchemaArchive archive;
    archive(value);
    return archive.text();
}

} // namespace twinstep

#include "twinstep/sim/impl/archive_overloads.hpp"
