// SPDX-License-Identifier: MIT
// A network on virtual time: every fault a real one has, from a seed, the same on every run.
#pragma once

#include "twinstep/net/types.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/random.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::net {

/// How jitter is distributed.
enum class JitterShape : std::uint8_t {
    uniform,     ///< From nothing to `jitter`.
    half_normal, ///< The size of a normal deviate with standard deviation `jitter`, at most 6 of
                 ///< it.
};

/// What one direction of the way between two nodes does to packets. Shares are in parts per
/// million.
struct LinkConditions {
    Micros delay = {};
    Micros jitter = {}; ///< On top of the delay.
    JitterShape shape = JitterShape::uniform;
    bool keeps_order = true;     ///< Jitter never lets a packet overtake another one.
    std::uint32_t loss_ppm = 0;  ///< Each packet for itself.
    std::uint32_t burst_ppm = 0; ///< Share of packets that is lost in bursts; below 1,000,000.
    std::uint32_t burst_packets =
        4; ///< Mean length of a burst, in packets of this flow; at least 1.
    std::uint32_t duplicate_ppm = 0;
    std::uint32_t reorder_ppm = 0; ///< Held back by `reorder_by`, so that later ones overtake.
    Micros reorder_by = milliseconds(30);
    std::uint32_t corrupt_ppm = 0;         ///< One to three bytes changed.
    std::uint32_t bytes_per_s = 0;         ///< Headers included; 0: no limit.
    std::uint32_t queue_bytes = 64 * 1024; ///< What waits for the limited link; more is dropped.
    std::uint32_t mtu_bytes = 0;           ///< Headers included; larger is dropped. 0: no limit.
    bool cut = false;                      ///< Nothing passes.
};

/// Bytes of IPv4 and UDP header that each datagram costs on a link.
inline constexpr std::uint32_t link_header_bytes = 28;

/// What became of a packet. One packet may count twice, as duplicated and delivered.
enum class Fate : std::uint8_t {
    sent,
    delivered,
    lost,
    burst_lost,
    duplicated,
    reordered,
    corrupted,
    queue_full,
    too_large,
    cut,
    no_route, ///< Nobody has this address (any more).
    overflow, ///< More packets under way than the network holds.
    count_
};

std::string_view to_string(Fate fate);

/// What happened, as lines for people and as a digest that is equal on every run with the same
/// seed. Lines are kept only if asked for; the digest covers every event in any case.
class EventLog {
public:
    explicit EventLog(std::size_t lines_max = 0)
        : lines_max_(lines_max) {}

    /// An event as a line; "1.234567 " is put in front of it.
    void add(Micros at, std::string_view text);
    /// A line about an event whose numbers were mixed in.
    void keep(Micros at, std::string_view text);
    /// Adds an event's numbers to the digest.
    void mix(std::uint64_t a, std::uint64_t b, std::uint64_t c);

    bool keeps_lines() const { return lines_max_ != 0; }

    std::uint64_t digest() const { return digest_; }

    std::uint64_t events() const { return events_; }

    const std::vector<std::string>& lines() const { return lines_; }

    /// Lines that were not kept, because lines_max were.
    std::uint64_t lines_dropped() const { return lines_dropped_; }

private:
    std::size_t lines_max_ = 0;
    std::vector<std::string> lines_;
    std::uint64_t lines_dropped_ = 0;
    std::uint64_t digest_ = 0;
    std::uint64_t events_ = 0;
};

/// Names a node of a simulated network, in the order in which they were added.
using NodeIndex = std::uint16_t;

/// What is decided when a network is made.
struct SimulatedNetworkSettings {
    std::uint64_t seed = 1;
    std::uint32_t packets_max = 1U << 16U; ///< Under way at once.
    std::size_t log_lines_max = 0;
};

/// A packet that arrives.
struct Delivery {
    Micros at;
    NodeIndex from = 0;
    NodeIndex to = 0;
    Address source; ///< As the receiver sees it.
    ByteView bytes; ///< Valid until the next call of the network.
};

