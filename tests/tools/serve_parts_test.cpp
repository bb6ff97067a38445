// SPDX-License-Identifier: MIT
// The server's log, metrics, recordings and admin answers, without a process.
#include "serve_admin.hpp"
#include "serve_log.hpp"
#include "serve_metrics.hpp"
#include "serve_recordings.hpp"
#include "toy_game.hpp"

#include "twinstep/replay/reader.hpp"
#include "twinstep/replay/recorder.hpp"
#include "twinstep/sim/game.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using namespace twinstep;
using namespace twinstep::tools;

namespace {

struct Lines {
    std::vector<std::string> all;
    std::int64_t now_ms = 1'700'000'000'123;

    Log log(LogLevel level = LogLevel::info, bool json = false) {
        return Log(
            level,
            json,
            [this](std::string_view line) { all.emplace_back(line); },
            [this] { return now_ms; });
    }
};

/// A directory that is gone after the test.
struct Folder {
    std::filesystem::path path = std::filesystem::temp_directory_path() /
                                 ("twinstep-serve-" + replay::to_hex(*replay::make_session_id()));

    Folder() { std::filesystem::create_directory(path); }

    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    ~Folder() { std::filesystem::remove_all(path); }
};

} // namespace

TEST_CASE("a line of the log stays one line whatever a value holds", "[tools][serve]") {
    Lines lines;
    Log log = lines.log();
    log.info("player", {{"name", "a\nb level=error"}, {"slot", "1"}});
    log.info("player", {{"name", "\x1b[31mred\x7f"}});
    log.info("player", {{"name", "\xe2\x80\xae gnp.exe"}});
    log.info("player", {{"name", "quote\" and \\"}});
    log.info("player", {{"name", "\xff\xfe"}});
    log.info("player", {{"name", ""}});
    log.info("player", {{"name", std::string(5000, 'n')}});
    REQUIRE(lines.all.size() == 7);
    CHECK(lines.all[0] ==
          "2023-11-14T22:13:20.123Z info player name=\"a\\x0ab level=error\" slot=1\n");
    CHECK(lines.all[1] == "2023-11-14T22:13:20.123Z info player name=\"\\x1b[31mred\\x7f\"\n");
    CHECK(lines.all[2] == "2023-11-14T22:13:20.123Z info player name=\"\\u202e gnp.exe\"\n");
    CHECK(lines.all[3] == "2023-11-14T22:13:20.123Z info player name=\"quote\\\" and \\\\\"\n");
    CHECK(lines.all[4] == "2023-11-14T22:13:20.123Z info player name=\"\\xff\\xfe\"\n");
    CHECK(lines.all[5] == "2023-11-14T22:13:20.123Z info player name=\"\"\n");
    CHECK(lines.all[6].size() < 1200);
    for (const std::string& line : lines.all) {
        CHECK(std::count(line.begin(), line.end(), '\n') == 1);
    }
}

TEST_CASE("the log as JSON is one safe object a line", "[tools][serve]") {
    Lines lines;
    lines.log(LogLevel::warn, true).info("hidden");
    lines.log(LogLevel::warn, true).warn("shown", {{"name", "a\nb\"\xe2\x80\xae\x1b"}});
    REQUIRE(lines.all.size() == 1);
    CHECK(lines.all[0] == "{\"time\":\"2023-11-14T22:13:20.123Z\",\"level\":\"warn\",\"event\":"
                          "\"shown\",\"name\":\"a\\nb\\\"\\u202e\\u001b\"}\n");
}

TEST_CASE("an event that repeats is counted instead of written", "[tools][serve]") {
    Lines lines;
    Log log = lines.log();
    for (int i = 0; i < 1000; ++i) {
        log.warn("flood");
    }
    log.warn("other");
    CHECK(lines.all.size() == Log::events_of_kind_max + 1);
    lines.now_ms += 1000;
    log.warn("flood");
    REQUIRE(lines.all.size() == Log::events_of_kind_max + 3);
    CHECK(lines.all[Log::events_of_kind_max + 1].find("repeated of=flood times=980") !=
          std::string::npos);
    for (int i = 0; i < 30; ++i) {
        log.error("broken");
    }
    CHECK(lines.all.size() == Log::events_of_kind_max + 33);
}

