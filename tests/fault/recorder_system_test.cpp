// SPDX-License-Identifier: MIT
// A recorder on real files while the system and its people do what they do: limits, signals, forks,
// folders that vanish, names of any script.
#include "journal.hpp"
#include "queued_sink.hpp"
#include "recording_support.hpp"

#include "twinstep/replay/keyframes.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <chrono>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// A toy session with a recorder on a real file.
struct RealSession {
    explicit RealSession(std::string file, const RecorderOptions& options = {})
        : path(std::move(file)) {
        auto created = Recorder::create(path, *simulation, options);
        if (created) {
            recorder.emplace(std::move(*created));
            driver.add(*recorder);
        } else {
            error = created.error();
        }
    }

    /// Plays, slowly enough that the queue's thread has its turn.
    std::uint64_t play(std::uint64_t ticks, std::uint64_t pause_every = 100) {
        std::uint64_t done = 0;
        while (done < ticks) {
            const std::uint64_t some = std::min(pause_every, ticks - done);
            done += driver.advance(some)->ticks;
            ::usleep(1000);
        }
        return done;
    }

    std::string path;
    std::unique_ptr<Simulation> simulation = toy_simulation(2);
    ToySource source{2};
    std::optional<Recorder> recorder;
    std::optional<Error> error;
    Driver driver{*simulation, source};
};

void require_whole(const std::string& path, std::uint64_t ticks) {
    const auto summary = summarise(path);
    REQUIRE(summary);
    REQUIRE(summary->defects.empty());
    REQUIRE(summary->state == FileState::closed);
    REQUIRE(summary->ticks == ticks);
    auto simulation = make_simulation<ToyGame>();
    const auto report = verify_file(*simulation, path, {.mode = ReadMode::strict});
    REQUIRE(report);
    REQUIRE_FALSE(report->divergence);
}

/// Exit status of a child that does something; 99 if a signal ended it.
template <class Work>
int in_child(const Work& work) {
    const ::pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::_exit(work());
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

} // namespace

TEST_CASE("a child of the recording process leaves the recording alone, whatever it does",
          "[replay][fault]") {
    const ScratchDirectory directory;
    for (const Durability durability : {Durability::process, Durability::chunk, Durability::tick}) {
        RealSession session(directory.file(std::to_string(static_cast<int>(durability))),
                            {.durability = durability});
        REQUIRE(session.play(700) == 700);
        const int status = in_child([&session] {
            // As a game that goes on in a copy of itself, and ends well.
            const bool played = session.play(1300) == 1300;
            const bool told = session.recorder->status().error.has_value() &&
                              session.recorder->status().lost_ticks == 1300;
            const bool refused = !session.recorder->close();
            session.recorder.reset();
            return played && told && refused ? 0 : 1;
        });
        CHECK(status == 0);
        REQUIRE(session.play(700) == 700);
        REQUIRE(session.recorder->close());
        require_whole(session.path, 1400);
        CHECK_FALSE(std::filesystem::exists(session.recorder->status().journal));
    }
}

