// SPDX-License-Identifier: MIT
// Packets on virtual time: what a link does to them, and in which order they arrive.
#include "twinstep/net/simulated_network.hpp"

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/hash.hpp"

#include <algorithm>
#include <cstring>

namespace twinstep::net {

namespace {

constexpr std::uint32_t million = 1'000'000;
constexpr std::size_t nodes_max = 1'000;

/// True in `ppm` of a million cases.
bool chance(Random& random, std::uint32_t ppm) {
    return ppm != 0 && random.below(million) < ppm;
}

/// "1.234567"
std::string time_text(Micros at) {
    const std::int64_t whole = at.value / million;
    std::string fraction = std::to_string(at.value % million);
    fraction.insert(0, 6 - std::min<std::size_t>(6, fraction.size()), '0');
    return std::to_string(whole) + "." + fraction;
}

} // namespace

std::string_view to_string(Fate fate) {
    switch (fate) {
    case Fate::sent:
        return "sent";
    case Fate::delivered:
        return "delivered";
    case Fate::lost:
        return "lost";
    case Fate::burst_lost:
        return "burst_lost";
    case Fate::duplicated:
        return "duplicated";
    case Fate::reordered:
        return "reordered";
    case Fate::corrupted:
        return "corrupted";
    case Fate::queue_full:
        return "queue_full";
    case Fate::too_large:
        return "too_large";
    case Fate::cut:
        return "cut";
    case Fate::no_route:
        return "no_route";
    case Fate::overflow:
        return "overflow";
    case Fate::count_:
        break;
    }
    return "?";
}

void EventLog::add(Micros at, std::string_view text) {
    mix(static_cast<std::uint64_t>(at.value),
        text.size(),
        checksum64(std::as_bytes(std::span(text))));
    keep(at, text);
}

void EventLog::keep(Micros at, std::string_view text) {
    if (lines_.size() < lines_max_) {
        lines_.push_back(time_text(at) + " " + std::string(text));
    } else if (keeps_lines()) {
        ++lines_dropped_;
    }
}

void EventLog::mix(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    const std::array<std::uint64_t, 4> words{detail::little_endian(digest_),
                                             detail::little_endian(a),
                                             detail::little_endian(b),
                                             detail::little_endian(c)};
    digest_ = checksum64(std::as_bytes(std::span(words)));
    ++events_;
}

SimulatedNetwork::SimulatedNetwork(SimulatedNetworkSettings settings)
    : settings_(settings)
    , log_(settings.log_lines_max) {}

NodeIndex SimulatedNetwork::add_node(const Address& address) {
    TWINSTEP_ASSERT(nodes_.size() < nodes_max);
    const auto index = static_cast<NodeIndex>(nodes_.size());
    const bool added = by_address_.emplace(address, index).second;
    TWINSTEP_ASSERT(added);
    nodes_.push_back({address, {}});
    for (Node& node : nodes_) {
        node.flows.resize(nodes_.size());
    }
    return index;
}

void SimulatedNetwork::set_conditions(NodeIndex from,
                                      NodeIndex to,
                                      const LinkConditions& conditions) {
    TWINSTEP_ASSERT(from < nodes_.size());
    TWINSTEP_ASSERT(to < nodes_.size());
    TWINSTEP_ASSERT(conditions.burst_ppm < million);
    TWINSTEP_ASSERT(conditions.burst_packets >= 1);
    TWINSTEP_ASSERT(conditions.delay >= Micros{});
    TWINSTEP_ASSERT(conditions.jitter >= Micros{});
    Flow& flow = nodes_[from].flows[to];
    flow.conditions = conditions;
    flow.in_burst = flow.in_burst && conditions.burst_ppm != 0;
}

const LinkConditions& SimulatedNetwork::conditions(NodeIndex from, NodeIndex to) const {
    return nodes_.at(from).flows.at(to).conditions;
}

const Address& SimulatedNetwork::address_of(NodeIndex node) const {
    return nodes_.at(node).address;
}

void SimulatedNetwork::rebind(Micros now, NodeIndex node) {
    Address& address = nodes_.at(node).address;
    by_address_.erase(address);
    do {
        // Ports below 1,024 are never given out by a translator.
        address.port =
            address.port == UINT16_MAX ? 1'024 : static_cast<std::uint16_t>(address.port + 1);
    } while (!by_address_.emplace(address, node).second);
    log_.add(now, "rebind node " + std::to_string(node) + " to " + to_string(address));
}

bool SimulatedNetwork::later(const Arrival& a, const Arrival& b) {
    return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
}

Random SimulatedNetwork::draws_of(const Flow& flow, NodeIndex from, NodeIndex to) const {
    return {settings_.seed,
            Tick{flow.packets},
            static_cast<std::uint32_t>(from) << 16U | static_cast<std::uint32_t>(to)};
}

Micros SimulatedNetwork::jitter_of(const LinkConditions& conditions, Random& random) {
    if (conditions.jitter.value == 0) {
        return {};
    }
    if (conditions.shape == JitterShape::uniform) {
        const auto bound = static_cast<std::uint64_t>(conditions.jitter.value) + 1;
        return {static_cast<std::int64_t>(
            random.below(static_cast<std::uint32_t>(std::min<std::uint64_t>(bound, UINT32_MAX))))};
    }
    // Twelve uniform numbers of 16 bits have a sum with a standard deviation of 2^16, about normal.
    std::int64_t sum = -12 * 32'768;
    for (int i = 0; i < 3; ++i) {
        const std::uint64_t bits = random.bits();
        for (unsigned shift = 0; shift < 64; shift += 16) {
            sum += static_cast<std::int64_t>(bits >> shift & 0xFFFFU);
        }
    }
    return {(sum < 0 ? -sum : sum) * conditions.jitter.value / 65'536};
}

bool SimulatedNetwork::step_burst(Flow& flow, Random& random) {
    const LinkConditions& conditions = flow.conditions;
    if (conditions.burst_ppm == 0) {
        return false;
    }
    // A burst ends with probability 1 / mean; it begins so often that the share of time within
    // bursts, enter / (enter + leave), is the share that is to be lost.
    const std::uint64_t leave_ppb = 1'000'000'000U / conditions.burst_packets;
    const std::uint64_t enter_ppb =
        leave_ppb * conditions.burst_ppm / (million - conditions.burst_ppm);
    const std::uint32_t draw = random.below(1'000'000'000);
    flow.in_burst = flow.in_burst ? draw >= leave_ppb : draw < enter_ppb;
    return flow.in_burst;
}

Fate SimulatedNetwork::accept(
    Micros now, Flow& flow, std::size_t size, Random& random, Micros& departure) {
    const LinkConditions& link = flow.conditions;
    const std::uint64_t cost = size + link_header_bytes;
    departure = now;
    // The burst goes on whatever else happens to the packet.
    const bool in_burst = step_burst(flow, random);
    if (link.cut) {
        return Fate::cut;
    }
    if (link.mtu_bytes != 0 && cost > link.mtu_bytes) {
        return Fate::too_large;
    }
    if (link.bytes_per_s != 0) {
        const Micros start = std::max(now, flow.busy_until);
        const std::uint64_t queued =
            static_cast<std::uint64_t>((start - now).value) * link.bytes_per_s / million;
        if (queued + cost > link.queue_bytes) {
            return Fate::queue_full;
        }
        departure = start + Micros{static_cast<std::int64_t>(cost * million / link.bytes_per_s)};
        flow.busy_until = departure;
    }
    if (in_burst) {
        return Fate::burst_lost;
    }
    return chance(random, link.loss_ppm) ? Fate::lost : Fate::delivered;
}

void SimulatedNetwork::launch(
    Flow& flow, NodeIndex from, NodeIndex to, Micros departure, ByteView bytes, Random& random) {
    const LinkConditions& link = flow.conditions;
    Micros at = departure + link.delay + jitter_of(link, random);
    if (chance(random, link.reorder_ppm)) {
        at = at + link.reorder_by;
        record(departure, Fate::reordered, from, to, bytes);
    } else if (link.keeps_order) {
        at = std::max(at, flow.last_arrival);
        flow.last_arrival = at;
    }
    if (heap_.size() >= settings_.packets_max) {
        record(departure, Fate::overflow, from, to, bytes);
        return;
    }
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(packets_.size()));
        packets_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Packet& packet = packets_[index];
    packet.bytes.assign(bytes.begin(), bytes.end());
    packet.source = nodes_[from].address;
    packet.from = from;
    packet.to = to;
    if (!bytes.empty() && chance(random, link.corrupt_ppm)) {
        const std::uint32_t changes = 1 + random.below(3);
        for (std::uint32_t i = 0; i < changes; ++i) {
            const std::uint32_t place = random.below(static_cast<std::uint32_t>(bytes.size()));
            packet.bytes[place] ^= static_cast<std::byte>(1 + random.below(255));
        }
        record(departure, Fate::corrupted, from, to, packet.bytes);
    }
    heap_.push_back({at, sequence_++, index});
    std::push_heap(heap_.begin(), heap_.end(), later);
}

void SimulatedNetwork::send(Micros now, NodeIndex from, const Address& to, ByteView bytes) {
    TWINSTEP_ASSERT(from < nodes_.size());
    const auto target = by_address_.find(to);
    if (target == by_address_.end()) {
        record(now, Fate::sent, from, from, bytes);
        record(now, Fate::no_route, from, from, bytes);
        return;
    }
    const NodeIndex receiver = target->second;
    Flow& flow = nodes_[from].flows[receiver];
    Random random = draws_of(flow, from, receiver);
    ++flow.packets;
    record(now, Fate::sent, from, receiver, bytes);
    Micros departure;
    const Fate fate = accept(now, flow, bytes.size(), random, departure);
    if (fate != Fate::delivered) {
        record(now, fate, from, receiver, bytes);
        return;
    }
    const bool twice = chance(random, flow.conditions.duplicate_ppm);
    launch(flow, from, receiver, departure, bytes, random);
    if (twice) {
        record(now, Fate::duplicated, from, receiver, bytes);
        launch(flow, from, receiver, departure, bytes, random);
    }
}

Micros SimulatedNetwork::next_arrival() const {
    return heap_.empty() ? never : heap_.front().at;
}

bool SimulatedNetwork::take(Micros until, Delivery& delivery) {
    if (given_out_ != UINT32_MAX) {
        free_.push_back(given_out_);
        given_out_ = UINT32_MAX;
    }
    if (heap_.empty() || heap_.front().at > until) {
        return false;
    }
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Arrival arrival = heap_.back();
    heap_.pop_back();
    given_out_ = arrival.packet;
    const Packet& packet = packets_[arrival.packet];
    delivery = {arrival.at, packet.from, packet.to, packet.source, packet.bytes};
    record(arrival.at, Fate::delivered, packet.from, packet.to, packet.bytes);
    return true;
}

void SimulatedNetwork::record(Micros at, Fate fate, NodeIndex from, NodeIndex to, ByteView bytes) {
    ++counts_[static_cast<std::size_t>(fate)];
    if (fate == Fate::sent) {
        return;
    }
    log_.mix(static_cast<std::uint64_t>(at.value),
             static_cast<std::uint64_t>(fate) << 32U | static_cast<std::uint64_t>(from) << 16U |
                 static_cast<std::uint64_t>(to),
             checksum64(bytes));
    if (fate != Fate::delivered && log_.keeps_lines()) {
        log_.keep(at,
                  std::string(to_string(fate)) + " " + std::to_string(from) + " to " +
                      std::to_string(to) + ", " + std::to_string(bytes.size()) + " bytes");
    }
}

std::size_t SimulatedNetwork::memory_bytes() const {
    std::size_t bytes = packets_.capacity() * sizeof(Packet) + heap_.capacity() * sizeof(Arrival) +
                        free_.capacity() * sizeof(std::uint32_t);
    for (const Packet& packet : packets_) {
        bytes += packet.bytes.capacity();
    }
    return bytes + nodes_.size() * (sizeof(Node) + nodes_.size() * sizeof(Flow));
}

void SeededEntropy::fill(std::span<std::byte> target) {
    for (std::size_t i = 0; i < target.size(); i += 8) {
        const std::uint64_t bits = detail::little_endian(random_.bits());
        std::memcpy(target.data() + i, &bits, std::min<std::size_t>(8, target.size() - i));
    }
}

} // namespace twinstep::net
