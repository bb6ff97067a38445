// SPDX-License-Identifier: MIT
// A value in each form that a state has: bytes, hash, tree as text, and back from bytes.
#pragma once

#include "allocation_counter.hpp"
#include "hex.hpp"

#include "twinstep/sim/archive.hpp"
#include "twinstep/sim/game.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/snapshot.hpp"

#include <catch2/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Its encoding; of several, one after the other.
template <class... Values>
twinstep::Bytes bytes_of(const Values&... values) {
    twinstep::Bytes bytes;
    twinstep::BufferSink sink(bytes);
    twinstep::OutArchive archive(sink);
    archive(values...);
    sink.finish();
    return bytes;
}

/// Its hash as the only value of a state's only section.
template <class T>
twinstep::Hash128 hash_of(T& value) {
    twinstep::StateHashes hashes;
    twinstep::HashSink sink;
    twinstep::OutArchive archive(sink);
    sink.begin(twinstep::Tick{7}, hashes);
    archive(twinstep::section("value", cereal::make_nvp("value", value)));
    sink.finish();
    return hashes.state;
}

/// Makes the value what the bytes say; they have to be used up.
template <class T>
twinstep::Result<void> load_from(twinstep::ByteView bytes, T& value) {
    return twinstep::decode_input(bytes, value);
}

/// The code of what is wrong with the bytes and the field it is in, such as "malformed map.key".
template <class T>
std::string refusal_of(twinstep::ByteView bytes, T& value) {
    const twinstep::Result<void> loaded = load_from(bytes, value);
    if (loaded) {
        return "accepted";
    }
    const auto code = static_cast<twinstep::SimErrc>(loaded.error().code.value());
    const std::string_view name = code == twinstep::SimErrc::truncated        ? "truncated"
                                  : code == twinstep::SimErrc::malformed      ? "malformed"
                                  : code == twinstep::SimErrc::limit_exceeded ? "limit_exceeded"
                                  : code == twinstep::SimErrc::trailing_bytes ? "trailing_bytes"
                                                                              : "another";
    return std::string(name) + " " + loaded.error().field;
}

/// Loads the bytes with each of their bits changed in turn: each is refused, or read as what these
/// bytes say and no others do. How many were refused.
template <class T>
std::size_t refused_bits(twinstep::Bytes bytes, T& value) {
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        const auto mask = static_cast<std::byte>(1U << (bit % 8));
        bytes[bit / 8] ^= mask;
        if (load_from(bytes, value)) {
            CAPTURE(bit);
            REQUIRE(to_hex_text(bytes_of(value)) == to_hex_text(bytes));
        } else {
            ++refused;
        }
        bytes[bit / 8] ^= mask;
    }
    return refused;
}

/// Requires that bytes which say that there is more than they hold are refused for little memory.
template <class T>
void require_cheap_refusal(twinstep::ByteView bytes, T& value) {
    const AllocationCounter allocated;
    twinstep::InArchive archive(bytes);
    archive(value);
    REQUIRE(allocated.bytes() < 1000);
    REQUIRE_FALSE(archive.ok());
}

/// What a visitor sees, such as "{x:1 list[:2 :3 ]}".
template <class T>
std::string tree_of(const T& value) {
    class Tree : public twinstep::FieldVisitor {
    public:
        bool begin_section(std::string_view name) override {
            text += std::string(name) + "=<";
            return true;
        }

        void end_section() override { text += ">"; }

        void begin_object(std::string_view name, bool list) override {
            text += std::string(name) + (list ? "[" : "{");
            closing += list ? ']' : '}';
        }

        void end_object() override {
            text += closing.back();
            closing.pop_back();
        }

        void field(std::string_view name, const twinstep::FieldValue& field_value) override {
            text += std::string(name) + ":" + to_string(field_value) + " ";
        }

        std::string text;
        std::string closing;
    } tree;

    twinstep::VisitArchive archive(tree);
    archive(value);
    return tree.text;
}
