// SPDX-License-Identifier: MIT
// Import from text that anybody may have written.
#include "layout.hpp"

#include "twinstep/replay/text.hpp"
#include "twinstep/replay/writer.hpp"

// tidy: allow third-party: the text form is JSON, and only these two files see the library
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <istream>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace twinstep::replay {

namespace {

using Json = nlohmann::json;

constexpr int depth_max = 8;

/// Every digit's value, or 16 for what is no lower-case digit.
unsigned digit(char c) {
    if (c >= '0' && c <= '9') {
        return static_cast<unsigned>(c - '0');
    }
    return c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10 : 16;
}

std::optional<Bytes> from_hex(std::string_view text) {
    if (text.size() % 2 != 0) {
        return std::nullopt;
    }
    Bytes bytes;
    bytes.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const unsigned high = digit(text[i]);
        const unsigned low = digit(text[i + 1]);
        if (high > 15 || low > 15) {
            return std::nullopt;
        }
        bytes.push_back(static_cast<std::byte>(high * 16 + low));
    }
    return bytes;
}

/// One JSON object whose keys are taken one by one; the first thing that is wrong stays.
class Object {
public:
    Object(const Json& json, std::uint64_t line)
        : json_(json)
        , line_(line) {
        if (!json.is_object()) {
            refuse({}, "not a JSON object");
        }
    }

    bool ok() const { return !error_; }

    const Error& error() const { return *error_; }

    void refuse(std::string_view key, std::string_view reason) {
        if (!error_) {
            error_ = Error(Errc::bad_text,
                           shown(key),
                           "line " + std::to_string(line_) + ": " + std::string(reason));
        }
    }

    /// The value of a key, or nothing.
    const Json* find(const char* key) {
        seen_.insert(key);
        if (!ok()) {
            return nullptr;
        }
        const auto found = json_.find(key);
        return found == json_.end() ? nullptr : &*found;
    }

    const Json* need(const char* key) {
        const Json* value = find(key);
        if (value == nullptr) {
            refuse(key, "the key is missing");
        }
        return value;
    }

    std::string text(const char* key) {
        const Json* value = need(key);
        if (value == nullptr || !value->is_string()) {
            refuse(key, "must be a string");
            return {};
        }
        return value->get<std::string>();
    }

    std::uint64_t number(const char* key, std::uint64_t limit) {
        const Json* value = need(key);
        if (value == nullptr || !value->is_number_unsigned() ||
            value->get<std::uint64_t>() > limit) {
            refuse(key, "must be a whole number of at most " + std::to_string(limit));
            return 0;
        }
        return value->get<std::uint64_t>();
    }

    /// A 64-bit number as a string.
    std::uint64_t long_number(const char* key) {
        const std::string digits = text(key);
        std::uint64_t value = 0;
        const char* end = digits.data() + digits.size();
        const auto parsed = std::from_chars(digits.data(), end, value);
        if (digits.empty() || parsed.ec != std::errc{} || parsed.ptr != end) {
            refuse(key, "must be a whole number in quotes");
        }
        return value;
    }

    Bytes hex(const char* key, std::size_t bytes_max) { return hex(key, text(key), bytes_max); }

    Bytes hex(std::string_view key, const std::string& digits, std::size_t bytes_max) {
        std::optional<Bytes> bytes = from_hex(digits);
        if (!bytes || bytes->size() > bytes_max) {
            refuse(key,
                   "must be lower-case hex of at most " + std::to_string(bytes_max) + " bytes");
            return {};
        }
        return std::move(*bytes);
    }

    /// A number of `digits` hexadecimal digits, most significant first.
    std::uint64_t hex_number(std::string_view key, std::string_view text, std::size_t digits) {
        std::uint64_t value = 0;
        bool valid = text.size() == digits;
        for (const char c : text) {
            valid = valid && digit(c) < 16;
            value = value << 4 | (digit(c) & 15U);
        }
        if (!valid) {
            refuse(key, "must have " + std::to_string(digits) + " lower-case hex digits");
        }
        return value;
    }

    Hash128 hash(std::string_view key, const std::string& text) {
        constexpr std::size_t digits = 16;
        if (text.size() != 2 * digits) {
            refuse(key, "must have 32 lower-case hex digits");
            return {};
        }
        const std::string_view view = text;
        return {hex_number(key, view.substr(digits), digits),
                hex_number(key, view.substr(0, digits), digits)};
    }

    /// Refuses keys that nobody asked for: a misspelt key must not be ignored.
    void finish() {
        if (!ok()) {
            return;
        }
        for (const auto& [key, value] : json_.items()) {
            if (!seen_.contains(key)) {
                refuse(key, "the key is not known");
                return;
            }
        }
    }

private:
    const Json& json_;
    std::uint64_t line_;
    std::set<std::string, std::less<>> seen_;
    std::optional<Error> error_;
};

class Importer {
public:
    Importer(std::unique_ptr<FileSink> sink, const ImportOptions& options)
        : sink_(std::move(sink))
        , options_(options) {}

    Result<void> line(const std::string& text);
    Result<ImportReport> finish();

private:
    Result<void> head(Object& object);
    Result<void> record(Object& object, const std::string& type);
    Result<void> tick(Object& object);
    Result<void> chunk_end(Object& object);
    Result<void> trailer(Object& object);
    Result<void> other(Object& object);
    void slots(Object& object, Tick tick);
    void slot(Object& object, std::uint16_t index, const Json& value);
    void events(Object& object);
    Result<void> written(Object& object, const Result<void>& result);
    void claim(Object& object, const char* key, const Hash128& actual);

    std::unique_ptr<FileSink> sink_;
    ImportOptions options_;
    std::optional<Writer> writer_;
    std::uint64_t line_ = 0;
    bool ended_ = false;
    std::vector<std::string> names_;
    TickFrame frame_;
    Bytes encoded_;
};

Result<void> Importer::line(const std::string& text) {
    ++line_;
    bool too_deep = false;
    const auto guard = [&too_deep](int depth, Json::parse_event_t, Json&) {
        too_deep = too_deep || depth > depth_max;
        return !too_deep;
    };
    const Json json = Json::parse(text, guard, false);
    Object object(json, line_);
    if (json.is_discarded() || too_deep) {
        const std::string reason = too_deep ? "nested too deeply" : "not JSON";
        return fail(Error(Errc::bad_text, {}, "line " + std::to_string(line_) + ": " + reason));
    }
    const std::string type = object.text("type");
    if (!object.ok()) {
        return fail(object.error());
    }
    if (ended_) {
        object.refuse("type", "nothing may follow the trailer");
        return fail(object.error());
    }
    if ((type == "head") == writer_.has_value()) {
        object.refuse("type", writer_ ? "a second head" : "the first line must be the head");
        return fail(object.error());
    }
    return writer_ ? record(object, type) : head(object);
}

Result<void> Importer::head(Object& object) {
    Head head;
    if (object.number("major", UINT16_MAX) != format_major) {
        object.refuse("major", "must be " + std::to_string(format_major));
    }
    head.minor = static_cast<std::uint16_t>(object.number("minor", UINT16_MAX));
    head.compatible = static_cast<std::uint32_t>(object.number("compatible", UINT32_MAX));
    head.read_only = static_cast<std::uint32_t>(object.number("read_only", UINT32_MAX));
    const Bytes session = object.hex("session", head.session.size());
    if (session.size() != head.session.size()) {
        object.refuse("session", "must be 16 bytes");
    }
    const Json* manifest = object.need("manifest");
    if (manifest != nullptr && !manifest->is_object()) {
        object.refuse("manifest", "must be an object");
    }
    object.finish();
    if (!object.ok()) {
        return fail(object.error());
    }
    std::copy(session.begin(), session.end(), head.session.begin());
    for (const auto& [key, value] : manifest->items()) {
        if (key.empty() || !value.is_string()) {
            object.refuse(key, "must be a string");
            return fail(object.error());
        }
        head.manifest.emplace(key, value.get<std::string>());
    }
    Result<Writer> writer = Writer::create(std::move(sink_), head);
    if (!writer) {
        return fail(writer.error());
    }
    names_ = *section_names(head.manifest);
    writer_.emplace(std::move(*writer));
    return {};
}

Result<void> Importer::record(Object& object, const std::string& type) {
    if (type == "tick") {
        return tick(object);
    }
    if (type == "chunk_end") {
        return chunk_end(object);
    }
    if (type == "trailer") {
        return trailer(object);
    }
    if (type == "record") {
        return other(object);
    }
    object.refuse("type", "must be tick, chunk_end, record or trailer");
    return fail(object.error());
}

/// After a record: what the writer says, then the check that the line claims.
Result<void> Importer::written(Object& object, const Result<void>& result) {
    if (!result) {
        if (result.error().code == Errc::limit_exceeded) {
            object.refuse(result.error().field, result.error().code.message());
            return fail(object.error());
        }
        return result;
    }
    if (const Json* check = object.find("check"); check != nullptr && !options_.recompute) {
        const std::string text = object.text("check");
        constexpr std::size_t digits = 8;
        if (object.hex_number("check", text, digits) != writer_->last_check()) {
            object.refuse("check", "does not fit the line; leave it out to have it computed");
        }
    }
    return object.ok() ? Result<void>{} : fail(object.error());
}

void Importer::claim(Object& object, const char* key, const Hash128& actual) {
    if (object.find(key) == nullptr || options_.recompute) {
        return;
    }
    if (object.hash(key, object.text(key)) != actual && object.ok()) {
        object.refuse(key, "does not fit the lines before; leave it out to have it computed");
    }
}

void Importer::slot(Object& object, std::uint16_t index, const Json& value) {
    if (value.is_null()) {
        return;
    }
    bool substituted = false;
    const Json* input = &value;
    if (value.is_object()) {
        const auto found = value.find("input");
        const auto flag = value.find("substituted");
        if (value.size() != 2 || found == value.end() || flag == value.end() ||
            !flag->is_boolean()) {
            object.refuse("slots", "a slot is null, hex or an object of input and substituted");
            return;
        }
        substituted = flag->get<bool>();
        input = &*found;
    }
    if (!input->is_string()) {
        object.refuse("slots", "an input must be hex");
        return;
    }
    const Bytes bytes = object.hex("slots", input->get<std::string>(), input_bytes_max);
    if (object.ok()) {
        frame_.set_input(Slot{index}, bytes, substituted);
    }
}

void Importer::slots(Object& object, Tick tick) {
    const Json* list = object.need("slots");
    if (list == nullptr || !list->is_array() || list->size() > slots_max) {
        object.refuse("slots", "must be a list of at most " + std::to_string(slots_max));
        return;
    }
    frame_.reset(tick, list->size());
    for (std::size_t i = 0; i < list->size() && object.ok(); ++i) {
        slot(object, static_cast<std::uint16_t>(i), (*list)[i]);
    }
}

void Importer::events(Object& object) {
    const Json* list = object.find("events");
    if (list == nullptr) {
        return;
    }
    if (!list->is_array() || list->empty() || list->size() > events_max) {
        object.refuse("events", "must be a list of 1 to " + std::to_string(events_max));
        return;
    }
    for (const Json& value : *list) {
        Object event(value, line_);
        const auto kind = static_cast<EventKind>(event.number("kind", UINT8_MAX));
        const Bytes payload = event.hex("payload", event_bytes_max);
        const bool has_slot = event.find("slot") != nullptr;
        const std::uint64_t slot = has_slot ? event.number("slot", slots_max - 1) : 0;
        if (static_cast<unsigned>(kind) == 0) {
            event.refuse("kind", "must not be 0");
        }
        event.finish();
        if (!event.ok()) {
            object.refuse("events." + event.error().field, "an event is wrong");
            return;
        }
        if (has_slot) {
            frame_.add_event(kind, Slot{static_cast<std::uint16_t>(slot)}, payload);
        } else {
            frame_.add_event(kind, payload);
        }
    }
}

Result<void> Importer::tick(Object& object) {
    constexpr std::size_t hash_digits = 8;
    const Tick tick{object.long_number("tick")};
    if (object.ok() && tick.value != writer_->ticks()) {
        object.refuse("tick", "tick " + std::to_string(writer_->ticks()) + " comes next");
    }
    const std::uint64_t hash = object.hex_number("hash", object.text("hash"), hash_digits);
    const Bytes sections = object.hex("sections", writer_->section_count());
    if (sections.size() != writer_->section_count()) {
        object.refuse("sections", "must be one byte a section");
    }
    if (object.ok()) {
        slots(object, tick);
        events(object);
    }
    object.find("fields");
    object.find("check");
    object.finish();
    if (!object.ok()) {
        return fail(object.error());
    }
    encoded_.clear();
    encode_frame(frame_, encoded_);
    if (encoded_.size() > frame_bytes_max) {
        object.refuse("slots", "the frame is too long");
        return fail(object.error());
    }
    return written(object,
                   writer_->write_tick(static_cast<std::uint32_t>(hash), sections, encoded_));
}

Result<void> Importer::chunk_end(Object& object) {
    const std::uint64_t ticks = writer_->ticks();
    if (writer_->chunk_ticks() == 0) {
        object.refuse("type", "a chunk needs a tick");
    }
    if (object.number("chunk", UINT32_MAX) != writer_->chunks()) {
        object.refuse("chunk", "must be " + std::to_string(writer_->chunks()));
    }
    if (object.long_number("first") != ticks - writer_->chunk_ticks()) {
        object.refuse("first", "is not the chunk's first tick");
    }
    if (object.long_number("last") != ticks - 1) {
        object.refuse("last", "is not the chunk's last tick");
    }
    const Hash128 state = object.hash("state", object.text("state"));
    std::vector<Hash128> hashes;
    const Json* sections = object.need("sections");
    if (sections == nullptr || !sections->is_object() || sections->size() != names_.size()) {
        object.refuse("sections", "must name every section");
    }
    for (std::size_t i = 0; i < names_.size() && object.ok(); ++i) {
        const auto found = sections->find(names_[i]);
        if (found == sections->end() || !found->is_string()) {
            object.refuse("sections." + names_[i], "must be a hash");
        } else {
            hashes.push_back(object.hash("sections." + names_[i], found->get<std::string>()));
        }
    }
    claim(object, "previous", writer_->chain());
    object.find("digest");
    object.find("check");
    object.finish();
    if (!object.ok()) {
        return fail(object.error());
    }
    const Result<void> result = writer_->write_chunk_end(state, hashes);
    if (result) {
        claim(object, "digest", writer_->chain());
    }
    return written(object, result);
}

Result<void> Importer::trailer(Object& object) {
    if (writer_->chunk_records() != 0) {
        object.refuse("type", "the last chunk has no end");
    }
    if (object.long_number("ticks") != writer_->ticks()) {
        object.refuse("ticks", "there are " + std::to_string(writer_->ticks()));
    }
    claim(object, "chain", writer_->chain());
    object.find("check");
    object.finish();
    if (!object.ok()) {
        return fail(object.error());
    }
    ended_ = true;
    return written(object, writer_->write_trailer());
}

Result<void> Importer::other(Object& object) {
    const auto tag = static_cast<std::uint8_t>(object.number("tag", UINT8_MAX));
    if (object.ok() && tag <= static_cast<std::uint8_t>(RecordTag::trailer)) {
        object.refuse("tag", "has a line type of its own");
    }
    const Bytes payload = object.hex("payload", record_payload_bytes_max);
    object.find("check");
    object.finish();
    if (!object.ok()) {
        return fail(object.error());
    }
    return written(object, writer_->write_record(tag, payload));
}

Result<ImportReport> Importer::finish() {
    if (!writer_) {
        return fail(Error(Errc::bad_text, "type", "line 1: the text is empty"));
    }
    if (auto closed = writer_->close(); !closed) {
        return fail(closed.error());
    }
    return ImportReport{writer_->ticks(), writer_->bytes(), writer_->chain()};
}

/// Reads a line without its end; false at the end of the text. `line` never grows beyond the limit
/// by more than a byte.
bool read_line(std::istream& text, std::string& line) {
    line.clear();
    std::streambuf* buffer = text.rdbuf();
    using Traits = std::istream::traits_type;
    bool any = false;
    while (line.size() <= text_line_bytes_max) {
        const Traits::int_type next = buffer->sbumpc();
        if (Traits::eq_int_type(next, Traits::eof())) {
            return any;
        }
        any = true;
        if (next == '\n') {
            break;
        }
        line += Traits::to_char_type(next);
    }
    if (!line.empty() && line.back() == '\r') {
        line.pop_back();
    }
    return true;
}

} // namespace

Result<ImportReport>
import_text(std::istream& text, std::unique_ptr<FileSink> sink, const ImportOptions& options) {
    Importer importer(std::move(sink), options);
    std::string line;
    std::uint64_t number = 0;
    while (read_line(text, line)) {
        ++number;
        if (line.size() > text_line_bytes_max) {
            return fail(Error(
                Errc::limit_exceeded, "line", "line " + std::to_string(number) + ": too long"));
        }
        if (auto imported = importer.line(line); !imported) {
            return fail(imported.error());
        }
    }
    if (text.bad()) {
        return fail(Error(Errc::io_error, "read", "line " + std::to_string(number + 1)));
    }
    return importer.finish();
}

Result<ImportReport>
import_text(std::istream& text, const std::string& path, const ImportOptions& options) {
    Result<std::unique_ptr<FileSink>> sink = create_file(path);
    if (!sink) {
        return fail(sink.error());
    }
    Result<ImportReport> report = import_text(text, std::move(*sink), options);
    if (!report) {
        // Nobody else's: it did not exist before.
        std::error_code ignored;
        std::filesystem::remove(std::filesystem::path(std::u8string(path.begin(), path.end())),
                                ignored);
    }
    return report;
}

} // namespace twinstep::replay
