// SPDX-License-Identifier: MIT
// Parses the command line, runs the verb, returns the exit code.
#include "twinstep/tools/run.hpp"

#include "command.hpp"
#include "version.hpp"

#include "twinstep/sim/float_environment.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#if defined(_WIN32)
#include <io.h>

#include <fcntl.h>
#endif

namespace twinstep::tools {

namespace {

int parse_error(const CLI::App& app, const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
        // --help and --version are answers, not errors.
        app.exit(error);
        return static_cast<int>(Exit::done);
    }
    std::string line = error.what();
    for (char& c : line) {
        c = c == '\n' ? ' ' : c;
    }
    Context::note(fmt::format("{}: see twinstep --help", line));
    return static_cast<int>(Exit::usage);
}

Exit act(const Action& action, Context& context) {
    if (Result<void> exact = check_float_environment(); !exact) {
        return Context::refuse(exact.error());
    }
    try {
        return action(context);
    } catch (const std::exception& exception) {
        // The libraries do not throw; what arrives here is memory or a broken standard stream.
        Context::note(exception.what());
        return Exit::failed;
    }
}

/// Makes the output the same bytes on every system: Windows would end lines with CR LF.
void plain_newlines() {
#if defined(_WIN32)
    _setmode(_fileno(stdout), _O_BINARY);
#endif
}

} // namespace

int run(const std::vector<GameEntry>& games, int argc, const char* const* argv) {
    plain_newlines();
    Context context(games);
    Action action;
    CLI::App app("Deterministic replay: record, replay and prove every tick.", "twinstep");
    app.set_version_flag("--version", std::string("twinstep ") + version_text);
    app.require_subcommand(1);
    declare_games(app, context, action);
    declare_record(app, context, action);
    declare_play(app, context, action);
    declare_verify(app, context, action);
    declare_info(app, context, action);
    declare_check(app, context, action);
    declare_cat(app, context, action);
    declare_import(app, context, action);
    declare_diff(app, context, action);
    declare_state(app, context, action);
    declare_timing(app, context, action);
    declare_doctor(app, context, action);
    declare_self_test(app, context, action);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return parse_error(app, error);
    }
    const Exit exit = act(action, context);
    if (std::fflush(stdout) != 0) {
        Context::note("standard output: cannot be written");
        return static_cast<int>(Exit::failed);
    }
    return static_cast<int>(exit);
}

} // namespace twinstep::tools