/// Nodes that send each other datagrams on virtual time. Everything is decided by the seed and the
/// calls: each packet draws from a stream of its own (flow, number of the packet), so a packet more
/// or less in one place changes nobody else's luck. A flow is one direction between two nodes;
/// burst loss, queue and order belong to the flow and not to a link that flows share, because a
/// burst that is spread over several flows is none for any of them. Integers only. Memory is
/// bounded by packets_max. Thread: one owner. Determinism: pure. Source: Gilbert, "Capacity of a
/// burst-noise channel", Bell System Technical Journal 39, 1960.
class SimulatedNetwork {
public:
    explicit SimulatedNetwork(SimulatedNetworkSettings settings);

    /// Adds a node. Requires an address that no node has, and at most 1,000 nodes.
    NodeIndex add_node(const Address& address);

    /// Requires nodes that exist and conditions in range.
    void set_conditions(NodeIndex from, NodeIndex to, const LinkConditions& conditions);
    const LinkConditions& conditions(NodeIndex from, NodeIndex to) const;

    /// The address under which others see the node now.
    const Address& address_of(NodeIndex node) const;
    /// The translator in front of the node forgets it: from now on it is seen under another port,
    /// and what is sent to the old one is lost.
    void rebind(Micros now, NodeIndex node);

    /// Sends a datagram. `now` never goes back.
    void send(Micros now, NodeIndex from, const Address& to, ByteView bytes);

    /// When the next packet arrives; `never` if none is under way.
    Micros next_arrival() const;
    /// Takes the next packet that arrives at `until` or before; false if there is none. Packets
    /// that arrive at the same time come in the order in which they were sent.
    bool take(Micros until, Delivery& delivery);

    std::uint64_t count(Fate fate) const { return counts_[static_cast<std::size_t>(fate)]; }

    EventLog& log() { return log_; }

    const EventLog& log() const { return log_; }

    /// Bytes held for packets, flows and the heap.
    std::size_t memory_bytes() const;

private:
    struct Flow {
        LinkConditions conditions;
        std::uint64_t packets = 0; ///< Number of the next packet.
        bool in_burst = false;
        Micros busy_until; ///< The limited link is sending what was queued before.
        Micros last_arrival;
    };

    struct Node {
        Address address;
        std::vector<Flow> flows; ///< By receiver.
    };

    struct Packet {
        Bytes bytes;
        Address source;
        NodeIndex from = 0;
        NodeIndex to = 0;
    };

    struct Arrival {
        Micros at;
        std::uint64_t sequence = 0;
        std::uint32_t packet = 0;
    };

    static bool later(const Arrival& a, const Arrival& b);
    static Micros jitter_of(const LinkConditions& conditions, Random& random);
    static bool step_burst(Flow& flow, Random& random);

    Random draws_of(const Flow& flow, NodeIndex from, NodeIndex to) const;
    Fate accept(Micros now, Flow& flow, std::size_t size, Random& random, Micros& departure);
    void launch(Flow& flow, NodeIndex from, NodeIndex to, Micros departure, ByteView, Random&);
    void record(Micros at, Fate fate, NodeIndex from, NodeIndex to, ByteView bytes);

    SimulatedNetworkSettings settings_;
    std::vector<Node> nodes_;
    std::map<Address, NodeIndex> by_address_;
    std::vector<Packet> packets_;
    std::vector<std::uint32_t> free_;
    std::vector<Arrival> heap_;
    std::uint64_t sequence_ = 0;
    std::uint32_t given_out_ = UINT32_MAX; ///< The packet of the last Delivery.
    std::array<std::uint64_t, static_cast<std::size_t>(Fate::count_)> counts_{};
    EventLog log_;
};

/// A node's way into a simulated network.
class SimulatedOutbox final : public Outbox {
public:
    SimulatedOutbox(SimulatedNetwork& network, NodeIndex node)
        : network_(network)
        , node_(node) {}

    /// Virtual time of what is sent from now on.
    void set_now(Micros now) { now_ = now; }

    void send(const Address& to, ByteView datagram) override {
        network_.send(now_, node_, to, datagram);
    }

private:
    SimulatedNetwork& network_;
    NodeIndex node_;
    Micros now_;
};

/// Secrets that anybody can guess who knows the seed: for simulated networks and tests only.
class SeededEntropy final : public Entropy {
public:
    explicit SeededEntropy(std::uint64_t seed, std::uint32_t stream = 0)
        : random_(seed, Tick{0x656E74726F7079}, stream) {}

    void fill(std::span<std::byte> target) override;

private:
    Random random_;
};

} // namespace twinstep::net
