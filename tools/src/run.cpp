// SPDX-License-Identifier: MIT
// Parses the command line, runs the verb, returns the exit code.
#include "twinstep/tools/run.hpp"

#include "command.hpp"
#include "version.hpp"

#include "twinstep/sim/float_environment.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <new>
#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

namespace twinstep::tools {

namespace {

/// Makes the standard streams what the verbs take them for.
void prepare_standard_streams() {
#if defined(_WIN32)
    // In text mode every line would end with CR LF: other bytes than on other systems.
    _setmode(_fileno(stdout), _O_BINARY);
#else
    // Without the three streams, the first file that is opened would take the place of one and
    // receive what is printed. The stand-ins refuse to be read or written, as the closed ones did.
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(stream, F_GETFD) == -1) {
            const int stand_in =
                open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY); // NOLINT
            static_cast<void>(stand_in);
        }
    }
    // A limit on the size of files is an error of one write, not the end of the program.
    std::signal(SIGXFSZ, SIG_IGN);
#endif
}

std::string program_name(int argc, const char* const* argv) {
    const std::string path = argc > 0 && argv[0] != nullptr ? argv[0] : "";
    const std::string name = path.substr(path.find_last_of("/\\") + 1);
    return name.empty() ? "twinstep" : printable(name);
}

std::string verb_names(const CLI::App& app) {
    std::string names;
    for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
        names += (names.empty() ? "" : ", ") + verb->get_name();
    }
    return names;
}

Exit parse_error(const CLI::App& app,
                 const Context& context,
                 const CLI::ParseError& error,
                 std::string_view first) {
    if (error.get_exit_code() == 0) {
        // --help and --version are answers, not errors.
        app.exit(error);
        return Exit::done;
    }
    const auto chosen = app.get_subcommands();
    if (chosen.empty()) {
        Context::note(fmt::format("no verb {}: use one of {}; see {} --help",
                                  first.empty() ? "given" : first,
                                  verb_names(app),
                                  context.program()));
        return Exit::usage;
    }
    Context::note(fmt::format("{}: see {}{} --help",
                              error.what(),
                              context.program(),
                              chosen.empty() ? "" : " " + chosen.front()->get_name()));
    return Exit::usage;
}

/// What was printed may still lie in a buffer, or may have been refused long ago.
Exit flushed(Exit exit) {
    const bool refused = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
    if (refused) {
        Context::note("standard output: cannot be written");
        return Exit::failed;
    }
    return exit;
}

Exit act(const Action& action, Context& context) {
    if (Result<void> exact = check_float_environment(); !exact) {
        return Context::refuse(exact.error());
    }
    try {
        return action(context);
    } catch (const std::bad_alloc&) {
        Context::note("out of memory");
        return Exit::failed;
    } catch (const std::exception& exception) {
        // The libraries do not throw; what arrives here is memory or a broken standard stream.
        Context::note(exception.what());
        return Exit::failed;
    }
}

} // namespace

int run(const std::vector<GameEntry>& games, int argc, const char* const* argv) {
    prepare_standard_streams();
    Context context(games, program_name(argc, argv));
    Action action;
    CLI::App app("Deterministic replay: record, replay and prove every tick.", context.program());
    app.set_version_flag("--version", std::string("twinstep ") + version_text);
    app.require_subcommand(1);
    // On Windows /tmp/a.twin would be an option.
    app.allow_windows_style_options(false);
    declare_games(app, context, action);
    declare_record(app, context, action);
    declare_play(app, context, action);
    declare_verify(app, context, action);
    declare_info(app, context, action);
    declare_check(app, context, action);
    declare_cat(app, context, action);
    declare_import(app, context, action);
    declare_pack(app, context, action);
    declare_unpack(app, context, action);
    declare_keygen(app, context, action);
    declare_sign(app, context, action);
    declare_check_signature(app, context, action);
    declare_trim(app, context, action);
    declare_concat(app, context, action);
    declare_fork(app, context, action);
    declare_bisect(app, context, action);
    declare_rebaseline(app, context, action);
    declare_recover(app, context, action);
    declare_follow(app, context, action);
    declare_keyframes(app, context, action);
    declare_diff(app, context, action);
    declare_state(app, context, action);
    declare_coverage(app, context, action);
    declare_merge(app, context, action);
    declare_lint(app, context, action);
    declare_timing(app, context, action);
    declare_doctor(app, context, action);
    declare_self_test(app, context, action);
#if TWINSTEP_NETWORK_VERBS
    declare_serve(app, context, action);
    declare_join(app, context, action);
    declare_netsim(app, context, action);
#endif
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return static_cast<int>(flushed(parse_error(app, context, error, argc > 1 ? argv[1] : "")));
    }
    return static_cast<int>(flushed(act(action, context)));
}

} // namespace twinstep::tools
