// SPDX-License-Identifier: MIT
// The text form: lossless both ways, and hostile text gets one line.
#include "recording_support.hpp"

#include <catch2/catch.hpp>

#include <fstream>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), with);
}

Error import_error(const std::string& text) {
    const auto bytes = from_text(text);
    REQUIRE_FALSE(bytes);
    return bytes.error();
}

} // namespace

TEST_CASE("text and back is the same file, byte for byte", "[replay][unit]") {
    for (const std::uint16_t slots : {std::uint16_t{1}, std::uint16_t{4}}) {
        for (const bool close : {true, false}) {
            const Bytes file = record_toy({.ticks = 1300, .slots = slots, .close = close});
            for (const bool proofs : {true, false}) {
                const auto text = to_text(file, {.proofs = proofs});
                REQUIRE(text);
                const auto again = from_text(*text);
                if (!again) {
                    FAIL(to_string(again.error()));
                }
                REQUIRE(*again == file);
            }
        }
    }
}

TEST_CASE("records of later versions survive the text form", "[replay][unit]") {
    auto plan = std::make_shared<SinkPlan>();
    Head head;
    head.minor = 3;
    head.compatible = 5;
    head.read_only = 6;
    head.manifest = {{sections_key, "a"}, {"later.key", "ä\n\"\\\x01"}};
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), head);
    REQUIRE(writer);
    TickFrame frame;
    frame.reset(Tick{0}, 3);
    const Bytes input{std::byte{1}, std::byte{0xFF}};
    frame.set_input(Slot{1}, input, true);
    frame.set_input(Slot{2}, {});
    frame.add_event(EventKind::join, Slot{2}, input);
    Bytes encoded;
    encode_frame(frame, encoded);
    REQUIRE(writer->write_tick(0xDEADBEEF, Bytes(1), encoded));
    REQUIRE(writer->write_record(0x37, input));
    REQUIRE(writer->write_chunk_end({1, 2}, std::vector<Hash128>{{3, 4}}));
    REQUIRE(writer->write_trailer());
    REQUIRE(writer->close());
    const auto text = to_text(plan->file);
    REQUIRE(text);
    const auto again = from_text(*text);
    REQUIRE(again);
    CHECK(*again == plan->file);
}

TEST_CASE("decoded fields are shown and ignored on the way back", "[replay][unit]") {
    const Bytes file = record_toy({.ticks = 20, .slots = 2});
    auto simulation = make_simulation<ToyGame>();
    const auto text = to_text(file, {.proofs = true, .simulation = simulation.get()});
    REQUIRE(text);
    CHECK(text->find("\"fields\":[{\"dx\":-3,\"dy\":0,\"turn\":0,\"fire\":true},") !=
          std::string::npos);
    CHECK(*from_text(*text) == file);
}

TEST_CASE("an edited line is refused unless its proofs are left out", "[replay][unit]") {
    const Bytes file = record_toy({.ticks = 20});
    const std::string text = *to_text(file);
    const std::string edited = replaced(text, "\"slots\":[\"fd", "\"slots\":[\"fc");
    const Error error = import_error(edited);
    CHECK(error.code == Errc::bad_text);
    CHECK(error.field == "check");
    CHECK(error.detail.starts_with("line 2:"));
    const auto recomputed = from_text(edited, {.recompute = true});
    REQUIRE(recomputed);
    CHECK(read_all(*recomputed, ReadMode::strict).state == FileState::closed);
    // Without its own check the line is taken, and the chunk's digest does not fit any more.
    std::string half = edited;
    const std::size_t check = half.find(",\"check\"", half.find('\n'));
    half.erase(check, half.find('}', check) - check);
    CHECK(import_error(half).field == "digest");
}

