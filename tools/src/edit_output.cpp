// SPDX-License-Identifier: MIT
// Opening, reading back and reporting for the verbs that edit.
#include "edit_output.hpp"

#include "recordings.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/playback.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

namespace twinstep::tools {

namespace {

bool errors_go_to_a_terminal() {
#if defined(_WIN32)
    return _isatty(_fileno(stderr)) != 0;
#else
    return isatty(STDERR_FILENO) != 0;
#endif
}

} // namespace

replay::ReadableRecording readable(const std::string& path) {
    return {path, [path] { return open_reader(path); }};
}

Result<std::unique_ptr<Simulation>> known_game(const Context& context, const std::string& path) {
    const auto reader = open_reader(path);
    if (!reader) {
        return fail(reader.error());
    }
    const auto id = reader->manifest().find("sim.id");
    if (id == reader->manifest().end()) {
        return std::unique_ptr<Simulation>();
    }
    const auto entry = context.find_game(id->second);
    return entry ? (*entry)->make() : std::unique_ptr<Simulation>();
}

ProgressLine::ProgressLine()
    : visible_(errors_go_to_a_terminal()) {}

ProgressLine::~ProgressLine() {
    if (drawn_) {
        fmt::print(stderr, "\r{:70}\r", "");
    }
}

void ProgressLine::draw(std::string_view text, std::uint64_t count, std::string_view unit) {
    const auto now = std::chrono::steady_clock::now();
    if (!visible_ || seconds() < 1.0 || now - last_ < std::chrono::milliseconds(250)) {
        return;
    }
    last_ = now;
    drawn_ = true;
    fmt::print(stderr,
               "\r{}, {:.0f} {}/s, {:.0f} s   ",
               text,
               static_cast<double>(count) / seconds(),
               unit,
               seconds());
}

double ProgressLine::seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

Result<void>
read_back(const std::string& path, std::span<const CopiedPart> parts, Simulation* simulation) {
    auto made = replay::Reader::open(path, replay::ReadMode::strict);
    if (!made) {
        return fail(made.error());
    }
    if (simulation != nullptr) {
        // Copying needs no game, so one of another version is no reason to refuse.
        const auto prepared = replay::prepare_simulation(*simulation, *made);
        if (!prepared && prepared.error().code != replay::Errc::incompatible_simulation) {
            return fail(located(prepared.error(), path));
        }
    }
    for (const CopiedPart& part : parts) {
        auto source = part.source.open();
        if (!source) {
            return fail(source.error());
        }
        if (auto same = replay::compare_ticks(*made, *source, part.from, part.until); !same) {
            return fail(located(same.error(), path));
        }
    }
    while (true) {
        const auto record = made->next();
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == replay::RecordKind::end) {
            return {};
        }
    }
}

Exit refuse_divergence(Context& context, const std::string& path, const Divergence& divergence) {
    context.print({{"file", path}, {"divergence", to_json(divergence)}});
    Context::note(
        fmt::format("{}: {}: nothing was written; see verify {}", path, to_line(divergence), path));
    return Exit::divergence;
}

Json edit_answer(const std::string& output, const replay::EditReport& report) {
    return {{"file", output},
            {"first_tick", json_integer(report.first.value)},
            {"ticks", json_integer(report.end.value - report.first.value)},
            {"copied_ticks", json_integer(report.copied_ticks)},
            {"simulated_ticks", json_integer(report.simulated_ticks)},
            {"bytes", json_integer(report.bytes)},
            {"chunks", json_integer(report.chunks)},
            {"chain", to_hex(report.chain)},
            {"final_hash", report.final_hash ? Json(to_hex(*report.final_hash)) : Json()},
            {"keyframes", json_integer(report.keyframes)},
            {"signatures_dropped", json_integer(report.signatures_dropped)},
            {"frames_dropped", json_integer(report.frames_dropped)}};
}

std::string edit_line(const std::string& output, const replay::EditReport& report) {
    return fmt::format("{}: ticks {} to {}, {} bytes, chain {}{}",
                       output,
                       report.first.value,
                       report.end.value,
                       report.bytes,
                       to_hex(report.chain),
                       report.signatures_dropped == 0
                           ? std::string()
                           : fmt::format(", {} signatures dropped", report.signatures_dropped));
}

} // namespace twinstep::tools