TEST_CASE("a histogram counts into cumulative buckets", "[tools][serve]") {
    Histogram histogram;
    for (const std::int64_t us : {-5, 0, 1'000, 1'001, 999'999, 1'000'000, 1'000'001}) {
        histogram.add(us);
    }
    MetricsText text;
    text.histogram("x_seconds", "X.", histogram);
    CHECK(text.text().find("# TYPE x_seconds histogram\n") != std::string::npos);
    CHECK(text.text().find("x_seconds_bucket{le=\"0.001\"} 3\n") != std::string::npos);
    CHECK(text.text().find("x_seconds_bucket{le=\"0.002\"} 4\n") != std::string::npos);
    CHECK(text.text().find("x_seconds_bucket{le=\"1\"} 6\n") != std::string::npos);
    CHECK(text.text().find("x_seconds_bucket{le=\"+Inf\"} 7\n") != std::string::npos);
    CHECK(text.text().find("x_seconds_count 7\n") != std::string::npos);
    CHECK(text.text().find("x_seconds_sum 3.002001\n") != std::string::npos);
    constexpr std::array<std::int64_t, 3> around_zero_ms{-1, 0, 1};
    Histogram margins(around_zero_ms);
    for (const std::int64_t us : {-1'001, -1'000, -999, 0, 1'001}) {
        margins.add(us);
    }
    MetricsText below;
    below.histogram("y_seconds", "Y.", margins);
    CHECK(below.text().find("y_seconds_bucket{le=\"-0.001\"} 2\n") != std::string::npos);
    CHECK(below.text().find("y_seconds_bucket{le=\"0\"} 4\n") != std::string::npos);
    CHECK(below.text().find("y_seconds_bucket{le=\"0.001\"} 4\n") != std::string::npos);
    CHECK(below.text().find("y_seconds_bucket{le=\"+Inf\"} 5\n") != std::string::npos);
    CHECK(below.text().find("y_seconds_sum -0.001999\n") != std::string::npos);
    MetricsText labels;
    labels.gauge("g", "G.");
    labels.sample(std::uint64_t{1}, {{"a", "x\"y\\z\n"}});
    CHECK(labels.text().find("g{a=\"x\\\"y\\\\z\\n\"} 1\n") != std::string::npos);
}

TEST_CASE("a recording stops at its limit and is whole up to there", "[tools][serve]") {
    Folder folder;
    auto recordings = Recordings::open(folder.path.string(), {1U << 20U, 4096});
    REQUIRE(recordings);
    auto file = recordings->create();
    REQUIRE(file);
    auto simulation = make_simulation<ToyGame>();
    REQUIRE(simulation->reset({1, 2, {}}));
    auto recorder =
        replay::Recorder::create(std::move(file->sink), *simulation, {file->session, {}});
    REQUIRE(recorder);
    TickFrame frame;
    Bytes input;
    encode_input(ToyInput{}, input);
    for (std::uint64_t tick = 0; tick < 500; ++tick) {
        frame.reset(Tick{tick}, 2);
        frame.set_input(Slot{0}, input);
        frame.set_input(Slot{1}, input);
        Bytes encoded;
        encode_frame(frame, encoded);
        const StateHashes before = simulation->hash();
        recorder->before({Tick{tick}, frame, encoded, before});
        REQUIRE(simulation->prepare(frame));
        simulation->step();
        recorder->after(simulation->hash());
    }
    const auto status = recorder->status();
    CHECK(status.error);
    CHECK(status.lost_ticks > 0);
    CHECK(status.ticks > 10);
    CHECK_FALSE(recorder->close());
    CHECK(std::filesystem::file_size(file->path) <= 4096);
    CHECK(recordings->bytes() == std::filesystem::file_size(file->path));
    const auto summary = replay::summarise(file->path);
    REQUIRE(summary);
    CHECK(summary->defects.empty());
    CHECK(summary->ticks == status.ticks);
}

TEST_CASE("the directory's limit counts what was there before", "[tools][serve]") {
    Folder folder;
    {
        auto old = replay::create_file((folder.path / "20200101T000000Z-0.twin").string());
        REQUIRE(old);
        std::error_code error;
        (*old)->write(Bytes(2000), error);
    }
    auto recordings = Recordings::open(folder.path.string(), {2500, 2000});
    REQUIRE(recordings);
    CHECK(recordings->bytes() == 2000);
    auto file = recordings->create();
    REQUIRE(file);
    std::error_code error;
    CHECK(file->sink->write(Bytes(400), error) == 400);
    CHECK(file->sink->write(Bytes(200), error) == 0);
    CHECK(error);
    CHECK(file->sink->truncate(100) == std::error_code{});
    CHECK(recordings->bytes() == 2100);
    CHECK(file->sink->write(Bytes(200), error) == 200);
    CHECK(file->sink->write(Bytes(200), error) == 200);
    CHECK_FALSE(recordings->create());
    file->sink->close();
    recordings->discard(file->path);
    CHECK(recordings->bytes() == 2000);
}

TEST_CASE("names are made of time and a random id and renamed at the end", "[tools][serve]") {
    Folder folder;
    auto recordings = Recordings::open(folder.path.string(), {1U << 20U, 1U << 20U});
    REQUIRE(recordings);
    CHECK(recordings->unfinished().empty());
    auto first = recordings->create();
    auto second = recordings->create();
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first->path != second->path);
    CHECK(recordings->unfinished() ==
          std::vector<std::string>{std::max(first->path, second->path),
                                   std::min(first->path, second->path)});
    const auto done = recordings->finish(first->path);
    REQUIRE(done);
    CHECK(done->ends_with(".twin"));
    CHECK(std::filesystem::exists(*done));
    REQUIRE(recordings->set_aside(second->path));
    CHECK(recordings->unfinished().empty());
    // A symbolic link is never taken for what an earlier process left.
    std::filesystem::create_symlink("/etc/passwd", folder.path / "99990101T000000Z-0.twin.part");
    CHECK(recordings->unfinished().empty());
#if !defined(_WIN32)
    CHECK_FALSE(Recordings::open(folder.path.string(), {1, 1}));
#endif
    CHECK_FALSE(Recordings::open((folder.path / "none").string(), {1, 1}));
}

TEST_CASE("admin requests are let in by method, origin and token", "[tools][serve]") {
    AdminHooks hooks;
    hooks.healthy = [] { return true; };
    hooks.ready = [] { return false; };
    hooks.metrics = [] { return std::optional<std::string>("m"); };
    hooks.matches = []() -> std::optional<std::string> { return std::nullopt; };
    hooks.drain = [] { return true; };
    hooks.end = [](net::MatchId id) -> std::optional<bool> { return id == 7; };
    const auto status = [&hooks](std::string_view method,
                                 std::string_view path,
                                 std::string_view authorization = {},
                                 bool page = false) {
        return answer_admin({method, path, authorization, page}, hooks).status;
    };
    CHECK(status("GET", "/healthz") == 200);
    CHECK(status("GET", "/readyz") == 503);
    CHECK(status("GET", "/metrics") == 200);
    CHECK(status("GET", "/matches") == 503);
    CHECK(status("POST", "/drain") == 202);
    CHECK(status("GET", "/drain") == 405);
    CHECK(status("POST", "/matches/7/end") == 202);
    CHECK(status("POST", "/matches/8/end") == 404);
    for (const char* path : {"/matches//end",
                             "/matches/7x/end",
                             "/matches/-7/end",
                             "/x",
                             "",
                             "/matches/99999999999999999999/end"}) {
        CHECK(status("POST", path) == 404);
    }
    CHECK(status("POST", "/drain", "", true) == 403);
    hooks.token = "secret";
    CHECK(status("GET", "/healthz") == 200);
    CHECK(status("GET", "/metrics") == 401);
    for (const char* wrong :
         {"Bearer ", "Bearer secre", "Bearer secrets", "Basic secret", "secret"}) {
        CHECK(status("GET", "/metrics", wrong) == 401);
    }
    CHECK(status("GET", "/metrics", "Bearer secret") == 200);
}
