// SPDX-License-Identifier: MIT
// A match and peers that speak its frames directly: no keys, no network, a clock that tests turn.
#pragma once

#include "twinstep/net/blob.hpp"
#include "twinstep/net/identity.hpp"
#include "twinstep/net/match.hpp"
#include "twinstep/net/wire.hpp"
#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace twinstep::net::match_test {

/// Bytes that a counter makes: tests need no secrets.
class CountingEntropy final : public Entropy {
public:
    void fill(std::span<std::byte> target) override {
        for (std::byte& byte : target) {
            byte = static_cast<std::byte>(next_++ * 37U >> 3U);
        }
    }

private:
    std::uint32_t next_ = 1;
};

/// Keeps what a match says.
class Journal final : public MatchEvents {
public:
    void on_closed(MatchId, Tick tick, ByteView frame, Micros late) override {
        if (keep) {
            CHECK(tick.value == first_tick.value_or(tick.value) + frames.size());
            first_tick = first_tick.value_or(tick.value);
            frames.emplace_back(frame.begin(), frame.end());
            lates.push_back(late);
        }
        last_closed = tick.value;
        ++closed;
    }

    void on_snapshot_wanted(MatchId, Tick tick) override { snapshots_wanted.push_back(tick.value); }

    void on_player(MatchId, Slot slot, PlayerState state, Tick tick) override {
        if (keep) {
            players.push_back(std::to_string(slot.value) + ":" + std::string(to_string(state)) +
                              "@" + std::to_string(tick.value));
        }
    }

    void on_verdict(MatchId, const wire::Verdict& verdict) override {
        verdicts.push_back({verdict, std::string(verdict.section)});
    }

    void on_manifest(MatchId, const Manifest& manifest) override { manifests.push_back(manifest); }

    void on_note(MatchId, std::string_view event, std::string_view details) override {
        if (keep) {
            notes.push_back(std::string(event) + " " + std::string(details));
        }
    }

    struct Said {
        wire::Verdict verdict;
        std::string section;
    };

    bool keep = true;
    std::optional<std::uint64_t> first_tick;
    std::uint64_t last_closed = 0;
    std::uint64_t closed = 0;
    std::vector<Bytes> frames;
    std::vector<Micros> lates;
    std::vector<std::uint64_t> snapshots_wanted;
    std::vector<std::string> players;
    std::vector<Said> verdicts;
    std::vector<Manifest> manifests;
    std::vector<std::string> notes;
};

/// The states of a pretended game: state T + 1 is a hash of state T and frame T; two sections.
class States {
public:
    States() { states_.push_back(make(Tick{0}, {1, 2}, 0)); }

    /// Section "b" is wrong from this state on.
    std::uint64_t fault = UINT64_MAX;

    void step(ByteView frame) {
        const std::uint64_t tick = first_ + states_.size();
        const StateHashes& last = states_.back();
        Bytes bytes;
        ByteWriter writer(bytes);
        writer.u64(last.sections[0].hash.low);
        writer.bytes(frame);
        const Hash128 core = hash_bytes("test.core", Tick{tick}, {}, bytes);
        states_.push_back(make(Tick{tick}, core, tick >= fault ? 1 : 0));
        chains_.push_back(next_chain(chains_.back(), Tick{tick}, states_.back().state));
    }

    void begin(std::uint64_t tick, const StateHashes& state, std::uint64_t chain) {
        first_ = tick;
        states_.assign(1, state);
        chains_.assign(1, chain);
    }

    std::uint64_t tick() const { return first_ + states_.size() - 1; }

    bool has(std::uint64_t tick) const { return tick >= first_ && tick <= this->tick(); }

    const StateHashes& at(std::uint64_t tick) const { return states_[tick - first_]; }

    std::uint64_t chain(std::uint64_t tick) const { return chains_[tick - first_]; }

private:
    static StateHashes make(Tick tick, Hash128 core, std::uint64_t wrong) {
        StateHashes hashes;
        hashes.tick = tick;
        hashes.sections = {{"a", core}, {"b", {core.low ^ wrong, core.high}}};
        hashes.state = combine_sections(tick, hashes.sections);
        return hashes;
    }

