// SPDX-License-Identifier: MIT
// Recordings in memory for tests: a sink with planned faults, and toy sessions.
#pragma once

#include "toy_game.hpp"

#include "twinstep/replay.hpp"
#include "twinstep/sim.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace twinstep::replay {

/// What a MemorySink does and what was done to it; shared, because the writer owns the sink.
struct SinkPlan {
    Bytes file;
    std::size_t write_bytes_max = SIZE_MAX; ///< Shorter writes than asked for.
    std::uint64_t fail_write = UINT64_MAX;  ///< Number of the write that fails, from 0.
    std::errc failure = std::errc::no_space_on_device;
    std::size_t bytes_before_failure = 0; ///< Bytes of it that still arrive.
    bool fail_for_ever = true;
    bool fail_truncate = false;
    bool fail_sync = false;
    std::uint64_t interrupt_every = 0; ///< Every so many writes one is interrupted; 0: none.
    std::uint64_t writes = 0;
    std::uint64_t truncates = 0;
    std::uint64_t syncs = 0;
    bool closed = false;
};

/// A file in memory that fails as planned.
class MemorySink final : public FileSink {
public:
    explicit MemorySink(std::shared_ptr<SinkPlan> plan)
        : plan_(std::move(plan)) {}

    std::size_t write(ByteView bytes, std::error_code& error) override {
        SinkPlan& plan = *plan_;
        const std::uint64_t number = plan.writes++;
        if (plan.interrupt_every != 0 && number % plan.interrupt_every == 0) {
            error = std::make_error_code(std::errc::interrupted);
            return 0;
        }
        if (number == plan.fail_write || (plan.fail_for_ever && number > plan.fail_write)) {
            append(bytes.first(std::min(bytes.size(), plan.bytes_before_failure)));
            error = std::make_error_code(plan.failure);
            return 0;
        }
        const ByteView taken = bytes.first(std::min(bytes.size(), plan.write_bytes_max));
        append(taken);
        return taken.size();
    }

    std::error_code truncate(std::uint64_t size) override {
        ++plan_->truncates;
        if (plan_->fail_truncate) {
            return std::make_error_code(std::errc::io_error);
        }
        plan_->file.resize(static_cast<std::size_t>(size));
        return {};
    }

    std::error_code sync() override {
        ++plan_->syncs;
        return plan_->fail_sync ? std::make_error_code(std::errc::io_error) : std::error_code{};
    }

    std::error_code close() override {
        plan_->closed = true;
        return {};
    }

private:
    void append(ByteView bytes) {
        plan_->file.insert(plan_->file.end(), bytes.begin(), bytes.end());
    }

    std::shared_ptr<SinkPlan> plan_;
};

inline SessionId test_session(std::uint8_t first = 1) {
    SessionId id{};
    id[0] = static_cast<std::byte>(first);
    id[15] = std::byte{0xEE};
    return id;
}

/// A toy simulation at tick 0.
inline std::unique_ptr<Simulation> toy_simulation(std::uint16_t slots = 1, std::uint64_t seed = 7) {
    auto simulation = make_simulation<ToyGame>();
    const bool reset = simulation->reset({seed, slots, {}}).has_value();
    return reset ? std::move(simulation) : nullptr;
}

struct ToyOptions {
    std::uint64_t ticks = 100;
    std::uint16_t slots = 1;
    std::uint64_t seed = 7;
    SessionId session = test_session();
    bool close = true;
};

/// Records a toy session of `ticks` ticks through driver and recorder.
inline Bytes record_toy(const ToyOptions& options, Hash128* final_hash = nullptr) {
    auto plan = std::make_shared<SinkPlan>();
    auto simulation = toy_simulation(options.slots, options.seed);
    ToySource source(options.slots, options.ticks);
    Driver driver(*simulation, source);
    {
        auto recorder = Recorder::create(
            std::make_unique<MemorySink>(plan), *simulation, {options.session, {}});
        driver.add(*recorder);
        static_cast<void>(driver.advance(UINT64_MAX));
        if (options.close) {
            static_cast<void>(recorder->close());
        } else {
            // What a killed process leaves: everything written, nothing finished.
            const Bytes left = plan->file;
            static_cast<void>(recorder->close());
            plan->file = left;
        }
    }
    if (final_hash != nullptr) {
        *final_hash = simulation->hash().state;
    }
    return plan->file;
}

