// SPDX-License-Identifier: MIT
// Starts a program, waits for it, and ends it when its time is over.
#include "other_program.hpp"

#include "text_file.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#if !defined(_WIN32)
#include <spawn.h>

#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" char** environ; // NOLINT: POSIX declares it nowhere.
#endif

namespace twinstep::tools {

namespace {

constexpr std::uint64_t output_bytes_max = std::uint64_t{16} << 20;

tl::unexpected<Error> not_started(const std::string& program, int reason) {
    return fail(
        Error(replay::Errc::io_error, {}, std::generic_category().message(reason)).in(program));
}

std::string last_line(std::string text) {
    while (!text.empty() && text.back() == '\n') {
        text.pop_back();
    }
    return text.substr(text.find_last_of('\n') + 1);
}

#if !defined(_WIN32)

/// Where the three standard streams of a program go.
class Streams {
public:
    Streams(const std::string& output, const std::string& problems) {
        posix_spawn_file_actions_init(&actions_);
        posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
        posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, output.c_str(), flags, 0600);
        posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, problems.c_str(), flags, 0600);
    }

    ~Streams() { posix_spawn_file_actions_destroy(&actions_); }

    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;

    const posix_spawn_file_actions_t* get() const { return &actions_; }

private:
    posix_spawn_file_actions_t actions_{};
};

/// This process's environment with some variables in place of its own.
std::vector<std::string> changed_environment(std::vector<std::string> variables) {
    const std::size_t changed = variables.size();
    for (char** own = environ; *own != nullptr; ++own) {
        const std::string_view variable = *own;
        const std::string_view name = variable.substr(0, variable.find('=') + 1);
        const auto end = variables.begin() + static_cast<std::ptrdiff_t>(changed);
        const bool replaced = std::any_of(variables.begin(), end, [&](const std::string& other) {
            return !name.empty() && other.starts_with(name);
        });
        if (!replaced) {
            variables.emplace_back(variable);
        }
    }
    return variables;
}

void wait_for(pid_t child, std::chrono::milliseconds limit, Ended& ended) {
    const auto end = std::chrono::steady_clock::now() + limit;
    int status = 0;
    while (true) {
        const pid_t done = ::waitpid(child, &status, WNOHANG);
        if (done == child || (done < 0 && errno != EINTR)) {
            break;
        }
        if (std::chrono::steady_clock::now() >= end) {
            ended.in_time = false;
            ::kill(child, SIGKILL);
            while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
            }
            break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ended.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif

} // namespace

#if defined(_WIN32)

Result<Ended> run_program(const std::string& program,
                          const std::vector<std::string>&,
                          const std::string&,
                          std::chrono::milliseconds,
                          const std::vector<std::string>&) {
    return not_started(program, ENOSYS);
}

#else

Result<Ended> run_program(const std::string& program,
                          const std::vector<std::string>& arguments,
                          const std::string& folder,
                          std::chrono::milliseconds limit,
                          const std::vector<std::string>& environment) {
    const std::string output = folder + "/output";
    const std::string problems = folder + "/problems";
    std::vector<std::string> texts{program};
    texts.insert(texts.end(), arguments.begin(), arguments.end());
    std::vector<char*> words;
    for (std::string& text : texts) {
        words.push_back(text.data());
    }
    words.push_back(nullptr);
    std::vector<std::string> variables = changed_environment(environment);
    std::vector<char*> variable_words;
    for (std::string& variable : variables) {
        variable_words.push_back(variable.data());
    }
    variable_words.push_back(nullptr);
    const Streams streams(output, problems);
    pid_t child = 0;
    const int refused = ::posix_spawnp(
        &child, program.c_str(), streams.get(), nullptr, words.data(), variable_words.data());
    if (refused != 0) {
        return not_started(program, refused);
    }
    Ended ended;
    wait_for(child, limit, ended);
    auto printed = read_text_file(output, output_bytes_max);
    if (!printed) {
        return fail(printed.error());
    }
    ended.output = std::move(*printed);
    if (auto said = read_text_file(problems, output_bytes_max)) {
        ended.problems = last_line(std::move(*said));
    }
    return ended;
}

#endif

Result<ScratchFolder> ScratchFolder::create() {
    const auto name = replay::make_session_id();
    if (!name) {
        return fail(name.error());
    }
    std::error_code error;
    const std::filesystem::path path = std::filesystem::temp_directory_path(error) /
                                       fmt::format("twinstep-{}", replay::to_hex(*name));
    if (!error && std::filesystem::create_directory(path, error)) {
        std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
        return ScratchFolder(path.string());
    }
    return fail(Error(replay::Errc::io_error,
                      {},
                      error ? error.message() : std::string("it exists already"))
                    .in(path.string()));
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ScratchFolder::~ScratchFolder() {
    if (!path_.empty()) {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
}

} // namespace twinstep::tools