    std::uint64_t first_ = 0;
    std::vector<StateHashes> states_;
    std::vector<std::uint64_t> chains_{0};
};

/// What a peer's program is made of: ids of the session, as a manifest.
inline Manifest test_manifest(std::uint16_t slots, TickRate rate = TickRate{50}) {
    SimulationInfo info;
    info.id = "pretended";
    info.tick_rate = rate;
    info.slots_max = 64;
    info.input_schema = "i";
    info.state_schema = "s";
    Setup setup;
    setup.slots = slots;
    return make_manifest(info, setup);
}

class Bed;

/// A client that does what docs/lockstep-states.md asks of one, and may be told not to.
class TestPeer {
public:
    TestPeer(Bed& bed, std::string name, Role role = Role::player)
        : bed_(bed)
        , name_(std::move(name))
        , role_(role) {}

    bool connect(std::optional<wire::Random16> ticket = {}, bool confirm = true);
    void drop(CloseReason reason = CloseReason::timed_out);
    /// Takes everything the match has for it.
    void pull();
    /// Sends what a client sends once a tick.
    void talk();
    void send(const wire::Frame& frame);
    void send_bytes(const Bytes& plaintext);
    void request(wire::RequestKind kind, std::uint32_t value = 0);

    /// The events in the ticks it has, as "tick kind slot payload".
    std::vector<std::string> events() const;

    Bed& bed_;
    std::string name_;
    Role role_;
    PeerIndex index = 0;
    bool connected = false;
    bool closed = false;
    CloseReason reason = CloseReason::none;
    Admitted admitted;
    wire::AcceptPayload accept;
    Hash128 build;
    bool has_build = false;
    std::uint64_t player_id = 0;

    bool talks = true; ///< Sends at all.
    bool hears = true; ///< Packets arrive at all.
    bool gives_inputs = true;
    bool reports = true;
    bool answers = true;
    bool tells_progress = true;
    Micros up_delay;                         ///< Its inputs take that long.
    bool loads = true;                       ///< Says that it stands once the manifest is there.
    std::map<std::uint64_t, Hash128> spoken; ///< Answers instead of the pretended game's.
    std::uint64_t resume = 0;                ///< State kept from an earlier connection.
    std::uint64_t delay = 3;

    bool has_manifest = false;
    std::uint64_t base = 0; ///< First tick of `frames`.
    std::vector<Bytes> frames;
    States states;
    std::uint64_t input_ack = 0;
    std::int32_t margin = 0;
    bool has_agreed = false;
    std::uint32_t agreed = 0;
    std::uint64_t agreed_tick = 0;
    std::uint64_t next_input = 0;
    std::map<std::uint64_t, Bytes> inputs;
    std::vector<wire::Stall> stalls;
    std::vector<std::string> verdicts;
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::size_t largest = 0;
    std::optional<std::uint64_t> snapshot_query;
    Bytes manifest_to_give;
    BlobReceiver receiver;
    BlobSender sender;
    bool wants_snapshot = false;
    std::optional<std::uint64_t> snapshot_tick;
    bool playing_seen = false;

    std::uint64_t need() const { return base + frames.size(); }

    std::uint64_t edge_seen = 0;
    std::vector<std::pair<Micros, Bytes>> on_the_way;
    void deliver();

private:
    void take(const wire::Frame& frame);
    void take_ticks(ByteView body);
    void take_blob(const wire::Frame& frame);
    void answer(const wire::Frame& frame);
};

/// Match, journal, peers and time.
class Bed {
public:
    static MatchSettings defaults(std::uint16_t slots = 2) {
        MatchSettings settings;
        settings.slots = slots;
        settings.start_players = slots;
        settings.tick_rate = TickRate{50};
        settings.input_bytes_max = 8;
        settings.manifest = test_manifest(slots);
        settings.neutral = Bytes(2);
        settings.hash_interval_ticks = 4;
        return settings;
    }

    explicit Bed(MatchSettings settings = defaults())
        : match(std::move(*Match::create(std::move(settings), journal, entropy))) {}

