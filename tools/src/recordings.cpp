// SPDX-License-Identifier: MIT
// Opening recordings for the verbs that need their game.
#include "recordings.hpp"

#include <fmt/format.h>

namespace twinstep::tools {

Result<OpenedRecording> open_recording(const Context& context, const std::string& path) {
    auto reader = replay::Reader::open(path);
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

Exit exit_for_state(const std::string& path,
                    replay::FileState state,
                    const std::vector<replay::Defect>& defects) {
    for (const replay::Defect& defect : defects) {
        Context::note(to_string(defect.error));
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
    Json object{{"what", defect.error.code.message()},
                {"field", defect.error.field},
                {"detail", defect.error.detail}};
    object["offset"] = defect.error.offset ? Json(json_integer(*defect.error.offset)) : Json();
    object["tick"] = defect.tick ? Json(json_integer(defect.tick->value)) : Json();
    return object;
}

} // namespace twinstep::tools
