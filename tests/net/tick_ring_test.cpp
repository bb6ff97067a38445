// SPDX-License-Identifier: MIT
// The ring of closed ticks against a plain list of frames: what it says it holds it gives back
// byte for byte, packed or not, within its bounds and without allocating.
#include "allocation_counter.hpp"
#include "test_random.hpp"
#include "tick_ring.hpp"

#include "twinstep/sim/frame.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

using namespace twinstep;
using namespace twinstep::net;

namespace {

/// Closes ticks the way a match does: inputs that repeat or not, slots that come and go,
/// substitutions, events.
class Ticks {
public:
    struct Options {
        std::size_t slots = 4;
        std::size_t value_bytes_max = 4;
        std::size_t repeats_percent = 60;
        std::size_t events_per_mille = 20;
        std::uint64_t next = 0;
    };

    Ticks(TestRandom& random, const Options& options)
        : random_(random)
        , options_(options)
        , present_(options.slots, true)
        , last_(options.slots, Bytes(options.value_bytes_max)) {}

    /// The frame of the next tick, valid until the next call.
    const Bytes& close() {
        frame_.reset(Tick{options_.next++}, options_.slots);
        while (random_.below(1000) < options_.events_per_mille) {
            add_event();
        }
        for (std::size_t i = 0; i < options_.slots; ++i) {
            if (random_.below(1000) < options_.events_per_mille / 4) {
                present_[i] = !present_[i];
            }
            if (random_.below(100) >= options_.repeats_percent) {
                change(last_[i]);
            }
            if (present_[i]) {
                frame_.set_input(
                    Slot{static_cast<std::uint16_t>(i)}, last_[i], random_.below(50) == 0);
            }
        }
        encoded_.clear();
        encode_frame(frame_, encoded_);
        return encoded_;
    }

private:
    void add_event() {
        const auto kind = static_cast<EventKind>(1 + random_.below(9));
        const Bytes payload = random_bytes(random_, random_.below(40));
        if (random_.below(3) == 0) {
            frame_.add_event(kind, payload);
        } else {
            frame_.add_event(
                kind, Slot{static_cast<std::uint16_t>(random_.below(options_.slots))}, payload);
        }
    }

    void change(Bytes& value) {
        if (options_.value_bytes_max > 4 && random_.below(8) == 0) {
            value.resize(random_.below(options_.value_bytes_max + 1));
        }
        for (std::byte& byte : value) {
            byte = random_.below(2) == 0 ? static_cast<std::byte>(random_.bits()) : byte;
        }
    }

    TestRandom& random_;
    Options options_;
    std::vector<bool> present_;
    std::vector<Bytes> last_;
    TickFrame frame_;
    Bytes encoded_;
};

/// A ring and what it ought to hold.
class Pair {
public:
    explicit Pair(const TickRing::Options& options)
        : ticks_max_(options.ticks_max) {
        ring.configure(options);
    }

    void push(const Bytes& frame) {
        ring.push(frame);
        frames_.push_back(frame);
        if (frames_.size() > ticks_max_) {
            frames_.pop_front();
        }
    }

    /// Reads some ticks at `offset` into the ring; true if each is as it was.
    bool reads(std::size_t offset, std::size_t count) {
        std::array<ByteView, wire::window_ticks_max> views;
        const std::uint64_t first = ring.first() + offset;
        const std::size_t read = ring.read(first, std::span(views).first(count));
        const Bytes* newest = nullptr;
        bool same = read >= 1 && read <= count;
        for (std::size_t i = 0; i < read && same; ++i) {
            newest = &frames_[offset + i];
            same = std::equal(views[i].begin(), views[i].end(), newest->begin(), newest->end());
        }
        return same;
    }

    bool reads_something(TestRandom& random) {
        const std::size_t held = frames_.size();
        const std::size_t offset = random.below(held);
        const std::size_t most = std::min(wire::window_ticks_max, held - offset);
        return reads(offset, 1 + random.below(most));
    }

    /// Reads everything that is held, in steps of any length.
    bool reads_all(TestRandom& random) {
        for (std::size_t at = 0; at < frames_.size();) {
            const std::size_t count =
                1 + random.below(std::min(wire::window_ticks_max, frames_.size() - at));
            if (!reads(at, count)) {
                return false;
            }
            at += std::min(count, 1 + random.below(count));
        }
        return true;
    }