    TestPeer& add(std::string name, Role role = Role::player) {
        peers.push_back(std::make_unique<TestPeer>(*this, std::move(name), role));
        return *peers.back();
    }

    /// Connects `count` players and lets them load.
    void fill(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            REQUIRE(add("p" + std::to_string(i)).connect());
        }
    }

    /// Time goes on; peers talk once every 20 ms.
    void run(Micros span) {
        const Micros end = now + span;
        while (now < end) {
            now = now + milliseconds(1);
            turn();
            if (now.value % 20'000 == 0) {
                for (auto& peer : peers) {
                    peer->talk();
                }
                turn();
            }
        }
    }

    void turn() {
        for (auto& peer : peers) {
            peer->deliver();
        }
        match.advance(now);
        if (simulate) {
            while (server.tick() < journal.frames.size()) {
                match.give_hashes(server.at(server.tick()));
                server.step(journal.frames[server.tick()]);
            }
        }
        for (auto& peer : peers) {
            peer->pull();
        }
        PeerIndex index = 0;
        CloseReason reason{};
        std::string text;
        while (match.next_to_close(index, reason, text)) {
            for (auto& peer : peers) {
                if (peer->connected && peer->index == index) {
                    peer->reason = reason;
                    peer->closed = true;
                    peer->connected = false;
                }
            }
            match.disconnected(now, index, reason);
        }
    }

    Journal journal;
    CountingEntropy entropy;
    Match match;
    Micros now = seconds(100);
    bool simulate = false;
    States server;
    std::vector<std::unique_ptr<TestPeer>> peers;
};

inline bool TestPeer::connect(std::optional<wire::Random16> ticket, bool confirm) {
    Admission admission;
    admission.role = role_;
    admission.build = has_build ? build : digest_of_build(bed_.match.settings().manifest);
    admission.name = name_;
    admission.player_id = player_id;
    if (ticket) {
        admission.has_ticket = true;
        admission.ticket = *ticket;
    }
    const auto in = bed_.match.admit(bed_.now, admission);
    if (!in) {
        reason = in.error();
        return false;
    }
    admitted = *in;
    index = admitted.peer;
    accept = bed_.match.accept_payload(admitted);
    closed = false;
    has_manifest = false;
    input_ack = 0;
    next_input = 0;
    inputs.clear();
    receiver = {};
    receiver.expect(wire::BlobKind::manifest, wire::manifest_bytes_max, 1U << 20U);
    if (resume == 0) {
        frames.clear();
        states = {};
        base = 0;
    }
    wants_snapshot = accept.next_tick != 0 && resume == 0;
    snapshot_tick.reset();
    if (confirm) {
        bed_.match.connected(bed_.now, index);
        connected = true;
    }
    return true;
}

inline void TestPeer::drop(CloseReason why) {
    connected = false;
    bed_.match.disconnected(bed_.now, index, why);
}

inline void TestPeer::pull() {
    Bytes plaintext;
    while (connected && bed_.match.compose(bed_.now, index, plaintext)) {
        ++packets;
        bytes += plaintext.size();
        largest = std::max(largest, plaintext.size());
        CHECK(plaintext.size() <= wire::plaintext_bytes_max);
        if (!hears) {
            continue;
        }
        wire::FrameReader reader(plaintext);
        wire::Frame frame;
        for (;;) {
            const auto more = reader.next(frame);
            REQUIRE(more.has_value());
            if (!*more) {
                break;
            }
            take(frame);
        }
    }
}

inline void TestPeer::take(const wire::Frame& frame) {
    switch (frame.type) {
    case wire::FrameType::ticks:
        take_ticks(frame.body);
        break;
    case wire::FrameType::stall:
        stalls.push_back(*wire::decode_stall(frame.body));
        break;
    case wire::FrameType::verdict: {
        const auto verdict = *wire::decode_verdict(frame.body);
        const std::string text = std::to_string(verdict.tick) + " " +
                                 (verdict.has_slot ? std::to_string(verdict.slot.value) : "-") +
                                 " " + std::string(verdict.section);
        if (verdicts.empty() || verdicts.back() != text) {
            verdicts.push_back(text);
        }
        break;
    }
    case wire::FrameType::snapshot_query:
        snapshot_query = *wire::decode_tick_query(frame.body);
        break;
    case wire::FrameType::hash_query:
    case wire::FrameType::section_query:
        answer(frame);
        break;
    default:
        take_blob(frame);
    }
}

