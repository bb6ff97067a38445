// SPDX-License-Identifier: MIT
// How rogues connect, and what they then send.
#include "netsim_rogue.hpp"

#include "twinstep/net/identity.hpp"
#include "twinstep/sim/manifest.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::tools::netsim {

using net::Direction;
using net::Micros;
using net::milliseconds;
namespace wire = net::wire;

RogueNode::RogueNode(World& world, net::NodeIndex index, std::uint16_t number, const Fault& fault)
    : Node(world, index, clock_of(world.plan.seed, number))
    , number_(number)
    , fault_(fault)
    , entropy_(world.plan.seed, 16U + number)
    , random_(world.plan.seed, Tick{4}, 1'000U + number) {
    // No node of its kind wakes before it begins.
    plan_wake({});
}

void RogueNode::begin(Micros at) {
    entropy_.fill(client_random_);
    phase_ = Phase::hello;
    next_ = at;
    stop_at_ = at + fault_.length;
    plan_wake(at);
}

void RogueNode::stop(Micros at) {
    world_.note(at,
                "rogue " + std::to_string(number_) + " stops after " + std::to_string(packets_) +
                    " packets");
    phase_ = Phase::over;
    plan_wake(at);
}

Micros RogueNode::wanted_wake(Micros) const {
    return phase_ == Phase::idle || phase_ == Phase::over ? net::never : next_;
}

void RogueNode::send_hello() {
    packet_.clear();
    wire::Hello hello;
    hello.client_random = client_random_;
    wire::encode(hello, packet_);
}

void RogueNode::run(Micros at) {
    if (at < next_ || phase_ == Phase::idle || phase_ == Phase::over) {
        return;
    }
    if (phase_ == Phase::data) {
        const bool floods = fault_.kind == FaultKind::flood;
        next_ = at + (floods ? Micros{1'000'000 / std::max(1U, fault_.amount)} : milliseconds(16));
        misbehave();
        return;
    }
    if (phase_ == Phase::hello) {
        send_hello();
    }
    outbox_.send(world_.server, packet_);
    next_ = at + milliseconds(300);
}

void RogueNode::receive(Micros at, const net::Address&, ByteView bytes) {
    if (bytes.empty() || phase_ == Phase::idle || phase_ == Phase::over) {
        return;
    }
    if (phase_ == Phase::hello) {
        take_cookie(at, bytes);
    } else if (phase_ == Phase::connect) {
        take_accept(at, bytes);
    } else {
        bool newest = false;
        if (opener_->open(bytes, plaintext_, newest)) {
            take_frames(plaintext_);
        }
    }
}

Result<void> RogueNode::compose_connect(const wire::Cookie& cookie, Bytes& handshake) {
    wire::ConnectPayload payload;
    const auto simulation = world_.game.make();
    payload.build = net::digest_of_build(make_manifest(simulation->info(), world_.plan.setup));
    const std::string name = "rogue " + std::to_string(number_);
    payload.name = name;
    Bytes plain;
    wire::encode(payload, plain);
    connect_.client_random = client_random_;
    connect_.secret_index = cookie.secret_index;
    connect_.tag = cookie.tag;
    connect_.mode = world_.plan.mode;
    if (connect_.mode == wire::Mode::plain) {
        handshake = plain;
        return {};
    }
    if (connect_.mode == wire::Mode::room_key) {
        noise_.emplace(world_.room_key, net::noise_prologue(connect_), entropy_);
        return noise_->write(plain, handshake);
    }
    net::TokenClaims claims;
    entropy_.fill(claims.id);
    entropy_.fill(claims.keys.up.bytes);
    entropy_.fill(claims.keys.down.bytes);
    claims.player_id = number_;
    claims.issued_unix_s =
        wall_clock_start + static_cast<std::uint64_t>(stop_at_.value / 1'000'000);
    claims.issued_unix_s -= std::min<std::uint64_t>(
        claims.issued_unix_s, static_cast<std::uint64_t>(fault_.length.value / 1'000'000));
    keys_ = claims.keys;
    const auto token = net::seal_token(claims, world_.room_key, entropy_);
    if (!token) {
        return tl::unexpected<Error>(token.error());
    }
    handshake.assign(token->begin(), token->end());
    return net::seal_payload(keys_.up, Direction::up, plain, handshake);
}

void RogueNode::take_cookie(Micros at, ByteView bytes) {
    const auto cookie = wire::decode_cookie(bytes);
    if (!cookie || cookie->client_random != client_random_) {
        return;
    }
    Bytes handshake;
    if (const Result<void> done = compose_connect(*cookie, handshake); !done) {
        world_.fail(at, "a rogue cannot connect: " + to_string(done.error()));
        phase_ = Phase::over;
        return;
    }
    connect_.handshake = handshake;
    packet_.clear();
    wire::encode(connect_, packet_);
    phase_ = Phase::connect;
    next_ = at;
}

