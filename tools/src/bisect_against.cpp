// SPDX-License-Identifier: MIT
// Runs another build with chosen inputs and compares what it records.
#include "bisect_against.hpp"

#include "command.hpp"
#include "state_tree.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/replay/text.hpp"
#include "twinstep/sim/driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

namespace twinstep::tools {

namespace {

constexpr const char* ours_name = "ours.twin";
constexpr const char* theirs_name = "theirs.twin";
constexpr const char* text_name = "inputs.ndjson";

/// What is compared of a tick or of the end of the session.
struct Recorded {
    Tick tick;
    std::string state;
    std::vector<std::string> sections;
};

/// The next state that a recording says something of; the last one is the end of its last chunk.
Result<std::optional<Recorded>> next_recorded(replay::Reader& reader) {
    while (true) {
        const auto record = reader.next();
        if (!record) {
            return fail(record.error());
        }
        Recorded recorded;
        if (record->kind == replay::RecordKind::tick) {
            recorded.tick = record->tick.tick;
            recorded.state = fmt::format("{:08x}", record->tick.hash);
            for (std::size_t i = 0; i < record->tick.section_bytes.size(); ++i) {
                recorded.sections.push_back(
                    replay::to_hex(record->tick.section_bytes.subspan(i, 1)));
            }
            return std::optional(std::move(recorded));
        }
        if (record->kind == replay::RecordKind::chunk_end) {
            recorded.tick = record->chunk_end.last + 1;
            recorded.state = to_hex(record->chunk_end.state);
            for (const Hash128& section : record->chunk_end.sections) {
                recorded.sections.push_back(to_hex(section));
            }
            return std::optional(std::move(recorded));
        }
        if (record->kind == replay::RecordKind::end) {
            return std::optional<Recorded>();
        }
    }
}

/// The first leaf in which two trees of JSON differ.
bool first_leaf(const Json& left, const Json& right, std::string& path, Divergence& divergence) {
    if (left == right) {
        return false;
    }
    const bool objects = left.is_object() && right.is_object();
    const bool lists = left.is_array() && right.is_array();
    const std::size_t length = path.size();
    if (objects && !left.contains("bits")) {
        for (const auto& [key, value] : left.items()) {
            path += (path.empty() ? "" : ".") + key;
            if (first_leaf(value, right.contains(key) ? right[key] : Json(), path, divergence)) {
                return true;
            }
            path.resize(length);
        }
    }
    if (lists) {
        for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
            path += fmt::format("[{}]", i);
            if (first_leaf(i < left.size() ? left[i] : Json(),
                           i < right.size() ? right[i] : Json(),
                           path,
                           divergence)) {
                return true;
            }
            path.resize(length);
        }
    }
    divergence.field = path;
    divergence.expected = to_text(left, -1);
    divergence.actual = to_text(right, -1);
    return true;
}

} // namespace

Result<OtherBuild>
OtherBuild::create(const std::string& program, const Simulation& kind, std::uint64_t seconds) {
    auto folder = ScratchFolder::create();
    if (!folder) {
        return fail(folder.error());
    }
    OtherBuild other(program, kind, std::move(*folder));
    if (seconds != 0) {
        other.limit_ = std::chrono::seconds(seconds);
    }
    return other;
}

Result<void> OtherBuild::write_inputs(const replay::InputChoice& choice) {
    for (const char* name : {ours_name, theirs_name, text_name}) {
        std::error_code ignored;
        std::filesystem::remove(folder_.file(name), ignored);
    }
    auto sink = replay::create_file(folder_.file(ours_name));
    if (!sink) {
        return fail(sink.error());
    }
    const auto written = replay::record_choice(*kind_, choice, std::move(*sink));
    if (!written) {
        return fail(written.error());
    }
    auto reader = replay::Reader::open(folder_.file(ours_name));
    if (!reader) {
        return fail(reader.error());
    }
    std::ofstream text(folder_.file(text_name), std::ios::binary);
    const auto line = [&text](std::string_view content) -> Result<void> {
        text << content << '\n';
        return {};
    };
    if (auto exported = replay::export_text(*reader, line, {.proofs = false}); !exported) {
        return exported;
    }
    text.close();
    return text ? Result<void>{}
                : Result<void>(fail(Error(replay::Errc::io_error, {}, "cannot be written")
                                        .in(folder_.file(text_name))));
}

