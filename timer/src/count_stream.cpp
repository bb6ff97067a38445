// SPDX-License-Identifier: MIT
// Reads and plays raw count streams.
#include <twinstep/timer/contract.hpp>
#include <twinstep/timer/count_stream.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace twinstep::timer {
namespace {

constexpr std::size_t shown_token_bytes_max = 40;

std::string shown(std::string_view token) {
    std::string text(token.substr(0, shown_token_bytes_max));
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return text;
}

/// Digits with an optional minus sign, nothing else.
tl::expected<std::int64_t, StreamFault> parse_number(std::string_view text) {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped_at, error] = std::from_chars(text.data(), end, value);
    // from_chars walks over all digits before it reports a number out of range.
    if (error == std::errc::invalid_argument || stopped_at != end) {
        return tl::make_unexpected(StreamFault::unknown_token);
    }
    if (error == std::errc::result_out_of_range) {
        return tl::make_unexpected(StreamFault::number_too_large);
    }
    return value;
}

tl::expected<CountToken, StreamFault> parse_token(std::string_view text) {
    if (text.find('\r') != std::string_view::npos) {
        return tl::make_unexpected(StreamFault::carriage_return);
    }
    if (text.empty()) {
        return tl::make_unexpected(StreamFault::empty_line);
    }
    if (text == "S") {
        return CountToken{CountOp::stop, 0};
    }
    if (text == "G") {
        return CountToken{CountOp::start, 0};
    }
    if (text == "R") {
        return CountToken{CountOp::reset, 0};
    }
    if (text == "B") {
        return CountToken{CountOp::rebase, 0};
    }
    const bool plus = text.front() == '+';
    const std::string_view digits = plus ? text.substr(1) : text;
    if (plus && (digits.empty() || digits.front() == '-')) {
        return tl::make_unexpected(StreamFault::unknown_token);
    }
    return parse_number(digits).map([plus](std::int64_t counts) {
        return CountToken{plus ? CountOp::advance : CountOp::tick, counts};
    });
}

/// Moves `running` by `delta` unless that leaves the counter's range.
bool move_counter(std::int64_t& running, std::int64_t delta) {
    if (delta > counts_max - running || delta < -counts_max - running) {
        return false;
    }
    running += delta;
    return true;
}

} // namespace

std::string_view to_string(StreamFault fault) noexcept {
    switch (fault) {
    case StreamFault::empty_stream:
        return "the stream is empty";
    case StreamFault::empty_line:
        return "the line is empty";
    case StreamFault::carriage_return:
        return "the line has a carriage return; lines end in LF alone";
    case StreamFault::unknown_token:
        return "the token is not a count, +count, S, G, R or B";
    case StreamFault::number_too_large:
        return "the number is too large";
    case StreamFault::counter_overflow:
        return "the running count leaves the counter's range";
    case StreamFault::too_many_tokens:
        return "the stream has too many tokens";
    }
    return "unknown";
}

tl::expected<std::vector<CountToken>, StreamError> parse_count_stream(std::string_view text) {
    std::vector<CountToken> tokens;
    std::int64_t running = 0;
    std::size_t offset = 0;
    const auto refuse = [&](StreamFault fault, std::string_view token) {
        return tl::make_unexpected(StreamError{fault, tokens.size() + 1, offset, shown(token)});
    };
    if (text.empty()) {
        return refuse(StreamFault::empty_stream, text);
    }
    while (offset < text.size()) {
        const std::size_t newline = std::min(text.find('\n', offset), text.size());
        const std::string_view line = text.substr(offset, newline - offset);
        const auto token = parse_token(line);
        if (!token) {
            return refuse(token.error(), line);
        }
        if (!move_counter(running, token->counts)) {
            return refuse(StreamFault::counter_overflow, line);
        }
        if (tokens.size() == count_tokens_max) {
            return refuse(StreamFault::too_many_tokens, line);
        }
        tokens.push_back(*token);
        offset = newline + 1;
    }
    return tokens;
}

CountPlayer::CountPlayer(const FixedStep& step)
    : step_(step)
    , counter_(step.frequency_hz())
    // Every clamp that FixedStep accepted is one that GameTimer accepts.
    , timer_(GameTimer::create(
                 counter_, {.max_delta_seconds = {step.max_frame_counts(), step.frequency_hz()}})
                 .value()) {}

std::optional<FrameRow> CountPlayer::play(const CountToken& token) {
    counter_.advance(token.counts);
    switch (token.op) {
    case CountOp::tick:
        return tick();
    case CountOp::advance:
        break;
    case CountOp::stop:
        timer_.stop();
        break;
    case CountOp::start:
        timer_.start();
        break;
    case CountOp::reset:
        timer_.reset();
        step_.reset();
        regressions_seen_ = 0;
        break;
    case CountOp::rebase:
        timer_.rebase(RebaseReason::unspecified);
        break;
    }
    return std::nullopt;
}

FrameRow CountPlayer::tick() {
    timer_.tick();
    FrameRow row;
    // A paused loop must not run steps, not even owed ones.
    if (timer_.is_stopped()) {
        row.owed_steps = step_.ledger().owed_steps;
    } else {
        const FrameSteps frame = step_.advance(timer_.raw_delta_counts());
        row.steps = frame.steps;
        row.dropped_steps = frame.dropped_steps;
        row.dropped_counts = frame.dropped_counts;
        row.owed_steps = frame.owed_steps;
    }
    row.raw_counts = timer_.raw_delta_counts();
    row.delta_counts = timer_.delta_counts();
    row.delta_seconds = timer_.delta_seconds();
    row.total_counts = timer_.total_time_counts();
    row.total_seconds = timer_.total_time_seconds();
    row.alpha = step_.alpha();
    row.alpha_float = step_.alpha_float();
    row.regressions_total = timer_.regressions();
    row.regressions = row.regressions_total - regressions_seen_;
    regressions_seen_ = row.regressions_total;
    return row;
}

tl::expected<std::vector<FrameRow>, ConfigError>
play_count_stream(const std::vector<CountToken>& tokens, const FixedStepConfig& config) {
    const auto step = FixedStep::create(config);
    if (!step) {
        return tl::make_unexpected(step.error());
    }
    CountPlayer player(*step);
    std::vector<FrameRow> rows;
    for (const CountToken& token : tokens) {
        if (const auto row = player.play(token)) {
            rows.push_back(*row);
        }
    }
    return rows;
}

} // namespace twinstep::timer
