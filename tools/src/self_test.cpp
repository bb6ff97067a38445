// SPDX-License-Identifier: MIT
// twinstep self-test: known answers of everything that decides bits.
#include "command.hpp"

#include "twinstep/sim/float_environment.hpp"
#include "twinstep/sim/frame.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/random.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>

namespace twinstep::tools {

namespace {

struct KnownAnswer {
    std::string_view name;
    std::string_view expected;
    std::function<std::string()> compute;
};

Bytes counting_bytes(std::size_t size) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<std::byte>(i * 7 + 1);
    }
    return bytes;
}

std::string hash_of(std::size_t size) {
    return to_hex(hash_bytes("twinstep.self-test", Tick{42}, "section", counting_bytes(size)));
}

std::string hex(ByteView bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    }
    return text;
}

std::string encoded_frame() {
    TickFrame frame;
    frame.reset(Tick{300}, 3);
    const Bytes input = counting_bytes(4);
    frame.set_input(Slot{0}, input);
    frame.set_input(Slot{2}, input, true);
    frame.add_event(EventKind::join, Slot{2});
    Bytes encoded;
    encode_frame(frame, encoded);
    return hex(encoded);
}

std::string philox_block() {
    // The third known answer of the function's authors: digits of pi.
    const auto block =
        philox4x32({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0});
    return fmt::format("{:08x}{:08x}{:08x}{:08x}", block[0], block[1], block[2], block[3]);
}

const std::array<KnownAnswer, 7>& known_answers() {
    static const std::array<KnownAnswer, 7> answers{{
        {"xxh3-64 of nothing", "2d06800538d394c2", [] { return to_hex(checksum64({})); }},
        {"state hash, short", "7212692f387d3a5c1a5a05d85b3601f6", [] { return hash_of(5); }},
        {"state hash, gathered", "31bc72d1dc7d77e22bcae959d556dcf5", [] { return hash_of(1000); }},
        {"state hash, streamed",
         "694f81676399da1a2a9b4e228e38923c",
         [] { return hash_of(100'000); }},
        {"tick frame", "ac0207010103001101080f16001301080f16", encoded_frame},
        {"random block", "d16cfe0994fdcceb5001e42024126ea1", philox_block},
        {"float battery", "7049ae45fae42892", float_fingerprint},
    }};
    return answers;
}

Exit test(Context& context) {
    std::uint64_t passed = 0;
    Json failures = Json::array();
    for (const KnownAnswer& answer : known_answers()) {
        const std::string actual = answer.compute();
        const bool good = actual == answer.expected;
        passed += good ? 1U : 0U;
        context.say(fmt::format("{:<22} {}", answer.name, good ? "passed" : "FAILED: " + actual));
        if (!good) {
            failures.push_back(
                {{"name", answer.name}, {"expected", answer.expected}, {"actual", actual}});
        }
    }
    const Result<void> exact = check_float_environment();
    passed += exact ? 1U : 0U;
    context.say(fmt::format("{:<22} {}",
                            "float environment",
                            exact ? "passed" : "FAILED: " + to_string(exact.error())));
    const std::uint64_t total = known_answers().size() + 1;
    context.print({{"passed", passed}, {"failed", total - passed}, {"failures", failures}});
    return passed == total ? Exit::done : Exit::failed;
}

} // namespace

void declare_self_test(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "self-test",
                                  "Known answers: hash, codec, random and float vectors",
                                  "twinstep self-test");
    verb.callback([&action] { action = test; });
}

} // namespace twinstep::tools
