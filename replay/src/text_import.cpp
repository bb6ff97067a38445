// SPDX-License-Identifier: MIT
// Import from text that anybody may have written.
#include "layout.hpp"
#include "path.hpp"
#include "text_object.hpp"

#include "twinstep/replay/text.hpp"
#include "twinstep/replay/writer.hpp"

#include <algorithm>
#include <exception>
#include <istream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace twinstep::replay {

namespace {

constexpr int depth_max = 8;

class Importer {
public:
    Importer(std::unique_ptr<FileSink> sink, const ImportOptions& options)
        : sink_(std::move(sink))
        , options_(options) {}

    Result<void> line(const std::string& text);
    Result<ImportReport> finish();

private:
    Result<void> head(TextObject& object);
    Result<void> record(TextObject& object, const std::string& type);
    Result<void> tick(TextObject& object);
    Result<void> chunk_end(TextObject& object);
    Result<void> trailer(TextObject& object);
    Result<void> other(TextObject& object);
    void slots(TextObject& object, Tick tick);
    void slot(TextObject& object, std::uint16_t index, const Json& value);
    void events(TextObject& object);
    Result<void> written(TextObject& object, const Result<void>& result);
    void claim(TextObject& object, const char* key, const Hash128& actual);

    std::unique_ptr<FileSink> sink_;
    ImportOptions options_;
    std::optional<Writer> writer_;
    std::uint64_t line_ = 0;
    bool ended_ = false;
    bool with_frames_ = false; ///< The head says that frames may occur.
    std::vector<std::string> names_;
    TickFrame frame_;
    Bytes encoded_;
};

/// Watches a line while it is parsed: depth is bounded, and no object has a key twice (a reader
/// would keep one of the two values and not say which).
struct LineGuard {
    std::string reason; ///< Empty while all is well.
    std::string key;    ///< The repeated key.
    std::vector<std::set<std::string>> keys;