TEST_CASE("a child that is forked within a step leaves the recording alone", "[replay][fault]") {
    class Forker final : public Observer {
    public:
        void before(const TickBegin& begin) override {
            if (begin.tick == Tick{599}) { // The last of a chunk.
                child = ::fork();
            }
        }

        ::pid_t child = -1;
    };

    const ScratchDirectory directory;
    RealSession session(directory.file("a.twin"));
    Forker forker;
    session.driver.add(forker);
    static_cast<void>(session.driver.advance(600));
    REQUIRE(forker.child >= 0);
    if (forker.child == 0) {
        session.recorder.reset();
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(forker.child, &status, 0) == forker.child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    REQUIRE(session.recorder->close());
    require_whole(session.path, 600);
}

TEST_CASE("the largest size of a file that the process may write stops the recording, not the game",
          "[replay][fault]") {
    const ScratchDirectory directory;
    // Less than a journal, so that the game's thread writes; more than one, so that the queue's
    // does.
    for (const ::rlim_t limit : {::rlim_t{5000}, ::rlim_t{20'001}, ::rlim_t{150'000}}) {
        const std::string path = directory.file(std::to_string(limit));
        const int status = in_child([&] {
            const struct ::rlimit size { limit, limit };
            ::setrlimit(RLIMIT_FSIZE, &size);
            RealSession session(path, {.queue_bytes = 1});
            if (!session.recorder || session.play(8000) != 8000) {
                return 1;
            }
            if (session.recorder->close() || !session.recorder->status().error ||
                session.recorder->status().error->code != Errc::io_error) {
                return 2;
            }
            const RecorderStatus state = session.recorder->status();
            return state.lost_ticks > 0 && state.ticks + state.lost_ticks == 8000 ? 0 : 3;
        });
        CAPTURE(limit);
        CHECK(status == 0);
        const auto summary = summarise(path);
        REQUIRE(summary);
        CHECK(summary->defects.empty());
        CHECK(summary->ticks > 50);
        auto simulation = make_simulation<ToyGame>();
        const auto report = verify_file(*simulation, path);
        REQUIRE(report);
        CHECK_FALSE(report->divergence);
    }
}

TEST_CASE("signals that interrupt the game every millisecond change nothing of its recording",
          "[replay][fault]") {
    const ScratchDirectory directory;
    const int status = in_child([&directory] {
        struct ::sigaction action {};

        action.sa_handler = [](int) {}; // Without SA_RESTART: system calls are interrupted.
        ::sigaction(SIGALRM, &action, nullptr);
        const ::itimerval often{{0, 1000}, {0, 1000}};
        ::setitimer(ITIMER_REAL, &often, nullptr);
        RealSession session(directory.file("a.twin"), {.durability = Durability::tick});
        return session.play(3000) == 3000 && session.recorder->close() ? 0 : 1;
    });
    REQUIRE(status == 0);
    require_whole(directory.file("a.twin"), 3000);
}

TEST_CASE("a folder that vanishes while recording is told of at the end, and the game goes on",
          "[replay][fault]") {
    const ScratchDirectory directory;
    const std::string folder = directory.file("gone");
    REQUIRE(std::filesystem::create_directory(folder));
    RealSession session(folder + "/a.twin");
    REQUIRE(session.play(700) == 700);
    REQUIRE(std::filesystem::remove_all(folder) > 0);
    REQUIRE(session.play(700) == 700);
    const auto closed = session.recorder->close();
    REQUIRE_FALSE(closed);
    CHECK(closed.error().code == Errc::io_error);
    CHECK(closed.error().where == session.path);
}

TEST_CASE("a recording that is renamed while it grows is whole under its new name",
          "[replay][fault]") {
    const ScratchDirectory directory;
    RealSession session(directory.file("a.twin"));
    REQUIRE(session.play(700) == 700);
    std::filesystem::rename(session.path, directory.file("b.twin"));
    REQUIRE(session.play(700) == 700);
    REQUIRE(session.recorder->close());
    require_whole(directory.file("b.twin"), 1400);
    // Nothing else is left, the journal neither.
    const auto left = std::filesystem::directory_iterator(directory.file(""));
    CHECK(std::distance(begin(left), end(left)) == 1);
}

TEST_CASE("a folder that may not be written refuses a recording and leaves nothing",
          "[replay][fault]") {
    const ScratchDirectory directory;
    const std::string folder = directory.file("sealed");
    REQUIRE(std::filesystem::create_directory(folder));
    REQUIRE(::chmod(folder.c_str(), 0555) == 0);
    REQUIRE(::chmod(directory.file("").c_str(), 0755) == 0);
    const int status = in_child([&folder] {
        if (::geteuid() == 0 && ::seteuid(65534) != 0) {
            return 1; // Nothing is forbidden to root.
        }
        const RealSession session(folder + "/a.twin");
        return !session.recorder && session.error && session.error->code == Errc::io_error ? 0 : 2;
    });
    CHECK(status == 0);
    CHECK(std::filesystem::is_empty(folder));
}

TEST_CASE("a folder with a name in any script holds a recording and its journal",
          "[replay][fault]") {
    const ScratchDirectory directory;
    const std::string folder = directory.file("gr\xC3\xB6\xC3\x9F\x65 \xE9\x8C\xB2\xE9\x9F\xB3");
    REQUIRE(std::filesystem::create_directory(folder));
    RealSession session(folder + "/a.twin");
    REQUIRE(session.recorder);
    REQUIRE(session.driver.advance(700)->ticks == 700);
    CHECK(std::filesystem::exists(session.recorder->status().journal));
    CHECK(summarise(session.path)->ticks == 700);
    REQUIRE(session.recorder->close());
    require_whole(session.path, 700);
}

TEST_CASE("two recorders of the same second and name: one records, the other is told",
          "[replay][fault]") {
    const ScratchDirectory directory;
    RealSession one(directory.file("a.twin"));
    RealSession same(directory.file("a.twin"));
    RealSession other(directory.file("b.twin"));
    REQUIRE(one.recorder);
    REQUIRE(other.recorder);
    REQUIRE_FALSE(same.recorder);
    CHECK(same.error->code == Errc::already_exists);
    REQUIRE(one.play(700) == 700);
    REQUIRE(other.play(700) == 700);
    REQUIRE(one.recorder->close());
    REQUIRE(other.recorder->close());
    require_whole(one.path, 700);
    require_whole(other.path, 700);
}

TEST_CASE("whichever write behind the queue fails, with whatever it still took, no tick is lost "
          "that was taken",
          "[replay][fault]") {
    const ScratchDirectory directory;
    for (std::uint64_t write = 1; write < 12; ++write) {
        for (const std::errc failure : {std::errc::no_space_on_device, std::errc::io_error}) {
            const std::string path = directory.file(std::to_string(write) + ".twin");
            auto plan = std::make_shared<SinkPlan>();
            plan->fail_write = write;
            plan->failure = failure;
            plan->bytes_before_failure = 7 * static_cast<std::size_t>(write);
            plan->write_bytes_max = 2000 + 3 * static_cast<std::size_t>(write);
            auto simulation = toy_simulation(2);
            ToySource source(2);
            Driver driver(*simulation, source);
            auto recorder = Recorder::create(
                std::make_unique<MemorySink>(plan), path, *simulation, {test_session(), {}});
            REQUIRE(recorder);
            driver.add(*recorder);
            for (int i = 0; i < 30; ++i) {
                REQUIRE(driver.advance(50)->ticks == 50);
                ::usleep(200);
            }
            CHECK_FALSE(recorder->close());
            const RecorderStatus status = recorder->status();
            REQUIRE(status.error);
            REQUIRE(status.ticks + status.lost_ticks == 1500);
            REQUIRE(std::filesystem::exists(status.journal));
            // File and journal together, as they would lie on the disk.
            std::ofstream(path, std::ios::binary)
                .write(reinterpret_cast<const char*>(plan->file.data()),
                       static_cast<std::streamsize>(plan->file.size()));
            const auto summary = summarise(path);
            REQUIRE(summary);
            REQUIRE(summary->defects.empty());
            REQUIRE(summary->ticks == status.ticks);
            std::filesystem::remove(path);
            std::filesystem::remove(status.journal);
        }
    }
}

namespace {

/// Names, sizes and times of change of everything in a folder.
std::string shown_folder(const std::string& folder) {
    std::vector<std::string> lines;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        lines.push_back(entry.path().filename().string() + " " + std::to_string(entry.file_size()) +
                        " " + std::to_string(entry.last_write_time().time_since_epoch().count()));
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& line : lines) {
        text += line + "\n";
    }
    return text;
}

} // namespace