TEST_CASE("hostile text gets one line with line number and key", "[replay][fault]") {
    const std::string text = *to_text(record_toy({.ticks = 3}), {.proofs = false});
    const auto field = [&](const std::string& what, const std::string& with) {
        const Error error = import_error(replaced(text, what, with));
        CHECK(error.code == Errc::bad_text);
        CHECK(error.detail.starts_with("line "));
        CHECK(to_string(error).find('\n') == std::string::npos);
        return error.field;
    };
    CHECK(field("\"hash\":", "\"hush\":") == "hash");
    CHECK(field("\"tick\":\"1\"", "\"tick\":\"2\"") == "tick");
    CHECK(field("\"tick\":\"1\"", "\"tick\":1") == "tick");
    CHECK(field("\"tick\":\"1\"", "\"tick\":\"99999999999999999999\"") == "tick");
    CHECK(field("\"sections\":\"", "\"sections\":\"00") == "sections");
    CHECK(field("\"slots\":[\"", "\"slots\":[\"0") == "slots");
    CHECK(field("\"slots\":[", "\"slots\":[3,") == "slots");
    CHECK(field("\"slots\":[", "\"slots\":[[],") == "slots");
    CHECK(field("\"slots\":[\"", "\"slots\":[\"" + std::string(600, 'f')) == "slots");
    CHECK(field("\"type\":\"tick\"", "\"type\":\"tock\"") == "type");
    CHECK(field("\"type\":\"tick\"", "\"extra\":1,\"type\":\"tick\"") == "extra");
    CHECK(field("\"type\":\"tick\"", "\"a\\nb\":1,\"type\":\"tick\"") == "a?b");
    CHECK(field("\"major\":1", "\"major\":2") == "major");
    CHECK(field("\"session\":\"", "\"session\":\"zz") == "session");
    CHECK(field("\"first\":\"0\"", "\"first\":\"1\"") == "first");
    CHECK(field("\"ticks\":\"3\"", "\"ticks\":\"4\"") == "ticks");
    CHECK(field("\"bodies\":", "\"budies\":") == "sections.bodies");
    CHECK(import_error("").field == "type");
    CHECK(import_error("\n").detail.starts_with("line 1: not JSON"));
    CHECK(import_error("{}").field == "type");
    CHECK(import_error("[1]").detail.starts_with("line 1: not a JSON object"));
    CHECK(import_error(text + "{\"type\":\"trailer\"}").detail.starts_with("line 7:"));
    CHECK(import_error(std::string(1'000'000, '[')).detail == "line 1: nested too deeply");
    CHECK(import_error("\xFF\xFE").code == Errc::bad_text);
    CHECK(import_error(std::string(text_line_bytes_max + 1, ' ')).code == Errc::limit_exceeded);
}

TEST_CASE("every byte of a text that is changed is refused or gives a whole recording",
          "[replay][fault]") {
    const std::string text = *to_text(record_toy({.ticks = 2}));
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string changed = text;
        changed[i] = static_cast<char>(changed[i] ^ 0x01);
        const auto bytes = from_text(changed);
        if (bytes) {
            INFO("byte " << i);
            REQUIRE(read_all(*bytes, ReadMode::strict).defects == 0);
        }
    }
}

TEST_CASE("an import never writes over a file and leaves nothing of a failed one",
          "[replay][unit]") {
    const ScratchDirectory directory;
    const std::string path = directory.file("a.twin");
    const std::string text = *to_text(record_toy({.ticks = 3}));
    {
        std::istringstream stream(text + "junk");
        REQUIRE_FALSE(import_text(stream, path));
        CHECK_FALSE(std::filesystem::exists(path));
    }
    {
        std::istringstream stream(text);
        const auto report = import_text(stream, path);
        REQUIRE(report);
        CHECK(report->ticks == 3);
        CHECK(report->bytes == std::filesystem::file_size(path));
    }
    std::istringstream stream(text);
    const auto again = import_text(stream, path);
    REQUIRE_FALSE(again);
    CHECK(again.error().code == Errc::already_exists);
}

TEST_CASE("a text that cannot be read is an error of the system, not the end of the text",
          "[replay][fault]") {
    // A directory opens as a file and fails at the first read.
    const ScratchDirectory directory;
    std::ifstream stream(directory.file("."), std::ios::binary);
    REQUIRE(stream);
    auto plan = std::make_shared<SinkPlan>();
    const auto report = import_text(stream, std::make_unique<MemorySink>(plan));
    REQUIRE_FALSE(report);
    CHECK(report.error().code == Errc::io_error);
    CHECK(report.error().detail.starts_with("line 1: "));
}