    bool accepts(int depth, Json::parse_event_t event, const Json& value) {
        if (depth > depth_max) {
            reason = "nested too deeply";
        } else if (event == Json::parse_event_t::object_start) {
            keys.emplace_back();
        } else if (event == Json::parse_event_t::object_end && !keys.empty()) {
            keys.pop_back();
        } else if (event == Json::parse_event_t::key && reason.empty() && !keys.empty()) {
            const auto& name = value.get_ref<const std::string&>();
            if (!keys.back().insert(name).second) {
                reason = "the key is there twice";
                key = name;
            }
        }
        return reason.empty();
    }
};

Result<void> Importer::line(const std::string& text) {
    ++line_;
    LineGuard guard;
    const Json json = Json::parse(
        text,
        [&guard](int depth, Json::parse_event_t event, const Json& value) {
            return guard.accepts(depth, event, value);
        },
        false);
    TextObject object(json, line_);
    if (json.is_discarded() || !guard.reason.empty()) {
        const std::string reason = guard.reason.empty() ? "not JSON" : guard.reason;
        return fail(
            Error(Errc::bad_text, guard.key, "line " + std::to_string(line_) + ": " + reason));
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

Result<void> Importer::head(TextObject& object) {
    Head head;
    if (object.number("major", UINT16_MAX) != format_major) {
        object.refuse("major", "must be " + std::to_string(format_major));
    }
    head.minor = static_cast<std::uint16_t>(object.number("minor", UINT16_MAX));
    head.compatible = static_cast<std::uint32_t>(object.number("compatible", UINT32_MAX));
    head.read_only = static_cast<std::uint32_t>(object.number("read_only", UINT32_MAX));
    // Not there in texts of version 1.0, which had none.
    head.incompatible = object.find("incompatible") == nullptr
                            ? 0
                            : static_cast<std::uint32_t>(object.number("incompatible", UINT32_MAX));
    if (constexpr std::uint32_t open_form = feature::known & ~feature::packed;
        (head.incompatible & ~open_form) != 0) {
        object.refuse("incompatible", "has bits that are not known here, or that text has not");
    }
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
    with_frames_ = (head.incompatible & feature::changes) != 0;
    writer_.emplace(std::move(*writer));
    return {};
}

Result<void> Importer::record(TextObject& object, const std::string& type) {
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
Result<void> Importer::written(TextObject& object, const Result<void>& result) {
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

void Importer::claim(TextObject& object, const char* key, const Hash128& actual) {
    if (object.find(key) == nullptr || options_.recompute) {
        return;
    }
    if (object.hash(key, object.text(key)) != actual && object.ok()) {
        object.refuse(key, "does not fit the lines before; leave it out to have it computed");
    }
}

void Importer::slot(TextObject& object, std::uint16_t index, const Json& value) {
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

void Importer::slots(TextObject& object, Tick tick) {
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

void Importer::events(TextObject& object) {
    const Json* list = object.find("events");
    if (list == nullptr) {
        return;
    }
    if (!list->is_array() || list->empty() || list->size() > events_max) {
        object.refuse("events", "must be a list of 1 to " + std::to_string(events_max));
        return;
    }
    for (const Json& value : *list) {
        TextObject event(value, line_);
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

Result<void> Importer::tick(TextObject& object) {
    constexpr std::size_t hash_digits = 8;
    const Tick tick{object.long_number("tick")};
    if (object.ok() && tick != writer_->next_tick()) {
        object.refuse("tick", "tick " + std::to_string(writer_->next_tick().value) + " comes next");
    }
    const std::uint64_t hash = object.hex_number("hash", object.text("hash"), hash_digits);
    const Bytes sections = object.hex("sections", writer_->tick_section_bytes());
    if (sections.size() != writer_->tick_section_bytes()) {
        object.refuse("sections",
                      "must be " + std::to_string(writer_->tick_section_bytes()) + " bytes");
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

Result<void> Importer::chunk_end(TextObject& object) {
    const std::uint64_t next = writer_->next_tick().value;
    if (writer_->chunk_ticks() == 0) {
        object.refuse("type", "a chunk needs a tick");
    }
    if (object.number("chunk", UINT32_MAX) != writer_->chunks()) {
        object.refuse("chunk", "must be " + std::to_string(writer_->chunks()));
    }
    if (object.long_number("first") != next - writer_->chunk_ticks()) {
        object.refuse("first", "is not the chunk's first tick");
    }
    if (object.long_number("last") != next - 1) {
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

Result<void> Importer::trailer(TextObject& object) {
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

Result<void> Importer::other(TextObject& object) {
    const auto tag = static_cast<std::uint8_t>(object.number("tag", UINT8_MAX));
    if (object.ok() && is_known_tag(tag, with_frames_)) {
        object.refuse("tag", "has a line type of its own");
    }
    const bool frame = with_frames_ && is_frame_tag(tag);
    if (object.ok() && frame && writer_->chunk_records() != 0) {
        object.refuse("tag", "a frame stands between chunks");
    }
    const Bytes payload =
        object.hex("payload", frame ? frame_payload_bytes_max : record_payload_bytes_max);
    object.find("check");
    object.finish();
    if (!object.ok()) {
        return fail(object.error());
    }
    return written(
        object, frame ? writer_->write_frame(tag, payload) : writer_->write_record(tag, payload));
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
/// by more than a byte. A buffer may throw where the system fails to read.
bool read_line(std::streambuf* buffer, std::string& line) {
    line.clear();
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

/// Errors: io_error.
Result<bool> try_read_line(std::istream& text, std::string& line) {
    if (text.bad() || text.rdbuf() == nullptr) {
        return fail(Error(Errc::io_error, "read", "the stream is bad"));
    }
    try {
        return read_line(text.rdbuf(), line);
    } catch (const std::exception& exception) {
        return fail(Error(Errc::io_error, "read", exception.what()));
    }
}

} // namespace

Result<ImportReport>
import_text(std::istream& text, std::unique_ptr<FileSink> sink, const ImportOptions& options) {
    Importer importer(std::move(sink), options);
    std::string line;
    std::uint64_t number = 0;
    while (true) {
        const Result<bool> read = try_read_line(text, line);
        if (!read) {
            return fail(Error(read.error().code,
                              read.error().field,
                              "line " + std::to_string(number + 1) + ": " + read.error().detail));
        }
        if (!*read) {
            break;
        }
        ++number;
        if (line.size() > text_line_bytes_max) {
            return fail(Error(
                Errc::limit_exceeded, "line", "line " + std::to_string(number) + ": too long"));
        }
        if (auto imported = importer.line(line); !imported) {
            return fail(imported.error());
        }
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
        remove_created(path);
    }
    return report;
}

} // namespace twinstep::replay