inline void TestPeer::take_ticks(ByteView body) {
    const auto ticks = wire::decode_ticks(body);
    REQUIRE(ticks.has_value());
    input_ack = ticks->input_ack;
    margin = ticks->margin_ms;
    if (ticks->has_hash) {
        has_agreed = true;
        agreed = ticks->hash;
        agreed_tick = ticks->hash_tick;
    }
    edge_seen = std::max(edge_seen, ticks->first_tick + ticks->count);
    // No tick is ever seen before it is closed.
    CHECK(ticks->first_tick + ticks->count <= bed_.match.next_tick().value);
    if (ticks->count == 0 || ticks->first_tick > need()) {
        return;
    }
    wire::BundleReader reader(bed_.match.settings().slots);
    REQUIRE(reader.decode(*ticks, bed_.match.settings().neutral).has_value());
    for (std::size_t i = 0; i < ticks->count; ++i) {
        if (ticks->first_tick + i == need()) {
            Bytes encoded;
            encode_frame(reader.frame(i), encoded);
            frames.push_back(encoded);
            states.step(encoded);
        }
    }
}

inline void TestPeer::take_blob(const wire::Frame& frame) {
    if (frame.type == wire::FrameType::blob_ack) {
        static_cast<void>(sender.on_ack(bed_.now, *wire::decode_blob_ack(frame.body)));
        return;
    }
    if (frame.type == wire::FrameType::blob_offer) {
        const auto offer = wire::decode_blob_offer(frame.body);
        REQUIRE(offer.has_value());
        if (offer->kind == wire::BlobKind::snapshot &&
            (!receiver.active() || receiver.offer().id != offer->id) && !receiver.complete()) {
            receiver.expect(wire::BlobKind::snapshot,
                            wire::snapshot_bytes_max,
                            bed_.match.settings().join_bytes_per_s);
        }
        static_cast<void>(receiver.on_offer(bed_.now, *offer));
    } else if (frame.type == wire::FrameType::blob_chunk) {
        const auto whole = receiver.on_chunk(bed_.now, *wire::decode_blob_chunk(frame.body));
        if (!whole || !*whole) {
            return;
        }
        const wire::BlobOffer offer = receiver.offer();
        Bytes ack;
        while (receiver.compose_ack(bed_.now, ack)) {
        }
        send_bytes(ack);
        if (offer.kind == wire::BlobKind::manifest) {
            has_manifest = true;
            receiver.expect(wire::BlobKind::snapshot,
                            wire::snapshot_bytes_max,
                            bed_.match.settings().join_bytes_per_s);
        } else {
            snapshot_tick = offer.tick;
            wants_snapshot = false;
            base = offer.tick;
            frames.clear();
            resume = 0;
            // The pretended game's snapshot is not looked at: the states are the server's.
            if (offer.tick == 0) {
                const std::uint64_t fault = states.fault;
                states = {};
                states.fault = fault;
            } else if (bed_.server.has(offer.tick)) {
                states.begin(offer.tick, bed_.server.at(offer.tick), offer.chain);
                states.fault = UINT64_MAX;
            }
            next_input = 0;
            receiver.expect(wire::BlobKind::snapshot,
                            wire::snapshot_bytes_max,
                            bed_.match.settings().join_bytes_per_s);
        }
    }
}

inline void TestPeer::answer(const wire::Frame& frame) {
    if (!answers || !talks) {
        return;
    }
    Bytes out;
    if (frame.type == wire::FrameType::hash_query) {
        const auto query = *wire::decode_hash_query(frame.body);
        wire::HashAnswer said;
        said.first = query.first;
        for (std::uint64_t tick = query.first; tick <= query.last && states.has(tick); ++tick) {
            const auto other = spoken.find(tick);
            said.hashes[said.count++] =
                other != spoken.end() ? other->second : states.at(tick).state;
        }
        wire::encode(said, out);
    } else {
        wire::SectionAnswer said;
        said.tick = *wire::decode_tick_query(frame.body);
        if (states.has(said.tick)) {
            for (const SectionHash& section : states.at(said.tick).sections) {
                said.sections[said.count++] = static_cast<std::uint32_t>(section.hash.low);
            }
        }
        wire::encode(said, out);
    }
    send_bytes(out);
}