/// Writes a toy session with chunks of `chunk` ticks, so that small files have many.
inline Bytes record_small_chunks(std::uint64_t ticks,
                                 std::uint64_t chunk,
                                 std::uint16_t slots = 1,
                                 SessionId session = test_session(),
                                 std::uint64_t seed = 7) {
    auto plan = std::make_shared<SinkPlan>();
    auto simulation = toy_simulation(slots, seed);
    Head head;
    head.session = session;
    head.manifest = make_manifest(simulation->info(), simulation->setup());
    head.manifest[sections_key] = "random bodies world";
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), head);

    class Keeper final : public Observer {
    public:
        Keeper(Writer& writer, std::uint64_t chunk)
            : writer_(writer)
            , chunk_(chunk) {}

        void before(const TickBegin& begin) override {
            Bytes sections;
            for (const SectionHash& section : begin.hashes.sections) {
                sections.push_back(section_byte(section.hash));
            }
            static_cast<void>(
                writer_.write_tick(short_hash(begin.hashes.state), sections, begin.encoded));
        }

        void after(const StateHashes& hashes) override {
            if (writer_.chunk_ticks() == chunk_) {
                end(hashes);
            }
        }

        void end(const StateHashes& hashes) {
            std::vector<Hash128> sections;
            for (const SectionHash& section : hashes.sections) {
                sections.push_back(section.hash);
            }
            static_cast<void>(writer_.write_chunk_end(hashes.state, sections));
        }

    private:
        Writer& writer_;
        std::uint64_t chunk_;
    };

    Keeper keeper(*writer, chunk);
    ToySource source(slots, ticks);
    Driver driver(*simulation, source);
    driver.add(keeper);
    static_cast<void>(driver.advance(UINT64_MAX));
    if (writer->chunk_ticks() > 0) {
        keeper.end(simulation->hash());
    }
    static_cast<void>(writer->write_trailer());
    static_cast<void>(writer->close());
    return plan->file;
}

/// What reading a whole file came to.
struct Outcome {
    bool opened = false;
    std::optional<Error> error;
    FileState state = FileState::open;
    std::uint64_t ticks = 0;
    std::vector<Record> records; ///< Offsets and sizes only; views have expired.
    std::size_t defects = 0;
};

inline Outcome read_all(ByteView bytes, ReadMode mode = ReadMode::prefix) {
    Outcome outcome;
    Result<Reader> reader = Reader::from_memory(bytes, mode);
    if (!reader) {
        outcome.error = reader.error();
        return outcome;
    }
    outcome.opened = true;
    while (true) {
        Result<Record> record = reader->next();
        if (!record) {
            outcome.error = record.error();
            break;
        }
        if (record->kind == RecordKind::end) {
            break;
        }
        outcome.records.push_back(*record);
    }
    outcome.state = reader->state();
    outcome.ticks = reader->ticks();
    outcome.defects = reader->defects().size();
    return outcome;
}

/// The text form as one string.
inline Result<std::string> to_text(ByteView bytes, const ExportOptions& options = {}) {
    Result<Reader> reader = Reader::from_memory(bytes);
    if (!reader) {
        return fail(reader.error());
    }
    std::string text;
    const auto sink = [&text](std::string_view line) -> Result<void> {
        text += line;
        text += '\n';
        return {};
    };
    if (auto exported = export_text(*reader, sink, options); !exported) {
        return fail(exported.error());
    }
    return text;
}

inline Result<Bytes> from_text(const std::string& text, const ImportOptions& options = {}) {
    auto plan = std::make_shared<SinkPlan>();
    std::istringstream stream(text);
    auto report = import_text(stream, std::make_unique<MemorySink>(plan), options);
    if (!report) {
        return fail(report.error());
    }
    return plan->file;
}

/// All bytes of a file, if it can be read.
inline std::optional<Bytes> read_file(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return stream.good() || stream.eof() ? std::optional(Bytes(bytes.begin(), bytes.end()))
                                         : std::nullopt;
}

/// A directory that is removed again.
class ScratchDirectory {
public:
    ScratchDirectory() {
        std::string pattern = (std::filesystem::temp_directory_path() / "twinstepXXXXXX").string();
        path_ = ::mkdtemp(pattern.data()) != nullptr ? pattern : std::string();
    }

    ~ScratchDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;

    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

} // namespace twinstep::replay
