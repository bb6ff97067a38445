// SPDX-License-Identifier: MIT
// What people and other machines hand in: the text form, settings of a game, evidence bundles.
#include "config_file.hpp"
#include "evidence.hpp"
#include "fuzz_targets.hpp"
#include "recording_support.hpp"

#include "twinstep/sim/hash.hpp"

#include <algorithm>
#include <string>
#include <string_view>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

std::string text_from(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Bytes bytes_of(std::string_view text) {
    const ByteView view = std::as_bytes(std::span(text));
    return {view.begin(), view.end()};
}

} // namespace

/// What is imported is a whole recording, and its own text leads to it again.
void fuzz_text_form(ByteView bytes) {
    for (const bool recompute : {false, true}) {
        const auto file = from_text(text_from(bytes), {recompute});
        if (!file) {
            continue;
        }
        const Outcome outcome = read_all(*file, ReadMode::strict);
        require(!outcome.error, "what was imported has a defect");
        for (const bool proofs : {true, false}) {
            const auto text = to_text(*file, {proofs, nullptr});
            require(text.has_value(), "what was imported cannot be exported");
            const auto again = from_text(*text);
            require(again && *again == *file, "import and export are not inverse");
        }
    }
}

std::vector<Bytes> text_form_seeds() {
    std::vector<Bytes> seeds;
    for (const Bytes& file : {record_toy({.ticks = 3, .slots = 2}),
                              record_small_chunks(4, 2),
                              record_toy({.ticks = 15, .close = false})}) {
        seeds.push_back(bytes_of(*to_text(file, {seeds.size() % 2 == 1, nullptr})));
    }
    seeds.push_back(bytes_of(*to_text(record_toy({.ticks = 1})) +
                             R"({"type":"record","tag":144,"payload":"00ff"})"
                             "\n"));
    return seeds;
}

/// Settings that are read can be written, and read again.
void fuzz_config_file(ByteView bytes) {
    const auto config = tools::parse_config(text_from(bytes));
    if (!config) {
        require(!config.error().field.empty(), "a refused line has no number");
        return;
    }
    std::string text;
    for (const auto& [key, value] : *config) {
        require(!key.empty() && key.find('=') == std::string::npos, "no such key can be written");
        text += key + " = " + value + "\n";
    }
    const auto again = tools::parse_config(text);
    require(again && *again == *config, "settings that cannot be written again");
}

std::vector<Bytes> config_file_seeds() {
    return {bytes_of("# a comment\nskill = 3\n\n  map=1\r\nnote = a = b\n"),
            bytes_of("a\n"),
            bytes_of("a = 1\na = 2\n"),
            bytes_of("=")};
}

namespace {

void put_hash(ByteWriter& writer, const Hash128& hash) {
    writer.u64(hash.low);
    writer.u64(hash.high);
}

/// A bundle written from what was read of one; the section names stand in each of its rows.
Bytes bundle_of(const tools::Evidence& evidence,
                const std::vector<std::string>& names,
                Tick first) {
    Bytes manifest;
    encode_manifest(evidence.manifest, manifest);
    Bytes bytes;
    ByteWriter writer(bytes);
    writer.bytes(std::as_bytes(std::span("twinstep evidence 1\n", 20)));
    writer.varint(manifest.size());
    writer.bytes(manifest);
    writer.varint(names.size());
    for (const std::string& name : names) {
        writer.text(name);
    }
    writer.varint(first.value);
    writer.varint(evidence.rows.size());
    for (const tools::EvidenceRow& row : evidence.rows) {
        writer.varint(row.frame.size());
        writer.bytes(row.frame);
        put_hash(writer, row.hashes.state);
        for (const SectionHash& section : row.hashes.sections) {
            put_hash(writer, section.hash);
        }
    }
    writer.u8(evidence.snapshot_tick ? 1 : 0);
    if (evidence.snapshot_tick) {
        writer.varint(evidence.snapshot_tick->value);
        writer.varint(evidence.snapshot.size());
        writer.bytes(evidence.snapshot);
    }
    writer.u64(checksum64(bytes));
    return bytes;
}

void read_bundle(ByteView bytes) {
    const auto evidence = tools::decode_evidence(bytes);
    if (!evidence || evidence->rows.empty()) {
        return; // Without rows the names are not kept.
    }
    std::vector<std::string> names;
    for (const SectionHash& section : evidence->rows.front().hashes.sections) {
        names.push_back(section.name);
    }
    const Bytes again = bundle_of(*evidence, names, evidence->rows.front().hashes.tick);
    require(std::ranges::equal(again, bytes), "an evidence bundle with two encodings");
}

} // namespace

/// As it is, and with its checksum made right.
void fuzz_evidence(ByteView bytes) {
    read_bundle(bytes);
    if (bytes.size() >= 8) {
        Bytes repaired(bytes.begin(), bytes.end() - 8);
        ByteWriter(repaired).u64(checksum64(repaired));
        read_bundle(repaired);
    }
}

std::vector<Bytes> evidence_seeds() {
    auto simulation = toy_simulation(2);
    std::vector<Bytes> seeds;
    for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, std::size_t{4}}) {
        tools::Evidence evidence;
        evidence.manifest = make_manifest(simulation->info(), simulation->setup());
        for (std::size_t i = 0; i < rows; ++i) {
            tools::EvidenceRow& row = evidence.rows.emplace_back();
            row.frame = Bytes(i + 2, std::byte{3});
            row.hashes = simulation->hash();
        }
        if (rows == 4) {
            evidence.snapshot_tick = Tick{12};
            simulation->save(evidence.snapshot);
        }
        seeds.push_back(bundle_of(evidence, {"random", "bodies", "world"}, Tick{9}));
    }
    return seeds;
}
