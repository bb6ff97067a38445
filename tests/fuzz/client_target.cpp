// SPDX-License-Identifier: MIT
// A client with its simulation against a server that does what the fuzzer's script says: a match as
// it should be, then everything else.
#include "fuzz_script.hpp"
#include "fuzz_targets.hpp"
#include "toy_game.hpp"
#include "wire_samples.hpp"

#include "twinstep/net/blob.hpp"
#include "twinstep/net/player.hpp"
#include "twinstep/net/simulated_network.hpp"

#include <algorithm>
#include <optional>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::wire;

namespace {

constexpr std::size_t client_steps_max = 200;
constexpr std::uint16_t client_slots = 2;
constexpr std::size_t input_bytes = 5;

Address server_address() {
    Address address;
    address.ip[15] = 1;
    address.port = 7777;
    return address;
}

class ClientWorld final : public Outbox {
public:
    ClientWorld()
        : entropy_(1) {
        PlayerSettings settings;
        settings.client.server = server_address();
        settings.client.mode = Mode::plain;
        settings.client.neutral = Bytes(input_bytes);
        settings.client.proposal.slots = client_slots;
        settings.client.snapshot_bytes_max = 64 * 1024;
        settings.sample = [](Tick, Bytes& input) { input.assign(input_bytes, std::byte{1}); };
        auto player = Player::create(std::move(settings), make_simulation<ToyGame>(), entropy_);
        if (!player) {
            broken_promise(to_string(player.error()).c_str());
        }
        player_.emplace(std::move(*player));
    }

    void run(Tape tape) {
        const unsigned shape = tape.byte();
        advance(0);
        give(cookie());
        give(accept(shape));
        for (std::size_t steps = 0; tape.more() && steps < client_steps_max; ++steps) {
            step(tape.byte(), tape);
        }
    }

    void send(const Address&, ByteView datagram) override {
        require(check_datagram(true, datagram, context_).has_value(), "a client's bad datagram");
        if (const auto hello = decode_hello(datagram)) {
            random_ = hello->client_random;
        }
    }

private:
    void step(unsigned what, Tape& tape) {
        switch (what % 10) {
        case 0:
            manifest();
            break;
        case 1:
            data(tape.bytes(tape.byte()));
            break;
        case 2:
            ticks(what / 10, tape.byte());
            break;
        case 3: {
            const Bytes body(1, std::byte{0});
            frame_.clear();
            const auto count = static_cast<std::uint8_t>(1 + what / 10);
            const ByteView raw = tape.bytes(tape.byte());
            encode_ticks({next_, count, 0, 0, false, 0, 0, raw.empty() ? body : raw}, true, frame_);
            data(frame_);
            break;
        }
        case 4:
            advance(tape.byte());
            break;
        case 5:
            sample(tape);
            break;
        case 6:
            snapshot(tape.byte(), what / 10);
            break;
        case 7:
            search(what / 10, tape.byte());
            break;
        case 8:
            static_cast<void>(player_->reconnect(now_));
            give(cookie());
            give(accept(tape.byte()));
            break;
        default:
            sequence_ += what / 10; // Lost, or seen before.
            break;
        }
    }

    void advance(unsigned ms) {
        now_ = now_ + milliseconds(ms);
        static_cast<void>(player_->advance(now_, *this));
    }

    void give(ByteView datagram) {
        player_->receive(now_, server_address(), datagram, *this);
        advance(0);
    }

    Bytes cookie() const {
        Bytes datagram;
        encode(Cookie{random_, 1, 2}, datagram);
        return datagram;
    }

    Bytes accept(unsigned shape) {
        AcceptPayload payload;
        payload.match_id = 1;
        payload.has_slot = (shape & 1U) == 0;
        payload.slot.value = shape >> 1U & 1U;
        payload.slots = client_slots;
        payload.tick_rate = TickRate(50);
        payload.next_tick = (shape & 4U) != 0 ? 20 : 0;
        payload.authority = (shape & 8U) != 0 ? Authority::relay : Authority::simulation;
        payload.manifest_wanted = (shape & 16U) != 0;
        payload.hash_interval_ticks = 4;
        payload.input_bytes_max = 16;
        const Bytes neutral(input_bytes);
        payload.neutral = neutral;
        context_.neutral = neutral;
        context_.slots = client_slots;
        Bytes bytes;
        encode(payload, bytes);
        Bytes datagram;
        encode(Accept{random_, 7, bytes}, datagram);
        sequence_ = 0;
        return datagram;
    }

    void data(ByteView frames) {
        Bytes datagram;
        ByteWriter writer(datagram);
        writer.u8(data_flags);
        writer.u16(7);
        writer.u32(sequence_++);
        writer.bytes(frames.first(std::min(frames.size(), datagram_bytes_max - datagram.size())));
        give(datagram);
    }

    void blob(BlobKind kind, Tick tick, const Bytes& bytes) {
        frame_.clear();
        encode(make_blob_offer(++blob_, kind, tick, bytes, 0), frame_);
        data(frame_);
        for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes_max) {
            frame_.clear();
            const auto index = static_cast<std::uint32_t>(at / chunk_bytes_max);
            const std::size_t size = std::min(chunk_bytes_max, bytes.size() - at);
            encode(BlobChunk{blob_, index, ByteView(bytes).subspan(at, size)}, frame_);
            data(frame_);
        }
    }

