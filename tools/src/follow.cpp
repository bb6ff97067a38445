// SPDX-License-Identifier: MIT
// twinstep follow: shows a recording while it is being written.
#include "twinstep/replay/follow.hpp"

#include "command.hpp"
#include "options.hpp"
#include "recordings.hpp"
#include "stop_signals.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/playback.hpp"
#include "twinstep/replay/text.hpp"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <thread>

namespace twinstep::tools {

namespace {

using std::chrono::steady_clock;

/// How often a file that has nothing new is looked at.
constexpr std::chrono::milliseconds follow_pause{10};
/// How often it is asked whether the file is still the same one.
constexpr std::chrono::milliseconds identity_pause{200};

volatile std::sig_atomic_t follow_stopped = 0;

struct FollowOptions {
    std::string path;
    bool summary = false;
    bool verify = false;
    std::optional<std::uint64_t> ticks;
    std::optional<double> idle_seconds;
};

/// Why following ended.
enum class FollowEnd : std::uint8_t { closed, ticks, idle, stopped, cut, replaced, divergence };

const char* to_string(FollowEnd end) {
    switch (end) {
    case FollowEnd::closed:
        return "closed";
    case FollowEnd::ticks:
        return "ticks";
    case FollowEnd::idle:
        return "idle";
    case FollowEnd::stopped:
        return "stopped";
    case FollowEnd::cut:
        return "cut";
    case FollowEnd::replaced:
        return "replaced";
    case FollowEnd::divergence:
        return "divergence";
    }
    return "unknown";
}

/// A recording that is followed, and perhaps played along.
class FollowSession {
public:
    FollowSession(const Context& context, const FollowOptions& options, replay::Follower follower)
        : options_(options)
        , follower_(std::move(follower))
        , prints_(!options.summary && !context.json) {}

    /// Makes the game, for its fields and to play along. Errors: incompatible_simulation, and those
    /// of prepare_simulation.
    Result<void> prepare(const Context& context);
    /// Errors: the reader's and the driver's.
    Result<FollowEnd> run();
    Exit report(const Context& context, FollowEnd end) const;

private:
    Result<std::optional<FollowEnd>> take(const replay::Record& record);
    std::optional<FollowEnd> look();