    bool holds_the_same() const { return ring.next() - ring.first() == frames_.size(); }

    TickRing ring;

private:
    std::size_t ticks_max_;
    std::deque<Bytes> frames_;
};

/// A ring of eight people's inputs that has turned over.
struct FullRing {
    FullRing(std::size_t ticks_max, int closed)
        : ticks(random, options()) {
        ring.configure({ticks_max, 0, options().slots, options().value_bytes_max, neutral, 0});
        for (int i = 0; i < closed; ++i) {
            ring.push(ticks.close());
        }
    }

    static Ticks::Options options() {
        Ticks::Options eight;
        eight.slots = 8;
        eight.events_per_mille = 0;
        return eight;
    }

    TestRandom random;
    Ticks ticks;
    Bytes neutral = Bytes(4);
    TickRing ring;
};

} // namespace

TEST_CASE("tick ring gives back every tick that it holds, byte for byte",
          "[net][match][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (const std::size_t ticks_max : {1U, 7U, 256U, 320U, 321U, 500U, 3000U}) {
        Ticks::Options options;
        options.slots = 1 + random.below(ticks_max == 500 ? 64 : 8);
        options.value_bytes_max = ticks_max == 321 ? 200 : 1 + random.below(16);
        options.repeats_percent = random.below(101);
        options.events_per_mille = random.below(200);
        options.next = ticks_max == 7 ? tick_max - 100'000 : random.below(100'000);
        const Bytes neutral = random_bytes(random, random.below(options.value_bytes_max + 1));
        Ticks ticks(random, options);
        Pair pair({ticks_max,
                   options.next,
                   options.slots,
                   options.value_bytes_max,
                   neutral,
                   random.below(100)});
        CAPTURE(ticks_max, options.slots, options.value_bytes_max, options.repeats_percent);
        for (int i = 0; i < 7000; ++i) {
            const Bytes& frame = ticks.close();
            pair.push(frame);
            REQUIRE(pair.holds_the_same());
            const ByteView newest = pair.ring.at(pair.ring.next() - 1);
            REQUIRE(std::equal(newest.begin(), newest.end(), frame.begin(), frame.end()));
            if (random.below(8) == 0) {
                REQUIRE(pair.reads_something(random));
            }
            if (i % 1750 == 1749) {
                REQUIRE(pair.reads_all(random));
            }
        }
        CHECK_FALSE(pair.ring.covers(pair.ring.first() - 1));
        CHECK(pair.ring.covers(pair.ring.next()));
        CHECK_FALSE(pair.ring.covers(pair.ring.next() + 1));
    }
}

