// SPDX-License-Identifier: MIT
// The overloads by which Cereal finds its way into Twinstep's archives.
#pragma once

#include "twinstep/sim/archive.hpp"

namespace twinstep {

// --- every archive ---

namespace detail {

/// What a section's value has to do with a tracked vector: nothing, unless it is one.
template <class T>
struct TrackedField {
    static constexpr bool found = false;
};

template <class T>
struct TrackedField<TrackedVector<T>> {
    static constexpr bool found = true;

    static const char* name(TrackedVector<T>&) { return nullptr; }

    static TrackedVector<T>& vector(TrackedVector<T>& value) { return value; }
};

template <class T>
struct TrackedField<cereal::NameValuePair<TrackedVector<T>&>> {
    using Pair = cereal::NameValuePair<TrackedVector<T>&>;
    static constexpr bool found = true;

    static const char* name(Pair& pair) { return pair.name; }

    static TrackedVector<T>& vector(Pair& pair) { return pair.value; }
};

} // namespace detail

template <class Archive, class... Values>
void CEREAL_SERIALIZE_FUNCTION_NAME(Archive& archive, Section<Values...>& section) {
    static_assert(sizeof...(Values) > 0, "a section needs at least one value");
    if constexpr ((detail::TrackedField<std::remove_cvref_t<Values>>::found || ...)) {
        static_assert(sizeof...(Values) == 1, "a tracked vector is the only value of its section");
        auto& value = std::get<0>(section.values);
        using Field = detail::TrackedField<std::remove_cvref_t<decltype(value)>>;
        archive.chunked_section(section.name, Field::name(value), Field::vector(value));
    } else {
        archive.begin_section(section.name);
        std::apply([&archive](auto&... values) { archive(values...); }, section.values);
        archive.end_section();
    }
}

// --- OutArchive ---

template <Scalar T>
void CEREAL_SAVE_FUNCTION_NAME(OutArchive& archive, const T& value) {
    archive.write(value);
}

template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(OutArchive& archive, cereal::NameValuePair<T>& pair) {
    archive(pair.value);
}

template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(OutArchive& archive, cereal::SizeTag<T>& tag) {
    archive.write(static_cast<std::uint64_t>(tag.size));
}

template <class T>
void CEREAL_SAVE_FUNCTION_NAME(OutArchive& archive, const cereal::BinaryData<T>& data) {
    using Element = std::remove_cv_t<std::remove_pointer_t<T>>;
    archive.write_run(static_cast<const Element*>(data.data),
                      static_cast<std::size_t>(data.size) / sizeof(Element));
}

template <class T, class Allocator>
requires contiguous<T>

void CEREAL_SAVE_FUNCTION_NAME(OutArchive& archive, const std::vector<T, Allocator>& values) {
    archive.write(static_cast<std::uint64_t>(values.size()));
    archive.write_run(values.data(), values.size());
}

template <class T, std::size_t N>
requires contiguous<T>

void CEREAL_SAVE_FUNCTION_NAME(OutArchive& archive, const std::array<T, N>& values) {
    archive.write_run(values.data(), N);
}

// --- InArchive ---

template <Scalar T>
void CEREAL_LOAD_FUNCTION_NAME(InArchive& archive, T& value) {
    archive.read(value);
}

template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(InArchive& archive, cereal::NameValuePair<T>& pair) {
    archive(pair.value);
}

template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(InArchive& archive, cereal::SizeTag<T>& tag) {
    cereal::size_type count = 0;
    archive.read_count(count);
    tag.size = static_cast<std::remove_reference_t<decltype(tag.size)>>(count);
}

template <class T>
void CEREAL_LOAD_FUNCTION_NAME(InArchive& archive, cereal::BinaryData<T>& data) {
    using Element = std::remove_cv_t<std::remove_pointer_t<T>>;
    auto* values = static_cast<Element*>(data.data);
    const std::size_t count = static_cast<std::size_t>(data.size) / sizeof(Element);
    if constexpr (!std::same_as<Element, bool> && std::is_integral_v<Element> &&
                  (sizeof(Element) == 1 || std::endian::native == std::endian::little)) {
        const ByteView view = archive.reader().bytes(count * sizeof(Element), "values");
        if (!view.empty()) {
            std::memcpy(values, view.data(), view.size());
        }
    } else {
        for (std::size_t i = 0; i < count; ++i) {
            archive.read(values[i]);
        }
    }
}

template <Scalar T, class Allocator>

requires(!std::same_as<T, bool>) void CEREAL_LOAD_FUNCTION_NAME(InArchive& archive,
                                                                std::vector<T, Allocator>& values) {
    cereal::size_type count = 0;
    archive.read_count(count, sizeof(T));
    values.resize(static_cast<std::size_t>(count));
    archive(cereal::binary_data(values.data(), values.size() * sizeof(T)));
}

// Grows with the bytes that were really read: a count alone makes no memory.
template <class T, class Allocator>

requires(!std::is_arithmetic_v<T>) void CEREAL_LOAD_FUNCTION_NAME(
    InArchive& archive, std::vector<T, Allocator>& values) {
    cereal::size_type count = 0;
    archive.read_count(count);
    if (values.size() > count) {
        values.resize(static_cast<std::size_t>(count));
    }
    for (std::size_t i = 0; i < count && archive.ok(); ++i) {
        if (i == values.size()) {
            values.emplace_back();
        }
        archive(values[i]);
    }
}

// Keys in their order, each once: any other spelling would be another snapshot of the same state.
template <class Key, class Value, class Compare, class Allocator>
void CEREAL_LOAD_FUNCTION_NAME(InArchive& archive, std::map<Key, Value, Compare, Allocator>& map) {
    cereal::size_type count = 0;
    archive.read_count(count);
    map.clear();
    for (std::size_t i = 0; i < count && archive.ok(); ++i) {
        Key key{};
        Value value{};
        archive(cereal::make_map_item(key, value));
        if (archive.ok() && !map.empty() && !map.key_comp()(map.rbegin()->first, key)) {
            archive.reader().fail(SimErrc::malformed, "map.key");
        }
        if (archive.ok()) {
            map.emplace_hint(map.end(), std::move(key), std::move(value));
        }
    }
}

// --- VisitArchive ---

template <Scalar T>
void CEREAL_SAVE_FUNCTION_NAME(VisitArchive& archive, const T& value) {
    archive.write(value);
}

template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(VisitArchive& archive, cereal::NameValuePair<T>& pair) {
    archive.name_next(pair.name);
    archive(pair.value);
}

template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(VisitArchive&, cereal::SizeTag<T>&) {}

template <class T>
void CEREAL_SAVE_FUNCTION_NAME(VisitArchive& archive, const cereal::BinaryData<T>& data) {
    using Element = std::remove_cv_t<std::remove_pointer_t<T>>;
    const auto* values = static_cast<const Element*>(data.data);
    for (std::size_t i = 0; i < static_cast<std::size_t>(data.size) / sizeof(Element); ++i) {
        archive.write(values[i]);
    }
}

inline void CEREAL_SAVE_FUNCTION_NAME(VisitArchive& archive, const std::string& text) {
    archive.write_text(text);
}

// --- SchemaArchive ---

template <Scalar T>
void CEREAL_SAVE_FUNCTION_NAME(SchemaArchive& archive, const T& value) {
    archive.write(value);
}

template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(SchemaArchive& archive, cereal::NameValuePair<T>& pair) {
    archive.name_next(pair.name);
    archive(pair.value);
}

template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(SchemaArchive& archive, cereal::SizeTag<T>&) {
    archive.word("count");
}

template <class T>
void CEREAL_SAVE_FUNCTION_NAME(SchemaArchive& archive, const cereal::BinaryData<T>&) {
    using Element = std::remove_cv_t<std::remove_pointer_t<T>>;
    archive.write(Element{});
}

inline void CEREAL_SAVE_FUNCTION_NAME(SchemaArchive& archive, const std::string&) {
    archive.word("text");
}

template <class T, class Allocator>

requires(!std::same_as<T, bool>) void CEREAL_SAVE_FUNCTION_NAME(SchemaArchive& archive,
                                                                const std::vector<T, Allocator>&) {
    archive.open("[");
    archive(T{});
    archive.close("]");
}

template <class T, std::size_t N>
void CEREAL_SAVE_FUNCTION_NAME(SchemaArchive& archive, const std::array<T, N>&) {
    archive.open(std::to_string(N) + "*[");
    archive(T{});
    archive.close("]");
}

template <class Key, class Value, class Compare, class Allocator>
void CEREAL_SAVE_FUNCTION_NAME(SchemaArchive& archive,
                               const std::map<Key, Value, Compare, Allocator>&) {
    archive.open("map[");
    archive(Key{}, Value{});
    archive.close("]");
}

template <class T>
void CEREAL_SAVE_FUNCTION_NAME(SchemaArchive& archive, const std::optional<T>&) {
    archive.open("optional[");
    archive(T{});
    archive.close("]");
}

namespace detail {

template <class T>
inline constexpr bool is_wrapper = false;
template <class T>
inline constexpr bool is_wrapper<cereal::NameValuePair<T>> = true;
template <class T>
inline constexpr bool is_wrapper<cereal::SizeTag<T>> = true;
template <class T>
inline constexpr bool is_wrapper<cereal::BinaryData<T>> = true;
template <class... Values>
inline constexpr bool is_wrapper<Section<Values...>> = true;

template <class T>
inline constexpr bool is_list = false;
template <class T, class Allocator>
inline constexpr bool is_list<std::vector<T, Allocator>> = true;
template <class T, std::size_t N>
inline constexpr bool is_list<std::array<T, N>> = true;
template <class Key, class Value, class Compare, class Allocator>
inline constexpr bool is_list<std::map<Key, Value, Compare, Allocator>> = true;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// True for a type that opens a node of its own in a tree.
template <class T>
inline constexpr bool is_node = !std::is_arithmetic_v<T> && !std::is_enum_v<T> && !is_wrapper<T> &&
                                !std::same_as<T, std::string>;

} // namespace detail

template <class T>
void prologue(VisitArchive& archive, const T&) {
    if constexpr (detail::is_node<T>) {
        archive.begin_object(detail::is_list<T>);
    }
}

template <class T>
void epilogue(VisitArchive& archive, const T&) {
    if constexpr (detail::is_node<T>) {
        archive.end_object();
    }
}

template <class T>
void prologue(SchemaArchive& archive, const T&) {
    if constexpr (detail::is_node<T> && !detail::is_list<T> && !detail::is_optional<T>) {
        archive.open("{");
    }
}

template <class T>
void epilogue(SchemaArchive& archive, const T&) {
    if constexpr (detail::is_node<T> && !detail::is_list<T> && !detail::is_optional<T>) {
        archive.close("}");
    }
}

} // namespace twinstep

CEREAL_SETUP_ARCHIVE_TRAITS(twinstep::InArchive, twinstep::OutArchive)