Result<void> OtherBuild::run_other(const std::vector<std::string>& arguments, std::string& output) {
    auto ended = run_program(program_, arguments, folder_.path(), limit_);
    if (!ended) {
        return fail(ended.error());
    }
    if (ended->exit != 0 || !ended->in_time) {
        return fail(Error(replay::Errc::io_error,
                          arguments.front(),
                          ended->in_time
                              ? fmt::format("it ended with {}: {}", ended->exit, ended->problems)
                              : std::string("it did not end in time"))
                        .in(program_));
    }
    output = std::move(ended->output);
    return {};
}

Result<std::optional<Divergence>> OtherBuild::compare_files() const {
    auto ours = replay::Reader::open(folder_.file(ours_name));
    auto theirs = replay::Reader::open(folder_.file(theirs_name));
    if (!ours || !theirs) {
        return fail(ours ? theirs.error() : ours.error());
    }
    if (ours->sections() != theirs->sections()) {
        return fail(Error(replay::Errc::incompatible_simulation,
                          replay::sections_key,
                          "its state has other sections")
                        .in(program_));
    }
    while (true) {
        const auto left = next_recorded(*ours);
        const auto right = next_recorded(*theirs);
        if (!left || !right) {
            return fail(left ? right.error() : left.error());
        }
        if (!*left && !*right) {
            return std::optional<Divergence>();
        }
        if (!*left || !*right || (*left)->tick != (*right)->tick) {
            return fail(Error(replay::Errc::wrong_tick, "tick", "it did not record the same ticks")
                            .in(program_));
        }
        const Recorded& mine = **left;
        const Recorded& other = **right;
        for (std::size_t i = 0; i < std::min(mine.sections.size(), other.sections.size()); ++i) {
            if (mine.sections[i] != other.sections[i]) {
                return std::optional(Divergence{
                    mine.tick, ours->sections()[i], {}, mine.sections[i], other.sections[i]});
            }
        }
        if (mine.state != other.state) {
            return std::optional(Divergence{mine.tick, {}, {}, mine.state, other.state});
        }
    }
}

/// Looks at both states as trees. What cannot be had stays unnamed: the hashes have decided
/// already.
void OtherBuild::name_field(const replay::InputChoice& choice, Divergence& divergence) {
    std::string output;
    const std::vector<std::string> arguments{"state",
                                             folder_.file(theirs_name),
                                             "--at",
                                             std::to_string(divergence.tick.value),
                                             "--json"};
    if (auto ran = run_other(arguments, output); !ran) {
        return;
    }
    const Json theirs = Json::parse(output, nullptr, false);
    auto simulation = choice.inputs().make(*kind_);
    if (!theirs.is_object() || !theirs.contains("state") || !simulation) {
        return;
    }
    const auto source = choice.open();
    Driver driver(**simulation, *source);
    const std::uint64_t ticks = divergence.tick.value - choice.inputs().first().value;
    if (const auto advance = driver.advance(ticks); !advance) {
        return;
    }
    const Json ours = state_tree(**simulation);
    for (const auto& [section, state] : ours.items()) {
        std::string path;
        if (first_leaf(state,
                       theirs["state"].contains(section) ? theirs["state"][section] : Json(),
                       path,
                       divergence)) {
            divergence.section = section;
            return;
        }
    }
}

Result<std::optional<Divergence>> OtherBuild::compare(const replay::InputChoice& choice) {
    if (choice.inputs().first() != Tick{0}) {
        return fail(Error(replay::Errc::wrong_tick,
                          "tick",
                          "another program can only be given a session from tick 0 on"));
    }
    if (auto written = write_inputs(choice); !written) {
        return fail(written.error());
    }
    std::string output;
    const std::vector<std::string> arguments{"record",
                                             kind_->info().id,
                                             "--from",
                                             "ndjson:" + folder_.file(text_name),
                                             "-o",
                                             folder_.file(theirs_name),
                                             "--json"};
    if (auto ran = run_other(arguments, output); !ran) {
        return fail(ran.error());
    }
    return compare_files();
}

} // namespace twinstep::tools