void RogueNode::take_accept(Micros at, ByteView bytes) {
    if (const auto refuse = wire::decode_refuse(bytes)) {
        world_.note(at,
                    "rogue " + std::to_string(number_) +
                        " is refused: " + std::string(to_string(refuse->reason)));
        phase_ = Phase::over;
        return;
    }
    const auto accept = wire::decode_accept(bytes);
    if (!accept || accept->client_random != client_random_) {
        return;
    }
    Bytes payload(accept->handshake.begin(), accept->handshake.end());
    Result<void> read;
    if (connect_.mode == wire::Mode::room_key) {
        auto keys = noise_->read(accept->handshake, payload);
        if (keys) {
            keys_ = *keys;
        }
        read = keys ? Result<void>{} : tl::unexpected<Error>(keys.error());
    } else if (connect_.mode == wire::Mode::token) {
        read = net::open_payload(keys_.down, Direction::down, accept->handshake, payload);
    }
    const auto welcome = wire::decode_accept_payload(payload);
    if (!read || !welcome) {
        return; // Corrupted on its way.
    }
    slot_ = welcome->has_slot ? std::optional(welcome->slot) : std::nullopt;
    next_tick_ = welcome->next_tick;
    input_ack_ = welcome->next_tick;
    sealer_.emplace(connect_.mode, keys_.up, Direction::up, accept->connection_id);
    opener_.emplace(connect_.mode, keys_.down, Direction::down);
    phase_ = Phase::data;
    next_ = at;
    world_.note(at, "rogue " + std::to_string(number_) + " is in");
}

void RogueNode::take_frames(ByteView plaintext) {
    wire::FrameReader reader(plaintext);
    wire::Frame frame;
    for (;;) {
        const Result<bool> more = reader.next(frame);
        if (!more || !*more) {
            return;
        }
        if (frame.type == wire::FrameType::ticks) {
            if (const auto ticks = wire::decode_ticks(frame.body)) {
                next_tick_ = std::max(next_tick_, ticks->first_tick + ticks->count);
                input_ack_ = ticks->input_ack;
            }
        } else if (frame.type == wire::FrameType::blob_offer) {
            if (const auto offer = wire::decode_blob_offer(frame.body)) {
                blob_ = {offer->id,
                         static_cast<std::uint32_t>((offer->size + wire::chunk_bytes_max - 1) /
                                                    wire::chunk_bytes_max),
                         0};
                has_blob_ = true;
            }
        } else if (frame.type == wire::FrameType::close) {
            const auto close = wire::decode_close(frame.body);
            closed_ = close ? close->first : net::CloseReason::none;
            phase_ = Phase::over;
            return;
        }
    }
}

void RogueNode::send_plaintext(ByteView plaintext) {
    if (sealer_->seal(plaintext, datagram_)) {
        ++packets_;
        outbox_.send(world_.server, datagram_);
    }
}

void RogueNode::play_along(bool other_values, std::uint64_t first_shift) {
    Bytes runs;
    wire::RunWriter writer(runs, world_.game.neutral);
    Bytes input;
    constexpr std::uint64_t ahead = 12;
    const std::uint64_t first = input_ack_ + first_shift;
    const std::uint64_t last = std::max(first, next_tick_ + first_shift) + ahead;
    for (std::uint64_t tick = first; tick < std::min(last, first + 100); ++tick) {
        Random random(world_.plan.seed, Tick{tick}, 500U + number_);
        input.clear();
        world_.game.bot(random, Tick{tick}, slot_.value_or(Slot{}), input);
        if (other_values && !input.empty()) {
            input.front() ^= std::byte{static_cast<unsigned char>(random_.below(2))};
        }
        writer.add(input);
    }
    writer.finish();
    Bytes frames;
    // It claims to be where the server is, so that it is let in.
    wire::encode(wire::Progress{next_tick_, false}, frames);
    if (has_blob_) {
        wire::encode(blob_, frames);
    }
    wire::Inputs inputs;
    inputs.ack = next_tick_;
    inputs.first_tick = first;
    inputs.runs = runs;
    wire::encode_inputs(inputs, true, frames);
    if (frames.size() <= wire::plaintext_bytes_max) {
        send_plaintext(frames);
    }
}

void RogueNode::misbehave() {
    switch (fault_.kind) {
    case FaultKind::equivocate:
        play_along(true, 0);
        break;
    case FaultKind::future:
        play_along(false, random_.below(2) == 0 ? 0 : 1ULL << random_.below(62));
        break;
    case FaultKind::flood:
        play_along(false, 0);
        break;
    case FaultKind::garbage: {
        Bytes noise(1 + random_.below(300));
        for (std::byte& byte : noise) {
            byte = static_cast<std::byte>(random_.below(256));
        }
        send_plaintext(noise);
        break;
    }
    default:
        if (packets_ == 0) {
            send_plaintext({}); // The one that proves its address; then not a word.
        }
        break;
    }
}

} // namespace twinstep::tools::netsim
