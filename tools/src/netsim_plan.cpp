// SPDX-License-Identifier: MIT
// Draws matches from seeds; spells faults.
#include "netsim_plan.hpp"

#include "parsed_number.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace twinstep::tools::netsim {

namespace {

using net::Micros;
using net::milliseconds;

constexpr std::array<std::string_view, fault_kinds> kind_names{
    "delay",   "jitter",     "loss",   "burst",   "duplicate", "reorder", "rate",  "mtu",
    "corrupt", "cut",        "rebind", "freeze",  "jump",      "crash",   "leave", "late",
    "lie",     "equivocate", "flood",  "garbage", "future",    "silence"};

/// Streams of the plan's draws; a peer's own begin at peer_stream.
constexpr std::uint32_t match_stream = 1;
constexpr std::uint32_t faults_stream = 2;
constexpr std::uint32_t peer_stream = 1'000;

Error bad_faults(std::string_view part) {
    return Error(SimErrc::bad_setup,
                 "--faults",
                 "\"" + std::string(part) +
                     "\": use kinds, all, none, or faults such as burst/3/1200/5000/150");
}

/// Most of a link fault's length and amount, and the least amount.
struct Range {
    std::uint32_t length_ms;
    std::uint32_t amount_min;
    std::uint32_t amount_max;
};

Range range_of(FaultKind kind) {
    switch (kind) {
    case FaultKind::delay:
        return {8'000, 20, 400};
    case FaultKind::jitter:
        return {8'000, 5, 150};
    case FaultKind::loss:
        return {10'000, 10, 500};
    case FaultKind::burst:
        return {10'000, 10, 400};
    case FaultKind::duplicate:
    case FaultKind::reorder:
        return {10'000, 10, 500};
    case FaultKind::rate:
        return {6'000, 4, 64};
    case FaultKind::mtu:
        return {6'000, 100, 1'227};
    case FaultKind::corrupt:
        return {8'000, 5, 300};
    case FaultKind::cut:
        return {13'000, 0, 2};
    case FaultKind::freeze:
        return {6'000, 0, 0};
    case FaultKind::jump:
        return {0, 10, 30'000};
    case FaultKind::crash:
        return {8'000, 0, 2};
    case FaultKind::leave:
        return {8'000, 1, 2};
    case FaultKind::flood:
        return {8'000, 200, 5'000};
    case FaultKind::equivocate:
    case FaultKind::garbage:
    case FaultKind::future:
    case FaultKind::silence:
        return {8'000, 0, 0};
    case FaultKind::rebind:
    case FaultKind::late:
    case FaultKind::lie:
    case FaultKind::count_:
        break;
    }
    return {0, 0, 0};
}

Fault draw_fault(Random& random,
                 const std::vector<FaultKind>& kinds,
                 const Plan& plan,
                 std::uint32_t window_ms,
                 std::uint16_t& rogues) {
    Fault fault;
    fault.kind = kinds[random.below(static_cast<std::uint32_t>(kinds.size()))];
    const Range range = range_of(fault.kind);
    // Reduced to the peers there are, so that the draws do not depend on their number.
    const std::uint32_t whom = random.below(5'040);
    const std::uint32_t all = static_cast<std::uint32_t>(plan.peers) + plan.spectators;
    fault.peer = static_cast<std::uint16_t>(1 + whom % all);
    const std::uint32_t at = random.below(window_ms);
    const std::uint32_t length = range.length_ms == 0 ? 0 : 200 + random.below(range.length_ms);
    fault.amount = range.amount_min + random.below(range.amount_max - range.amount_min + 1);
    fault.at = milliseconds(at);
    fault.length = milliseconds(std::min(length, window_ms - at));
    const bool of_server = fault.kind == FaultKind::freeze && random.below(6) == 0;
    if (of_server) {
        fault.peer = 0;
        fault.length = std::min(fault.length, milliseconds(1'200));
    }
    if (is_rogue(fault.kind)) {
        fault.peer = ++rogues;
    }
    if (fault.kind == FaultKind::lie || fault.kind == FaultKind::late) {
        // Spectators do not vote, and the match begins with one player at least.
        fault.peer = static_cast<std::uint16_t>(fault.kind == FaultKind::late
                                                    ? 2 + whom % std::max<std::uint32_t>(1, all - 1)
                                                    : 1 + whom % plan.peers);
    }
    return fault;
}

/// A match ends when everybody has said goodbye. So somebody is there from the start and never
/// does: if nobody else, the first peer, who crashes instead of leaving.
void keep_somebody(Plan& plan) {
    std::vector<bool> stays(plan.peers, true);
    for (const Fault& fault : plan.faults) {
        const bool away = fault.kind == FaultKind::leave || fault.kind == FaultKind::late;
        if (away && fault.peer >= 1 && fault.peer <= plan.peers) {
            stays[fault.peer - 1U] = false;
        }
    }
    if (std::find(stays.begin(), stays.end(), true) != stays.end()) {
        return;
    }
    for (Fault& fault : plan.faults) {
        if (fault.kind == FaultKind::leave && fault.peer == 1) {
            fault.kind = FaultKind::crash;
            fault.amount = 1;
        }
    }
}

/// Peers that go away for good must leave somebody behind, and liars must stay few: a match in
/// which most lie has no truth to find.
void keep_it_fair(Plan& plan) {
    std::uint32_t gone = 0;
    std::uint32_t liars = 0;
    for (Fault& fault : plan.faults) {
        const bool leaves =
            (fault.kind == FaultKind::crash || fault.kind == FaultKind::leave) && fault.amount == 2;
        if (leaves && ++gone > plan.peers / 4U) {
            fault.amount = 1;
        }
        if (fault.kind == FaultKind::lie && ++liars > std::max(1U, (plan.peers - 1U) / 4U)) {
            fault.kind = FaultKind::duplicate;
            fault.length = net::seconds(1);
            fault.amount = 100;
        }
    }
}

/// Plain packets have no tag: nobody could tell a corrupted one from a good one.
void protect_if_corrupt(Plan& plan) {
    const bool corrupts =
        std::any_of(plan.faults.begin(), plan.faults.end(), [](const Fault& fault) {
            return fault.kind == FaultKind::corrupt;
        });
    if (corrupts && plan.mode == net::wire::Mode::plain) {
        plan.mode = net::wire::Mode::room_key;
    }
}

void apply(const Fault& fault, BaseLink& link) {
    const auto ppm = [&fault](std::uint32_t& share) {
        share = std::min(900'000U, share + fault.amount * 1'000);
    };
    for (const bool is_up : {true, false}) {
        net::LinkConditions& way = is_up ? link.up : link.down;
        switch (fault.kind) {
        case FaultKind::delay:
            way.delay = way.delay + milliseconds(fault.amount);
            break;
        case FaultKind::jitter:
            way.jitter = way.jitter + milliseconds(fault.amount);
            way.keeps_order = false;
            break;
        case FaultKind::loss:
            ppm(way.loss_ppm);
            break;
        case FaultKind::burst:
            ppm(way.burst_ppm);
            break;
        case FaultKind::duplicate:
            ppm(way.duplicate_ppm);
            break;
        case FaultKind::reorder:
            ppm(way.reorder_ppm);
            break;
        case FaultKind::rate:
            way.bytes_per_s = fault.amount * 1024;
            way.queue_bytes = 32 * 1024;
            break;
        case FaultKind::mtu:
            way.mtu_bytes = fault.amount;
            break;
        case FaultKind::corrupt:
            ppm(way.corrupt_ppm);
            break;
        case FaultKind::cut:
            way.cut = way.cut || fault.amount == 0 || (fault.amount == 1) == is_up;
            break;
        default:
            break;
        }
    }
}

} // namespace

std::string_view to_string(FaultKind kind) {
    return kind_names.at(static_cast<std::size_t>(kind));
}

std::string to_string(const Fault& fault) {
    return std::string(to_string(fault.kind)) + "/" + std::to_string(fault.peer) + "/" +
           std::to_string(fault.at.value / 1'000) + "/" +
           std::to_string(fault.length.value / 1'000) + "/" + std::to_string(fault.amount);
}

Result<Fault> parse_fault(std::string_view text) {
    std::array<std::uint32_t, 4> numbers{};
    std::size_t cut = text.find('/');
    const auto* const name = std::find(kind_names.begin(), kind_names.end(), text.substr(0, cut));
    if (name == kind_names.end()) {
        return fail(bad_faults(text));
    }
    for (std::uint32_t& number : numbers) {
        if (cut == std::string_view::npos) {
            return fail(bad_faults(text));
        }
        const std::size_t end = text.find('/', cut + 1);
        const std::string_view digits =
            text.substr(cut + 1, end == std::string_view::npos ? end : end - cut - 1);
        const auto read = parsed_number<std::uint32_t>(digits);
        if (!read) {
            return fail(bad_faults(text));
        }
        number = *read;
        cut = end;
    }
    const auto kind = static_cast<FaultKind>(name - kind_names.begin());
    if (cut != std::string_view::npos || numbers[0] > 1'000) {
        return fail(bad_faults(text));
    }
    return Fault{kind,
                 static_cast<std::uint16_t>(numbers[0]),
                 milliseconds(numbers[1]),
                 milliseconds(numbers[2]),
                 numbers[3]};
}

Result<void> parse_faults(std::string_view text, PlanOptions& options) {
    options.kinds.reset();
    options.has_faults = text == "none" || text.find('/') != std::string_view::npos;
    for (bool more = true; more;) {
        const std::size_t comma = text.find(',');
        const std::string_view part = text.substr(0, comma);
        more = comma != std::string_view::npos;
        text = more ? text.substr(comma + 1) : std::string_view{};
        if (options.has_faults && part != "none") {
            const Result<Fault> fault = parse_fault(part);
            if (!fault) {
                return fail(fault.error());
            }
            options.faults.push_back(*fault);
        } else if (part == "all") {
            options.kinds.set();
        } else if (part != "none") {
            const auto* const name = std::find(kind_names.begin(), kind_names.end(), part);
            if (name == kind_names.end()) {
                return fail(bad_faults(part));
            }
            options.kinds.set(static_cast<std::size_t>(name - kind_names.begin()));
        }
    }
    return {};
}

Plan make_plan(std::uint64_t seed, const SimulationInfo& info, const PlanOptions& options) {
    Random random(seed, Tick{}, match_stream);
    Plan plan;
    plan.seed = seed;
    const std::uint32_t most = std::clamp<std::uint32_t>(info.slots_max, 1, 16);
    const std::uint32_t peers = std::min(most, 2 + random.below(15));
    plan.peers = options.peers != 0 ? std::min(options.peers, info.slots_max)
                                    : static_cast<std::uint16_t>(peers);
    const std::uint32_t spectators = random.below(3);
    plan.spectators = static_cast<std::uint16_t>(
        options.spectators >= 0 ? static_cast<unsigned>(options.spectators) : spectators);
    plan.slots = std::clamp<std::uint16_t>(static_cast<std::uint16_t>(plan.peers + 2),
                                           info.slots_min,
                                           std::min<std::uint16_t>(info.slots_max, 64));
    plan.ticks = options.ticks != 0 ? options.ticks
                                    : std::uint64_t{60} * info.tick_rate.num / info.tick_rate.den;
    plan.policy = random.below(5) == 0 ? net::Policy::wait : net::Policy::deadline;
    plan.authority = random.below(3) == 0 ? net::Authority::relay : net::Authority::simulation;
    plan.filler = random.below(4) == 0 ? net::Filler::neutral : net::Filler::repeat_last;
    plan.grace = milliseconds(20 + random.below(80));
    constexpr std::array<std::uint8_t, 4> intervals{1, 4, 16, 64};
    plan.hash_interval_ticks = intervals[random.below(4)];
    plan.spectator_delay = net::seconds(random.below(4));
    const std::uint32_t mode = random.below(6);
    plan.mode = mode == 0   ? net::wire::Mode::plain
                : mode == 1 ? net::wire::Mode::token
                            : net::wire::Mode::room_key;
    plan.setup.seed = random.bits();
    plan.setup.slots = plan.slots;
    const std::uint32_t ballast = random.below(8) == 0 ? 16 + random.below(112) : 0;
    if (info.id == "tally" && ballast != 0) {
        plan.setup.config["ballast_kib"] = std::to_string(ballast);
    }
    if (options.has_faults) {
        plan.faults = options.faults;
        protect_if_corrupt(plan);
        return plan;
    }
    std::vector<FaultKind> kinds;
    for (std::size_t i = 0; i < fault_kinds; ++i) {
        if (options.kinds.test(i)) {
            kinds.push_back(static_cast<FaultKind>(i));
        }
    }
    Random chance(seed, Tick{}, faults_stream);
    const Micros window =
        std::max(tick_time(info.tick_rate, plan.ticks) - settle_time, net::seconds(2));
    const std::uint32_t count =
        kinds.empty() ? 0 : chance.below(5) + 1 + chance.below(plan.peers + 3U);
    std::uint16_t rogues = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        plan.faults.push_back(draw_fault(
            chance, kinds, plan, static_cast<std::uint32_t>(window.value / 1'000), rogues));
    }
    keep_somebody(plan);
    keep_it_fair(plan);
    protect_if_corrupt(plan);
    return plan;
}

BaseLink base_link(std::uint64_t seed, std::uint16_t peer) {
    Random random(seed, Tick{}, peer_stream + peer);
    BaseLink link;
    link.up.delay = Micros{1'000 + random.below(100'000)};
    link.up.jitter = Micros{random.below(10'000)};
    link.up.shape =
        random.below(2) == 0 ? net::JitterShape::uniform : net::JitterShape::half_normal;
    link.down = link.up;
    link.down.delay = Micros{1'000 + random.below(100'000)};
    return link;
}

BaseLink link_at(const Plan& plan, std::uint16_t peer, Micros at) {
    BaseLink link = base_link(plan.seed, peer);
    for (const Fault& fault : plan.faults) {
        if (!is_rogue(fault.kind) && fault.peer == peer && fault.at <= at &&
            at < fault.at + fault.length) {
            apply(fault, link);
        }
    }
    return link;
}

Micros Clock::true_time(Micros local_time) const {
    const Micros since = local_time - offset;
    Micros at{since.value - since.value * drift_ppm / 1'000'000};
    while (local(at) < local_time) {
        at = at + Micros{1};
    }
    return at;
}

Clock clock_of(std::uint64_t seed, std::uint16_t peer) {
    Random random(seed, Tick{1}, peer_stream + peer);
    Clock clock;
    clock.offset = Micros{static_cast<std::int64_t>(random.below(1U << 30U)) * 1'000};
    clock.drift_ppm = random.between(-300, 300);
    return clock;
}

Micros tick_time(TickRate rate, std::uint64_t tick) {
    return {static_cast<std::int64_t>(tick * rate.den * 1'000'000 / rate.num)};
}

} // namespace twinstep::tools::netsim