    void manifest() {
        const auto simulation = make_simulation<ToyGame>();
        Setup setup;
        setup.slots = client_slots;
        Bytes bytes;
        ByteWriter writer(bytes);
        writer.varint(input_bytes);
        writer.bytes(Bytes(input_bytes));
        encode_manifest(make_manifest(simulation->info(), setup), bytes);
        blob(BlobKind::manifest, Tick{0}, bytes);
    }

    void ticks(unsigned more, unsigned shape) {
        std::vector<Bytes> frames(1 + more % 8);
        std::vector<ByteView> views;
        TickFrame frame;
        for (std::size_t i = 0; i < frames.size(); ++i) {
            frame.reset(Tick{next_ + i}, client_slots);
            for (std::uint16_t slot = 0; slot < client_slots; ++slot) {
                frame.set_input(Slot{slot}, Bytes(input_bytes), (shape >> slot & 1U) != 0);
            }
            if ((shape & 4U) != 0) {
                frame.add_event(static_cast<EventKind>(1 + shape % 6), Slot{0});
            }
            encode_frame(frame, frames[i]);
            views.emplace_back(frames[i]);
        }
        Bytes body;
        BundleWriter writer;
        const auto taken = writer.encode(views, context_.neutral, 1000, body);
        require(taken == frames.size(), "a bundle that does not fit");
        frame_.clear();
        encode_ticks({next_,
                      static_cast<std::uint8_t>(frames.size()),
                      next_ + (shape >> 3U),
                      static_cast<std::int32_t>(shape) - 100,
                      (shape & 64U) != 0,
                      next_,
                      shape,
                      body},
                     true,
                     frame_);
        data(frame_);
        next_ += (shape & 128U) != 0 ? 0 : frames.size();
    }

    void sample(Tape& tape) {
        static const std::vector<WireSample> samples = wire_samples();
        Bytes bytes = samples[tape.byte() % samples.size()].datagram;
        const unsigned at = tape.byte();
        if (at < bytes.size()) {
            bytes[at] ^= static_cast<std::byte>(tape.byte());
        }
        if (bytes.front() == static_cast<std::byte>(data_flags) &&
            bytes.size() > data_header_bytes) {
            data(ByteView(bytes).subspan(data_header_bytes));
        } else {
            if (bytes.size() >= 23) {
                std::copy(random_.begin(), random_.end(), bytes.begin() + 7);
            }
            give(bytes);
        }
    }

    /// A state of the simulation itself, or bytes that are none.
    void snapshot(unsigned tick, unsigned shape) {
        Bytes bytes(20, static_cast<std::byte>(shape));
        if (shape % 2 == 0) {
            const auto simulation = make_simulation<ToyGame>();
            Setup setup;
            setup.slots = client_slots;
            require(simulation->reset(setup).has_value(), "no simulation");
            simulation->save(bytes);
        }
        blob(BlobKind::snapshot, Tick{tick}, bytes);
        if (shape % 4 == 0) {
            next_ = tick;
        }
    }

    void search(unsigned which, unsigned tick) {
        frame_.clear();
        switch (which % 6) {
        case 0:
            encode(HashQuery{tick, tick + std::uint64_t{which}}, frame_);
            break;
        case 1:
            encode_tick_query(FrameType::section_query, tick, frame_);
            break;
        case 2:
            encode_tick_query(FrameType::snapshot_query, tick, frame_);
            break;
        case 3:
            encode(Verdict{Blame::peer, tick, true, Slot{0}, "bodies"}, frame_);
            break;
        case 4:
            encode(Stall{tick, 1000, which > 10, 3}, frame_);
            break;
        default:
            encode_loss(static_cast<std::uint8_t>(1 + tick % loss_window), frame_);
            break;
        }
        data(frame_);
    }

    SeededEntropy entropy_;
    std::optional<Player> player_;
    WireContext context_;
    Random16 random_{};
    Micros now_ = seconds(10);
    Bytes frame_;
    std::uint64_t next_ = 0;
    std::uint32_t sequence_ = 0;
    std::uint32_t blob_ = 0;
};

} // namespace

void fuzz_client(ByteView bytes) {
    ClientWorld world;
    world.run(Tape(bytes));
}

std::vector<Bytes> client_seeds() {
    // Accept, manifest, ready, ticks at 50 Hz.
    const Bytes start = tape_of({0, 0, 4, 20, 4, 20, 2, 16, 4, 20, 12, 24, 4, 20, 2, 84, 4, 20});
    std::vector<Bytes> seeds{start};
    for (const auto& more :
         {tape_of({7, 1, 17, 2, 27, 3, 37, 4, 47, 9, 57, 7, 4, 100, 2, 0}),
          tape_of({6, 0, 2, 16, 4, 20, 26, 9, 4, 40, 86, 200}),
          tape_of({8, 0, 0, 4, 20, 2, 16, 4, 50}),
          tape_of({13, 3, 0, 129, 129, 3, 2, 0, 130, 4, 20}),
          tape_of({5, 22, 9, 3, 5, 30, 11, 1, 1, 4, 5, 2, 1, 0, 4, 255, 4, 255})}) {
        Bytes& seed = seeds.emplace_back(start);
        seed.insert(seed.end(), more.begin(), more.end());
    }
    // A late joiner with a snapshot; a relay's first player, which brings the manifest.
    seeds.push_back(tape_of({4, 0, 4, 20, 6, 0, 4, 20, 2, 16, 4, 20, 2, 16, 4, 60}));
    seeds.push_back(tape_of({24, 4, 20, 4, 20, 0, 4, 20, 2, 16, 4, 20, 27, 1, 4, 40}));
    return seeds;
}
