// SPDX-License-Identifier: MIT
// Handshake packets and their payloads; docs/lockstep-protocol.md, "Handshake packets".
#include "wire_detail.hpp"

#include "twinstep/net/wire.hpp"

#include <algorithm>
#include <cstring>

namespace twinstep::net::wire {

using namespace detail;

namespace {

constexpr std::uint32_t magic = 0x534E5754; // "TWNS"

struct Head {
    std::uint8_t major = 0;
    std::uint8_t minor = 0;
    Random16 client_random{};
};

Random16 get_random(ByteReader& reader, const char* field) {
    Random16 random{};
    const ByteView bytes = reader.bytes(random.size(), field);
    std::copy(bytes.begin(), bytes.end(), random.begin());
    return random;
}

void put_head(ByteWriter& writer, PacketType type, const Head& head) {
    writer.u8(static_cast<std::uint8_t>(type));
    writer.u32(magic);
    writer.u8(head.major);
    writer.u8(head.minor);
    writer.bytes(head.client_random);
}

Head get_head(ByteReader& reader, PacketType type, bool any_major) {
    if (reader.u8("type") != static_cast<std::uint8_t>(type)) {
        reader.fail(SimErrc::malformed, "type");
    }
    if (reader.u32("magic") != magic) {
        reader.fail(SimErrc::malformed, "magic");
    }
    Head head;
    head.major = reader.u8("major");
    if (head.major != version_major && !any_major) {
        reader.fail(SimErrc::malformed, "major");
    }
    head.minor = reader.u8("minor");
    head.client_random = get_random(reader, "random");
    return head;
}

void require_padded(ByteReader& reader, ByteView packet) {
    if (packet.size() != datagram_bytes_max) {
        reader.fail(packet.size() < datagram_bytes_max ? SimErrc::truncated
                                                       : SimErrc::trailing_bytes,
                    "padding");
    }
}

/// Reads zeros to the end. Bytes that equal their neighbours and a first one that is zero: memcmp
/// looks at 1,177 bytes in 20 ns, a loop needs ten times that, and anybody can send a HELLO.
void get_padding(ByteReader& reader) {
    const ByteView padding = reader.bytes(reader.remaining(), "padding");
    if (!padding.empty() &&
        (padding[0] != std::byte{0} ||
         std::memcmp(padding.data(), padding.data() + 1, padding.size() - 1) != 0)) {
        reader.fail(SimErrc::malformed, "padding");
    }
}

void put_sized(ByteWriter& writer, ByteView bytes) {
    writer.u16(static_cast<std::uint16_t>(bytes.size()));
    writer.bytes(bytes);
}

} // namespace

void encode(const Hello& value, Bytes& target) {
    const std::size_t end = target.size() + datagram_bytes_max;
    ByteWriter writer(target);
    put_head(writer, PacketType::hello, {value.major, value.minor, value.client_random});
    target.resize(end);
}

Result<Hello> decode_hello(ByteView packet) {
    ByteReader reader(packet);
    require_padded(reader, packet);
    const Head head = get_head(reader, PacketType::hello, true);
    get_padding(reader);
    return finished(reader, Hello{head.client_random, head.major, head.minor});
}

void encode(const Cookie& value, Bytes& target) {
    ByteWriter writer(target);
    put_head(writer, PacketType::cookie, {value.major, value.minor, value.client_random});
    writer.u8(value.secret_index);
    writer.u64(value.tag);
}

Result<Cookie> decode_cookie(ByteView packet) {
    ByteReader reader(packet);
    const Head head = get_head(reader, PacketType::cookie, true);
    Cookie value;
    value.client_random = head.client_random;
    value.major = head.major;
    value.minor = head.minor;
    value.secret_index = reader.u8("secret_index");
    value.tag = reader.u64("tag");
    return finished(reader, std::move(value));
}

void encode(const Connect& value, Bytes& target) {
    TWINSTEP_ASSERT(value.handshake.size() <= connect_handshake_bytes_max);
    const std::size_t end = target.size() + datagram_bytes_max;
    ByteWriter writer(target);
    put_head(writer, PacketType::connect, {version_major, value.minor, value.client_random});
    writer.u8(value.secret_index);
    writer.u64(value.tag);
    writer.u8(static_cast<std::uint8_t>(value.mode));
    put_sized(writer, value.handshake);
    target.resize(end);
}

Result<Connect> decode_connect(ByteView packet) {
    ByteReader reader(packet);
    require_padded(reader, packet);
    const Head head = get_head(reader, PacketType::connect, false);
    Connect value;
    value.client_random = head.client_random;
    value.minor = head.minor;
    value.secret_index = reader.u8("secret_index");
    value.tag = reader.u64("tag");
    value.mode = enumerator(reader, "mode", Mode::plain, Mode::token);
    value.handshake = reader.bytes(reader.u16("size"), "handshake");
    get_padding(reader);
    return finished(reader, std::move(value));
}

void encode(const Accept& value, Bytes& target) {
    TWINSTEP_ASSERT(value.handshake.size() <= accept_handshake_bytes_max);
    ByteWriter writer(target);
    put_head(writer, PacketType::accept, {version_major, value.minor, value.client_random});
    writer.u16(value.connection_id);
    put_sized(writer, value.handshake);
}

Result<Accept> decode_accept(ByteView packet) {
    ByteReader reader(packet);
    if (packet.size() > accept_bytes_max) {
        reader.fail(SimErrc::limit_exceeded, "packet");
    }
    const Head head = get_head(reader, PacketType::accept, false);
    Accept value;
    value.client_random = head.client_random;
    value.minor = head.minor;
    value.connection_id = reader.u16("connection_id");
    value.handshake = reader.bytes(reader.u16("size"), "handshake");
    return finished(reader, std::move(value));
}

void encode(const Refuse& value, Bytes& target) {
    ByteWriter writer(target);
    put_head(writer, PacketType::refuse, {version_major, value.minor, value.client_random});
    writer.u8(static_cast<std::uint8_t>(value.reason));
}

Result<Refuse> decode_refuse(ByteView packet) {
    ByteReader reader(packet);
    const Head head = get_head(reader, PacketType::refuse, false);
    Refuse value;
    value.client_random = head.client_random;
    value.minor = head.minor;
    value.reason = enumerator(reader, "reason", CloseReason::none, CloseReason::going_down);
    return finished(reader, std::move(value));
}

void encode(const ConnectPayload& value, Bytes& target) {
    TWINSTEP_ASSERT(value.name.size() <= name_bytes_max);
    ByteWriter writer(target);
    writer.u8(static_cast<std::uint8_t>(value.role));
    put_hash(writer, value.build);
    writer.u64(value.match_id);
    writer.u8(value.has_ticket ? 1 : 0);
    if (value.has_ticket) {
        writer.bytes(value.ticket);
    }
    writer.text(value.name);
}

Result<ConnectPayload> decode_connect_payload(ByteView bytes) {
    ByteReader reader(bytes);
    ConnectPayload value;
    value.role = enumerator(reader, "role", Role::player, Role::spectator);
    value.build = get_hash(reader, "build");
    value.match_id = reader.u64("match_id");
    value.has_ticket = flag(reader, "has_ticket");
    if (value.has_ticket) {
        value.ticket = get_random(reader, "ticket");
    }
    value.name = reader.text("name", name_bytes_max);
    return finished(reader, std::move(value));
}

void encode(const AcceptPayload& value, Bytes& target) {
    TWINSTEP_ASSERT(value.slots >= 1 && value.slots <= match_slots_max);
    TWINSTEP_ASSERT(!value.has_slot || value.slot.value < value.slots);
    TWINSTEP_ASSERT(value.neutral.size() <= neutral_bytes_max);
    TWINSTEP_ASSERT(value.neutral.size() <= value.input_bytes_max);
    ByteWriter writer(target);
    writer.u64(value.match_id);
    writer.u16(static_cast<std::uint16_t>(value.has_slot ? value.slot.value + 1 : 0));
    writer.u16(value.slots);
    writer.u32(value.tick_rate.num);
    writer.u32(value.tick_rate.den);
    writer.u64(value.next_tick);
    writer.u8(value.delay_ticks_min);
    writer.u8(value.delay_ticks_max);
    writer.u8(static_cast<std::uint8_t>(value.policy));
    writer.u8(static_cast<std::uint8_t>(value.authority));
    writer.u16(value.grace_ms);
    writer.u8(value.hash_interval_ticks);
    writer.u16(value.input_bytes_max);
    writer.u8(value.manifest_wanted ? 1 : 0);
    writer.bytes(value.ticket);
    writer.text(as_text(value.neutral));
}

namespace {

/// Fails unless least <= value <= greatest.
template <class T>
void require_between(ByteReader& reader, const char* field, T value, T least, T greatest) {
    if (value < least || value > greatest) {
        reader.fail(SimErrc::limit_exceeded, field);
    }
}

} // namespace

Result<AcceptPayload> decode_accept_payload(ByteView bytes) {
    constexpr auto slots_most = static_cast<std::uint16_t>(match_slots_max);
    ByteReader reader(bytes);
    AcceptPayload value;
    value.match_id = reader.u64("match_id");
    const std::uint16_t slot = reader.u16("slot");
    value.has_slot = slot != 0;
    value.slot.value = static_cast<std::uint16_t>(value.has_slot ? slot - 1 : 0);
    value.slots = reader.u16("slots");
    require_between<std::uint16_t>(reader, "slots", value.slots, 1, slots_most);
    require_between<std::uint16_t>(reader, "slot", slot, 0, value.slots);
    value.tick_rate.num = reader.u32("tick_rate");
    value.tick_rate.den = reader.u32("tick_rate");
    require_between<std::uint32_t>(reader, "tick_rate", value.tick_rate.num, 1, UINT32_MAX);
    require_between<std::uint32_t>(reader, "tick_rate", value.tick_rate.den, 1, UINT32_MAX);
    value.next_tick = reader.u64("next_tick");
    require_between<std::uint64_t>(reader, "next_tick", value.next_tick, 0, tick_max);
    value.delay_ticks_min = reader.u8("delay_min");
    value.delay_ticks_max = reader.u8("delay_max");
    require_between<std::uint8_t>(
        reader, "delay_min", value.delay_ticks_min, 0, value.delay_ticks_max);
    require_between<std::uint8_t>(
        reader, "delay_max", value.delay_ticks_max, 0, window_ticks_max - 1);
    value.policy = enumerator(reader, "policy", Policy::deadline, Policy::strict);
    value.authority = enumerator(reader, "authority", Authority::simulation, Authority::relay);
    value.grace_ms = reader.u16("grace_ms");
    value.hash_interval_ticks = reader.u8("hash_interval");
    require_between<std::uint8_t>(reader, "hash_interval", value.hash_interval_ticks, 1, 64);
    value.input_bytes_max = reader.u16("input_bytes");
    require_between<std::uint16_t>(
        reader, "input_bytes", value.input_bytes_max, 1, input_bytes_max);
    value.manifest_wanted = flag(reader, "wanted");
    value.ticket = get_random(reader, "ticket");
    const std::size_t neutral_max = std::min<std::size_t>(neutral_bytes_max, value.input_bytes_max);
    const std::string_view neutral = reader.text("neutral", neutral_max);
    value.neutral = std::as_bytes(std::span(neutral));
    return finished(reader, std::move(value));
}

} // namespace twinstep::net::wire
