// SPDX-License-Identifier: MIT
// Bots, and inputs out of a text recording.
#include "sources.hpp"

#include "parsed_number.hpp"
#include "text_file.hpp"

#include "twinstep/replay/file_sink.hpp"
#include "twinstep/replay/playback.hpp"
#include "twinstep/replay/text.hpp"
#include "twinstep/sim/manifest.hpp"

#include <fmt/format.h>

namespace twinstep::tools {

namespace {

class BotSource final : public Source {
public:
    BotSource(const GameEntry& entry, std::uint64_t seed, std::uint16_t slots)
        : entry_(entry)
        , seed_(seed)
        , slots_(slots) {}

    Result<Supply> next(Tick tick, TickFrame& frame) override {
        frame.reset(tick, slots_);
        for (std::uint16_t slot = 0; slot < slots_; ++slot) {
            // Streams from 1: stream 0 is the simulation's own.
            Random random(seed_, tick, slot + 1U);
            input_.clear();
            entry_.bot(random, tick, Slot{slot}, input_);
            frame.set_input(Slot{slot}, input_);
        }
        return Supply::ready;
    }

private:
    const GameEntry& entry_;
    std::uint64_t seed_;
    std::uint16_t slots_;
    Bytes input_;
};

/// Keeps an imported recording in memory.
class MemorySink final : public replay::FileSink {
public:
    explicit MemorySink(Bytes& target)
        : target_(target) {}

    std::size_t write(ByteView bytes, std::error_code&) override {
        target_.insert(target_.end(), bytes.begin(), bytes.end());
        return bytes.size();
    }

    std::error_code truncate(std::uint64_t size) override {
        target_.resize(static_cast<std::size_t>(size));
        return {};
    }

    std::error_code sync() override { return {}; }

    std::error_code close() override { return {}; }

private:
    Bytes& target_;
};

/// The frames of a recording that is held in memory.
class MemorySource final : public Source {
public:
    static Result<std::unique_ptr<MemorySource>> open(const std::string& path) {
        auto text = open_text_file(path);
        if (!text) {
            return fail(text.error());
        }
        auto source = std::make_unique<MemorySource>();
        auto imported =
            replay::import_text(*text, std::make_unique<MemorySink>(source->bytes_), {true});
        if (!imported) {
            return fail(std::move(imported.error()).in(path));
        }
        auto reader = replay::Reader::from_memory(source->bytes_, replay::ReadMode::tail, path);
        if (!reader) {
            return fail(reader.error());
        }
        source->ticks_ = imported->ticks;
        source->playback_.emplace(std::move(*reader));
        return source;
    }

    Result<Supply> next(Tick tick, TickFrame& frame) override {
        return playback_->source().next(tick, frame);
    }

    std::uint64_t ticks() const { return ticks_; }

    const Manifest& manifest() { return playback_->reader().manifest(); }

private:
    Bytes bytes_;
    std::uint64_t ticks_ = 0;
    std::optional<replay::Playback> playback_;
};

Result<OpenedSource> open_text(const std::string& path) {
    auto source = MemorySource::open(path);
    if (!source) {
        return fail(source.error());
    }
    auto setup = setup_of((*source)->manifest());
    if (!setup) {
        return fail(std::move(setup.error()).in(path));
    }
    OpenedSource opened;
    opened.setup = std::move(*setup);
    opened.ticks = (*source)->ticks();
    opened.source = std::move(*source);
    return opened;
}

Result<OpenedSource> open_bot(const GameEntry& entry, std::string_view rest, std::uint16_t slots) {
    const auto seed = parsed_number<std::uint64_t>(rest);
    if (!seed) {
        return fail(Error(SimErrc::bad_setup,
                          fmt::format("--from bot:{}", rest),
                          "write bot:SEED, SEED a whole number"));
    }
    OpenedSource opened;
    opened.source = std::make_unique<BotSource>(entry, *seed, slots);
    return opened;
}

} // namespace

Result<OpenedSource>
open_source(const GameEntry& entry, const std::string& text, std::uint16_t slots) {
    const std::size_t colon = text.find(':');
    const std::string kind = text.substr(0, colon);
    const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
    const bool known_kind =
        kind == "bot" || kind == "ndjson" || entry.sources.find(kind) != entry.sources.end();
    if (known_kind && rest.empty()) {
        return fail(Error(SimErrc::bad_setup,
                          fmt::format("--from {}", text),
                          fmt::format("write what follows {}:", kind)));
    }
    if (kind == "bot") {
        return open_bot(entry, rest, slots);
    }
    if (kind == "ndjson") {
        return open_text(rest);
    }
    if (const auto found = entry.sources.find(kind); found != entry.sources.end()) {
        return found->second(rest);
    }
    std::string known = "bot:SEED, ndjson:FILE";
    for (const std::string& form : entry.source_forms) {
        known += ", " + form;
    }
    return fail(Error(
        SimErrc::bad_setup, fmt::format("--from {}", text), fmt::format("use one of {}", known)));
}

} // namespace twinstep::tools