TEST_CASE("tick ring keeps frames that no packet holds as they are", "[net][match][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    Ticks::Options options;
    Ticks ticks(random, options);
    Ticks::Options other = options;
    other.next = 1'000'000;
    Ticks later(random, other); // Frames of other ticks.
    other = options;
    other.slots = 2;
    other.next = 600;
    Ticks narrow(random, other); // Frames of another match; the first 200 of the right ticks.
    Pair pair({1000, 0, options.slots, options.value_bytes_max, {}, 0});
    for (int i = 0; i < 4000; ++i) {
        const Bytes frame = ticks.close();
        const std::size_t kind = random.below(40);
        if (i / 200 % 4 == 3) {
            pair.push(narrow.close());
        } else if (kind == 0) {
            pair.push(random_bytes(random, 1 + random.below(40'000))); // No frame at all.
        } else if (i / 200 % 4 == 1) {
            pair.push(later.close());
        } else {
            pair.push(frame);
        }
        REQUIRE(pair.holds_the_same());
        if (random.below(8) == 0) {
            REQUIRE(pair.reads_something(random));
        }
    }
    CHECK(pair.reads_all(random));
}

TEST_CASE("a peer that reads on gets full bodies of packed ticks", "[net][match][unit]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (const std::size_t slots : {std::size_t{2}, std::size_t{8}, std::size_t{64}}) {
        Ticks::Options options;
        options.slots = slots;
        options.events_per_mille = 0;
        Ticks ticks(random, options);
        TickRing ring;
        const Bytes neutral(4);
        ring.configure({4000, 0, slots, 4, neutral, 0});
        std::vector<Bytes> frames;
        for (int i = 0; i < 4000; ++i) {
            frames.push_back(ticks.close());
            ring.push(frames.back());
        }
        BundleCache cache;
        wire::BundleWriter writer;
        wire::BundleReader reader(static_cast<std::uint16_t>(slots), 4);
        Bytes body;
        std::size_t bodies = 0;
        std::size_t bodies_fewest = 0;
        for (std::uint64_t at = 0; at < 3600; ++bodies) {
            const auto made = cache.get(ring, neutral, at, wire::window_ticks_max);
            wire::Ticks sent;
            sent.first_tick = at;
            sent.count = static_cast<std::uint8_t>(made.count);
            sent.body = made.bytes;
            REQUIRE(reader.decode(sent, neutral));
            for (std::size_t i = 0; i < made.count; ++i) {
                body.clear();
                encode_frame(reader.frame(i), body);
                REQUIRE(body == frames[at + i]);
            }
            at += made.count;
        }
        for (std::uint64_t at = 0; at < 3600; ++bodies_fewest) {
            std::vector<ByteView> views(frames.begin() + static_cast<std::ptrdiff_t>(at),
                                        frames.begin() + static_cast<std::ptrdiff_t>(at + 128));
            at += writer.encode(views, neutral, ticks_body_bytes_max, body).value();
        }
        CAPTURE(slots);
        CHECK(bodies <= bodies_fewest + bodies_fewest / 50);
    }
}

TEST_CASE("tick ring is bounded in bytes too", "[net][match][unit]") {
    TickRing ring;
    ring.configure({100'000, 0, 4, 4, {}, 0});
    const Bytes large(60'000);
    for (int i = 0; i < 2000; ++i) {
        ring.push(large);
    }
    CHECK(ring.memory_bytes() < TickRing::bytes_max + (std::size_t{1} << 20U));
    CHECK(ring.next() - ring.first() > 250);
    std::array<ByteView, 1> read;
    REQUIRE(ring.read(ring.first(), read) == 1);
    CHECK(read[0].size() == large.size());

    // Frames that are packed: so many changes in 64 slots are more than the ring may take.
    TestRandom random;
    Ticks::Options options;
    options.slots = 64;
    options.value_bytes_max = 16;
    options.repeats_percent = 0;
    Ticks ticks(random, options);
    Pair pair({100'000, 0, options.slots, options.value_bytes_max, {}, 0});
    std::size_t most = 0;
    for (int i = 0; i < 80'000; ++i) {
        pair.ring.push(ticks.close());
        most = std::max(most, pair.ring.memory_bytes());
    }
    CHECK(most < TickRing::bytes_max + (std::size_t{1} << 20U));
    CHECK(most > TickRing::bytes_max / 2);
    CHECK(pair.ring.first() > 0);
    CHECK(pair.ring.read(pair.ring.first(), read) == 1);
}

TEST_CASE("a full tick ring allocates nothing while it turns over", "[net][match][allocation]") {
    TWINSTEP_SHOW_SEED();
    FullRing full(1200, 2400);
    TickRing& ring = full.ring;
    BundleCache cache;
    std::uint64_t allocations = 0;
    for (int i = 0; i < 20'000; ++i) {
        const Bytes& frame = full.ticks.close();
        const AllocationCounter counter;
        ring.push(frame);
        static_cast<void>(cache.get(ring, full.neutral, ring.next() - 1 - full.random.below(4), 1));
        allocations += counter.count();
    }
    CHECK(allocations == 0);
}

TEST_CASE("two minutes of eight people's inputs take little memory", "[net][match][unit]") {
    TWINSTEP_SHOW_SEED();
    FullRing full(7200, 8000);
    TickRing& ring = full.ring;
    const std::size_t idle = ring.memory_bytes();
    CHECK(ring.next() - ring.first() == 7200);
    CHECK(idle < std::size_t{8} * 18 * 1024);

    // Reading takes memory only for as long as somebody reads.
    std::array<ByteView, 128> read;
    static_cast<void>(ring.read(ring.first(), read));
    CHECK(ring.memory_bytes() > idle);
    for (int i = 0; i < 500; ++i) {
        ring.push(full.ticks.close());
    }
    CHECK(ring.memory_bytes() < idle + 2 * TickBlocks::block_bytes);
}
