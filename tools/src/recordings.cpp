// SPDX-License-Identifier: MIT
// Opening recordings for the verbs that need their game.
#include "recordings.hpp"

#include "twinstep/replay/keyframes.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace twinstep::tools {

Result<void> check_regular(const std::string& path) {
    // Waiting for ever on a pipe, or reading a device that has no end, helps nobody.
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        const bool directory = std::filesystem::is_directory(status);
        return fail(Error(replay::Errc::io_error,
                          {},
                          directory ? "it is a directory" : "not a regular file: copy it into one")
                        .in(path));
    }
    return {};
}

Result<replay::Reader> open_reader(const std::string& path) {
    if (const Result<void> regular = check_regular(path); !regular) {
        return fail(regular.error());
    }
    return replay::Reader::open(path);
}

std::string found_side_file(const std::string& path) {
    std::string name = replay::side_file_of(path);
    std::error_code ignored;
    const bool found = std::filesystem::is_regular_file(
        std::filesystem::path(std::u8string(name.begin(), name.end())), ignored);
    return found ? name : std::string();
}

Result<OpenedRecording> open_recording(const Context& context, const std::string& path) {
    auto reader = open_reader(path);
    if (!reader) {
        return fail(reader.error());
    }
    const auto id = reader->manifest().find("sim.id");
    const std::string recorded = id == reader->manifest().end() ? "(missing)" : id->second;
    const auto entry = context.find_game(recorded);
    if (!entry) {
        return fail(Error(replay::Errc::incompatible_simulation,
                          "sim.id",
                          entry.error().detail + ", not " + recorded)
                        .in(path));
    }
    return OpenedRecording{std::move(*reader), (*entry)->make()};
}

Result<Replay> start_replay(const Context& context, const std::string& path) {
    auto recording = open_recording(context, path);
    if (!recording) {
        return fail(recording.error());
    }
    auto other_build = replay::prepare_simulation(*recording->simulation, recording->reader);
    if (!other_build) {
        return fail(located(std::move(other_build.error()), path));
    }
    replay::Playback playback(std::move(recording->reader));
    Driver driver(*recording->simulation, playback.source());
    driver.add(playback.verifier());
    return Replay{path,
                  std::move(recording->simulation),
                  std::move(playback),
                  std::move(driver),
                  *other_build};
}

Error located(Error error, const std::string& path) {
    if (!error.where.starts_with(path)) {
        error.where = error.where.empty() ? path : path + ": " + error.where;
    }
    return error;
}

std::string loss_line(const replay::Loss& loss) {
    return fmt::format("{} ticks from tick {} on are missing: {}",
                       loss.ticks,
                       loss.first.value,
                       loss.reason == replay::LossReason::slow_disk
                           ? "the disk stood still for too long"
                           : "for a reason that this program does not know");
}

Exit exit_for_state(const std::string& path,
                    replay::FileState state,
                    const std::vector<replay::Defect>& defects) {
    for (const replay::Defect& defect : defects) {
        Context::note(to_string(defect));
    }
    if (state == replay::FileState::open) {
        Context::note(fmt::format(
            "{}: open: no trailer; it is still being written, or its writer was killed", path));
    }
    return state == replay::FileState::closed ? Exit::done : Exit::loss;
}

void note_other_build(const std::string& path) {
    Context::note(fmt::format("{}: made by another build: sim.source_digest differs", path));
}

Json to_json(const replay::Defect& defect) {
    Json object{{"verdict", verdict(defect)},
                {"what", defect.error.code.message()},
                {"field", defect.error.field},
                {"detail", defect.error.detail}};
    object["offset"] = defect.error.offset ? Json(json_integer(*defect.error.offset)) : Json();
    object["tick"] = defect.tick ? Json(json_integer(defect.tick->value)) : Json();
    object["chunk"] = defect.chunk ? Json(json_integer(*defect.chunk)) : Json();
    return object;
}

} // namespace twinstep::tools
