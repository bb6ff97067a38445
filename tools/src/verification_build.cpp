// SPDX-License-Identifier: MIT
// One recording in two builds of a game.
#include "verification_build.hpp"

#include "bisect_against.hpp"
#include "recorded_session.hpp"
#include "recordings.hpp"

namespace twinstep::tools {

Result<std::optional<Divergence>>
compare_builds(const Context& context, const std::string& path, const std::string& program) {
    const auto session = open_recorded_session(context, path);
    if (!session) {
        return fail(session.error());
    }
    constexpr std::uint64_t limit_seconds = 3600;
    auto other = OtherBuild::create(program, *session->simulation, limit_seconds);
    if (!other) {
        return fail(other.error());
    }
    const replay::InputChoice choice(session->inputs);
    auto found = other->compare(choice);
    if (!found) {
        return fail(located(found.error(), path));
    }
    if (*found) {
        other->name_field(choice, **found);
    }
    return found;
}

} // namespace twinstep::tools