inline void TestPeer::send_bytes(const Bytes& plaintext) {
    wire::FrameReader reader(plaintext);
    wire::Frame frame;
    for (;;) {
        const auto more = reader.next(frame);
        REQUIRE(more.has_value());
        if (!*more) {
            return;
        }
        send(frame);
    }
}

inline void TestPeer::send(const wire::Frame& frame) {
    if (connected) {
        const auto taken = bed_.match.receive(bed_.now, index, frame);
        if (!taken) {
            drop(CloseReason::protocol_error);
            reason = CloseReason::protocol_error;
            closed = true;
        }
    }
}

inline void TestPeer::request(wire::RequestKind kind, std::uint32_t value) {
    Bytes out;
    wire::encode(wire::Request{kind, value}, out);
    send_bytes(out);
}

inline void TestPeer::talk() {
    if (!connected || !talks) {
        return;
    }
    Bytes out;
    receiver.compose_ack(bed_.now, out);
    while (sender.active() && out.size() < 100 && sender.compose(bed_.now, 1150, nullptr, out)) {
        send_bytes(out);
        out.clear();
    }
    const bool stands = has_manifest && loads && !wants_snapshot;
    wire::Progress progress;
    progress.tick = stands ? need() : resume;
    progress.loading = !stands;
    if (tells_progress) {
        wire::encode(progress, out);
    }
    send_bytes(out);
    out.clear();
    if (!stands) {
        return;
    }
    // Inputs of all ticks from what is needed to the newest closed tick and the delay.
    next_input = std::max(next_input, input_ack);
    while (gives_inputs && role_ == Role::player && next_input < need() + delay &&
           next_input < input_ack + 128) {
        Bytes value(2);
        value[0] = static_cast<std::byte>(next_input & 0xFFU);
        value[1] = static_cast<std::byte>(admitted.slot.value + 1);
        inputs.try_emplace(next_input, value);
        ++next_input;
    }
    inputs.erase(inputs.begin(), inputs.lower_bound(input_ack));
    Bytes runs;
    wire::RunWriter writer(runs, bed_.match.settings().neutral);
    std::size_t count = 0;
    for (auto at = inputs.begin(); at != inputs.end() && count < 128; ++at, ++count) {
        writer.add(at->second);
    }
    writer.finish();
    wire::Inputs window;
    window.ack = need();
    window.first_tick = inputs.empty() ? need() : inputs.begin()->first;
    window.runs = runs;
    const std::uint64_t interval = bed_.match.settings().hash_interval_ticks;
    const std::uint64_t newest = states.tick() / interval * interval;
    if (reports && states.has(newest)) {
        window.has_hash = true;
        window.hash_tick = newest;
        window.hash = static_cast<std::uint32_t>(states.chain(newest));
    }
    wire::encode_inputs(window, true, out);
    on_the_way.emplace_back(bed_.now + up_delay, out);
    deliver();
}

inline void TestPeer::deliver() {
    while (!on_the_way.empty() && on_the_way.front().first <= bed_.now) {
        const Bytes packet = std::move(on_the_way.front().second);
        on_the_way.erase(on_the_way.begin());
        send_bytes(packet);
    }
}

inline std::vector<std::string> TestPeer::events() const {
    std::vector<std::string> all;
    TickFrame frame;
    for (const Bytes& encoded : frames) {
        REQUIRE(decode_frame(encoded, frame).has_value());
        for (const Event& event : frame.events()) {
            const ByteView payload = frame.payload(event);
            all.push_back(
                std::to_string(frame.tick().value) + " " +
                std::to_string(static_cast<int>(event.kind)) + " " +
                (event.has_slot ? std::to_string(event.slot.value) : "-") + " " +
                std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
        }
    }
    return all;
}

} // namespace twinstep::net::match_test