    const FollowOptions& options_;
    replay::Follower follower_;
    bool prints_;
    std::unique_ptr<Simulation> simulation_;
    std::optional<replay::FollowCheck> check_;
    bool other_build_ = false;
    std::optional<Hash128> final_hash_;
    steady_clock::time_point last_news_ = steady_clock::now();
    steady_clock::time_point last_look_ = last_news_;
};

Result<void> FollowSession::prepare(const Context& context) {
    const Manifest& manifest = follower_.reader().manifest();
    const auto id = manifest.find("sim.id");
    const std::string recorded = id == manifest.end() ? "(missing)" : id->second;
    const auto entry = context.find_game(recorded);
    if (!entry && options_.verify) {
        return fail(Error(replay::Errc::incompatible_simulation,
                          "sim.id",
                          entry.error().detail + ", not " + recorded)
                        .in(options_.path));
    }
    if (entry) {
        simulation_ = (*entry)->make();
    }
    if (options_.verify) {
        const auto prepared = replay::prepare_simulation(*simulation_, follower_.reader());
        if (!prepared) {
            return fail(located(prepared.error(), options_.path));
        }
        other_build_ = *prepared;
        check_.emplace(*simulation_);
    }
    return {};
}

Result<std::optional<FollowEnd>> FollowSession::take(const replay::Record& record) {
    if (prints_) {
        const std::string line = replay::export_record(
            follower_.reader(), record, {.proofs = true, .simulation = simulation_.get()});
        Context::data(json_for_terminals(line) + "\n");
        // Whoever reads from a pipe wants it now.
        std::fflush(stdout);
        if (std::ferror(stdout) != 0) {
            return FollowEnd::stopped;
        }
    }
    if (record.kind == replay::RecordKind::tick) {
        final_hash_.reset();
    } else if (record.kind == replay::RecordKind::chunk_end) {
        final_hash_ = record.chunk_end.state;
    }
    if (check_) {
        if (auto taken = check_->take(record); !taken) {
            return fail(taken.error());
        }
        if (check_->divergence()) {
            return FollowEnd::divergence;
        }
    }
    if (options_.ticks && follower_.reader().ticks() >= *options_.ticks) {
        return FollowEnd::ticks;
    }
    return std::nullopt;
}

/// What there is to do where the file has nothing new.
std::optional<FollowEnd> FollowSession::look() {
    if (follower_.reader().state() == replay::FileState::closed) {
        return FollowEnd::closed;
    }
    const auto now = steady_clock::now();
    if (now - last_look_ >= identity_pause) {
        last_look_ = now;
        const replay::FollowState state = follower_.state();
        if (state == replay::FollowState::cut) {
            return FollowEnd::cut;
        }
        if (state == replay::FollowState::replaced) {
            return FollowEnd::replaced;
        }
    }
    if (options_.idle_seconds &&
        std::chrono::duration<double>(now - last_news_).count() >= *options_.idle_seconds) {
        return FollowEnd::idle;
    }
    std::this_thread::sleep_for(follow_pause);
    return std::nullopt;
}

Result<FollowEnd> FollowSession::run() {
    if (prints_) {
        Context::data(json_for_terminals(replay::export_head(follower_.reader().head())) + "\n");
    }
    if (options_.ticks == 0) {
        return FollowEnd::ticks;
    }
    while (follow_stopped == 0) {
        const auto record = follower_.next();
        if (!record) {
            return fail(record.error());
        }
        std::optional<FollowEnd> end;
        if (record->kind == replay::RecordKind::end) {
            end = look();
        } else {
            last_news_ = steady_clock::now();
            auto taken = take(*record);
            if (!taken) {
                return fail(taken.error());
            }
            end = *taken;
        }
        if (end) {
            return *end;
        }
    }
    return FollowEnd::stopped;
}

Exit FollowSession::report(const Context& context, FollowEnd end) const {
    const replay::Reader& reader = follower_.reader();
    Json answer{{"file", options_.path},
                {"ticks", json_integer(reader.ticks())},
                {"bytes", json_integer(reader.bytes())},
                {"chunks", json_integer(reader.chunks())},
                {"chain", to_hex(reader.chain())},
                {"final_hash", final_hash_ ? Json(to_hex(*final_hash_)) : Json()},
                {"lost_ticks", json_integer(reader.loss() ? reader.loss()->ticks : 0)},
                {"state", to_string(reader.state())},
                {"end", to_string(end)}};
    if (check_) {
        answer["hashes_checked"] = json_integer(check_->hashes_checked());
        answer["divergences"] = Json::array();
        if (check_->divergence()) {
            answer["divergences"].push_back(to_json(*check_->divergence()));
        }
    }
    context.print(answer);
    const std::string line = fmt::format("{}: {} ticks, {} bytes, {}",
                                         options_.path,
                                         reader.ticks(),
                                         reader.bytes(),
                                         to_string(end));
    if (options_.summary) {
        context.say(line);
    }
    if (other_build_) {
        note_other_build(options_.path);
    }
    if (reader.loss()) {
        Context::note(fmt::format("{}: {}", options_.path, loss_line(*reader.loss())));
    }
    switch (end) {
    case FollowEnd::closed:
        return reader.loss() ? Exit::loss : Exit::done;
    case FollowEnd::ticks:
        return Exit::done;
    case FollowEnd::idle:
    case FollowEnd::stopped:
        Context::note(fmt::format("{}: {}: no trailer after {} ticks; it may still be written, or "
                                  "its writer was killed",
                                  options_.path,
                                  end == FollowEnd::idle ? "nothing new" : "stopped",
                                  reader.ticks()));
        return Exit::loss;
    case FollowEnd::cut:
        Context::note(fmt::format("{}: the file was cut to less than the {} bytes that were read",
                                  options_.path,
                                  reader.bytes()));
        return Exit::failed;
    case FollowEnd::replaced:
        Context::note(fmt::format("{}: another recording has this name now; follow that one anew",
                                  options_.path));
        return Exit::failed;
    case FollowEnd::divergence:
        Context::note(fmt::format("{}: {}", options_.path, to_line(*check_->divergence())));
        return Exit::divergence;
    }
    return Exit::failed;
}

Exit run_follow(Context& context, const FollowOptions& options) {
    handle_stop_signals([](int) { follow_stopped = 1; });
    if (const Result<void> regular = check_regular(options.path); !regular) {
        return Context::refuse(regular.error());
    }
    auto follower = replay::Follower::open(options.path);
    if (!follower) {
        return Context::refuse(follower.error());
    }
    FollowSession session(context, options, std::move(*follower));
    if (auto prepared = session.prepare(context); !prepared) {
        return Context::refuse(prepared.error());
    }
    const auto end = session.run();
    if (!end) {
        return Context::refuse(located(end.error(), options.path));
    }
    return session.report(context, *end);
}

} // namespace

void declare_follow(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "follow",
                                  "Show a recording while it is being written",
                                  "twinstep follow bot.twin --verify --until-idle 5");
    auto options = std::make_shared<FollowOptions>();
    verb.add_option("file", options->path, "Recording; its journal beside it is read too")
        ->required()
        ->check(not_empty());
    verb.add_flag("--summary", options->summary, "One line at the end instead of one a record");
    verb.add_flag("--verify", options->verify, "Simulate along; end at the first divergence");
    verb.add_option("--ticks", options->ticks, "End after N ticks")
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_option("--until-idle",
                    options->idle_seconds,
                    "End when nothing new has come for so many seconds; default: wait for ever")
        ->check(number(0.0, 1e6));
    verb.callback(
        [&action, options] { action = [options](Context& c) { return run_follow(c, *options); }; });
}

} // namespace twinstep::tools
