// SPDX-License-Identifier: MIT
// The parts of the archives that need no template.
#include "twinstep/sim/archive.hpp"

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/fixed.hpp"
#include "twinstep/sim/tracked.hpp"

#include <algorithm>
#include <charconv>

namespace twinstep {

namespace {

// Deeper than any state that a person could read; a type that contains itself would never end.
constexpr std::size_t schema_bytes_max = std::size_t{1} << 16;

/// A member's name as people see it: the trailing underscore of a private member is dropped.
std::string_view shown(std::string_view name) {
    if (name.size() > 1 && name.ends_with('_')) {
        name.remove_suffix(1);
    }
    return name;
}

template <class T>
std::string shortest(T value) {
    std::array<char, 64> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    static_cast<void>(error);
    return {text.data(), end};
}

} // namespace

// --- InArchive ---

void InArchive::begin_section(std::string_view name) {
    read_section_frame(name, 0);
}

void InArchive::read_section_frame(std::string_view name, std::uint8_t mark) {
    const std::uint8_t length = reader_.u8("section.name");
    if (reader_.ok() && (length & detail::chunked_mark) != mark) {
        reader_.fail(SimErrc::schema_mismatch, "section.form");
    }
    const ByteView found =
        reader_.bytes(length & ~static_cast<unsigned>(detail::chunked_mark), "section.name");
    const std::string_view found_name{reinterpret_cast<const char*>(found.data()), found.size()};
    if (reader_.ok() && found_name != name) {
        reader_.fail(SimErrc::schema_mismatch, "section.name");
    }
    const std::uint64_t size = reader_.u64("section.size");
    const bool elsewhere = mark != 0 && chunks_ != nullptr;
    const std::uint64_t here = elsewhere ? sizeof(std::uint64_t) : size;
    if (here > reader_.remaining()) {
        reader_.fail(SimErrc::truncated, "section.size");
    }
    section_end_ = reader_.offset() + static_cast<std::size_t>(here);
}

void InArchive::end_section() {
    if (reader_.ok() && reader_.offset() != section_end_) {
        reader_.fail(SimErrc::schema_mismatch, "section.size");
    }
}

Result<void> InArchive::finish() {
    reader_.finish("end");
    if (!reader_.ok()) {
        return fail(reader_.error());
    }
    return {};
}

// --- FieldValue ---

std::string to_string(const FieldValue& value) {
    switch (value.type) {
    case FieldValue::Type::boolean:
        return value.bits != 0 ? "true" : "false";
    case FieldValue::Type::unsigned_integer:
        return std::to_string(value.bits);
    case FieldValue::Type::signed_integer:
        if (value.fraction_bits != 0) {
            return detail::fixed_to_string(
                detail::signed_magnitude(static_cast<std::int64_t>(value.bits)),
                value.fraction_bits);
        }
        return std::to_string(static_cast<std::int64_t>(value.bits));
    case FieldValue::Type::float32:
        return shortest(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits)));
    case FieldValue::Type::float64:
        return shortest(std::bit_cast<double>(value.bits));
    case FieldValue::Type::text:
        return std::string(value.text);
    }
    return {};
}

// --- VisitArchive ---

std::string_view VisitArchive::take_name() {
    const std::string_view name = next_name_ != nullptr ? shown(next_name_) : "";
    next_name_ = nullptr;
    return name;
}

void VisitArchive::emit(const FieldValue& value) {
    const std::string_view name = take_name();
    if (!skipping_) {
        visitor_.field(name, value);
    }
}

void VisitArchive::begin_object(bool list) {
    const std::string_view name = take_name();
    if (!skipping_) {
        visitor_.begin_object(name, list);
    }
}

void VisitArchive::end_object() {
    if (!skipping_) {
        visitor_.end_object();
    }
}

void VisitArchive::begin_section(std::string_view name) {
    skipping_ = !visitor_.begin_section(name);
}

void VisitArchive::end_section() {
    if (!skipping_) {
        visitor_.end_section();
    }
    skipping_ = false;
}

// --- SchemaArchive ---

void SchemaArchive::separate() {
    if (!first_) {
        text_ += ',';
    }
    first_ = false;
    TWINSTEP_ASSERT(text_.size() < schema_bytes_max);
}

void SchemaArchive::name_next(const char* name) {
    separate();
    text_ += shown(name);
    text_ += ':';
    first_ = true;
}

void SchemaArchive::word(std::string_view text) {
    separate();
    text_ += text;
}

void SchemaArchive::open(std::string_view bracket) {
    separate();
    text_ += bracket;
    first_ = true;
}

void SchemaArchive::close(std::string_view bracket) {
    text_ += bracket;
    first_ = false;
}

void SchemaArchive::begin_section(std::string_view name) {
    const bool repeated = std::find(sections_.begin(), sections_.end(), name) != sections_.end();
    TWINSTEP_ASSERT(!repeated);
    sections_.emplace_back(name);
    separate();
    text_ += name;
    text_ += "={";
    first_ = true;
}

void SchemaArchive::end_section() {
    close("}");
}

} // namespace twinstep