TEST_CASE("reading a recording changes neither it nor its folder", "[replay][fault]") {
    const ScratchDirectory directory;
    const std::string folder = directory.file("");
    {
        RealSession session(directory.file("closed.twin"));
        REQUIRE(session.play(700) == 700);
        REQUIRE(session.recorder->close());
    }
    // As a kill leaves it, with a journal.
    const int status = in_child([&directory] {
        RealSession session(directory.file("killed.twin"));
        static_cast<void>(session.driver.advance(500));
        ::raise(SIGKILL);
        return 0;
    });
    REQUIRE(status == 99);
    const std::string before = shown_folder(folder);
    const Bytes closed = *read_file(directory.file("closed.twin"));
    for (const char* name : {"closed.twin", "killed.twin"}) {
        const std::string path = directory.file(name);
        CHECK(summarise(path)->ticks >= 500);
        auto simulation = make_simulation<ToyGame>();
        CHECK(verify_file(*simulation, path));
        KeyframedOptions options;
        options.side_file = path + ".kf";
        CHECK(KeyframedRecording::open(*Reader::open(path), options));
    }
    CHECK(shown_folder(folder) == before);
    CHECK(*read_file(directory.file("closed.twin")) == closed);
}

TEST_CASE("a recording is the same whatever was played before it in the process",
          "[replay][fault]") {
    const Bytes first = record_toy({.ticks = 700});
    const Bytes other = record_toy({.ticks = 300, .slots = 3, .seed = 9});
    CHECK(record_toy({.ticks = 700}) == first);
    auto simulation = make_simulation<ToyGame>();
    for (const Bytes* file : {&first, &other, &first, &first}) {
        const auto report = verify(*simulation, *Reader::from_memory(*file));
        REQUIRE(report);
        CHECK_FALSE(report->divergence);
        CHECK(report->hashes_checked > report->ticks);
    }
}
