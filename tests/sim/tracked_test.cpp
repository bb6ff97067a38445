// SPDX-License-Identifier: MIT
// Tracked vectors: every write is in the next hash, and one that was not marked is found.
#include "allocation_counter.hpp"
#include "assertion_of.hpp"
#include "hex.hpp"
#include "test_random.hpp"
#include "tracked_game.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <stdexcept>

using namespace twinstep;

namespace {

/// An element that is longer than a chunk, and of an odd length.
struct Slab {
    std::array<std::uint8_t, 5001> bytes{};

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(bytes));
    }

    bool operator==(const Slab&) const = default;
};

/// Does not like to be loaded as 13.
struct Picky {
    std::uint64_t value = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(value));
        if (std::same_as<Archive, InArchive> && value == 13) {
            throw std::runtime_error("13");
        }
    }

    bool operator==(const Picky&) const = default;
};

} // namespace

template <>
inline constexpr bool twinstep::contiguous<Slab> = true;
template <>
inline constexpr bool twinstep::contiguous<Picky> = true;

namespace {

constexpr std::uint32_t never = UINT32_MAX; // One chunk a hash all the same.

template <class T>
T random_element(TestRandom& random) {
    if constexpr (std::is_floating_point_v<T>) {
        // Every NaN there is, and everything else.
        return random.below(3) == 0 ? std::bit_cast<T>(static_cast<std::uint32_t>(
                                          0x7F800001U | (random.bits() & 0x803FFFFFU)))
                                    : static_cast<T>(random.bits());
    } else if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(random.bits());
    } else {
        std::array<std::byte, sizeof(T)> memory{};
        for (std::byte& byte : memory) {
            byte = static_cast<std::byte>(random.bits());
        }
        return std::bit_cast<T>(memory);
    }
}

/// The encoding of a list as the page says it: a count, and then its elements.
template <class T>
Bytes encoded(const std::vector<T>& values) {
    Bytes bytes;
    BufferSink sink(bytes);
    OutArchive archive(sink);
    archive(static_cast<std::uint64_t>(values.size()));
    for (const T& value : values) {
        archive(value);
    }
    sink.finish();
    return bytes;
}

/// The hash of a chunked section as the page says it, from all of its bytes.
Hash128 hash_by_the_page(Tick tick, std::string_view name, ByteView content) {
    Bytes message(content.begin(), content.begin() + 8);
    ByteWriter writer(message);
    writer.u64(content.size() - 8);
    for (std::size_t at = 8; at < content.size(); at += 4096) {
        Bytes chunk(content.begin() + static_cast<std::ptrdiff_t>(at),
                    content.begin() +
                        static_cast<std::ptrdiff_t>(std::min(at + 4096, content.size())));
        chunk.resize(4096);
        const Hash128 digest = hash_chunk(chunk);
        writer.u64(digest.low);
        writer.u64(digest.high);
    }
    return hash_bytes("twinstep.chunked", tick, name, message);
}

/// A state that is one tracked vector.
template <class T>
class Subject {
public:
    explicit Subject(std::uint32_t recheck_hashes = never) {
        sink_.set_recheck_hashes(recheck_hashes);
    }

    Hash128 hash() {
        sink_.begin(tick_, hashes_);
        archive_(section("list", cereal::make_nvp("values", values)));
        sink_.finish();
        return hashes_.sections.at(0).hash;
    }

    Bytes save() {
        Bytes bytes;
        write_snapshot_head(bytes, tick_);
        BufferSink sink(bytes);
        OutArchive archive(sink);
        archive(section("list", cereal::make_nvp("values", values)));
        sink.finish();
        return bytes;
    }

    std::string load(ByteView snapshot) {
        InArchive archive(snapshot);
        REQUIRE(read_snapshot_head(archive.reader()));
        archive(section("list", cereal::make_nvp("values", values)));
        return text_of(archive.finish());
    }

    /// All that must hold at any time.
    void check(const std::vector<T>& model) {
        ++tick_.value;
        const Bytes content = encoded(model);
        const Bytes snapshot = save();
        REQUIRE(values.size() == model.size());
        REQUIRE(snapshot.size() == 14 + 5 + 8 + content.size());
        REQUIRE(std::equal(content.begin(), content.end(), snapshot.begin() + 27));
        const Hash128 hash_now = hash();
        REQUIRE(hash_now == hash_by_the_page(tick_, "list", content));
        REQUIRE(hash_snapshot(snapshot)->sections.at(0).hash == hash_now);
        REQUIRE(hash_snapshot(snapshot)->state == hashes_.state);
    }

    TrackedVector<T> values;

private:
    Tick tick_{7};
    StateHashes hashes_;
    HashSink sink_;
    OutArchive archive_{sink_};
};

/// One of all writes that may change the size, done to the vector and to the model.
template <class T>
void resize_somehow(TestRandom& random, TrackedVector<T>& values, std::vector<T>& model) {
    const T value = random_element<T>(random);
    const std::size_t longest = 20000 / sizeof(T) + 3;
    switch (random.below(6)) {
    case 0:
        values.resize(random.below(longest), value);
        model.resize(values.size(), value);
        break;
    case 1:
        values.assign(random.below(longest), value);
        model.assign(values.size(), value);
        break;
    case 2: {
        const std::vector<T> other(random.below(longest), value);
        values.assign(std::span<const T>(other));
        model = other;
        break;
    }
    case 3:
        if (random.below(4) == 0) {
            values.clear();
            model.clear();
        }
        break;
    case 4:
        for (std::size_t i = random.below(9); i > 0; --i) {
            values.push_back(value);
            model.push_back(value);
        }
        break;
    default:
        for (std::size_t i = random.below(5); i > 0 && !model.empty(); --i) {
            values.pop_back();
            model.pop_back();
        }
    }
}

/// One of all writes to elements, done to the vector and to the model.
template <class T>
void write_somewhere(TestRandom& random, TrackedVector<T>& values, std::vector<T>& model) {
    if (model.empty()) {
        return;
    }
    const T value = random_element<T>(random);
    const std::size_t at = random.below(model.size());
    switch (random.below(3)) {
    case 0: {
        const std::size_t end = at + random.below(model.size() - at + 1);
        const std::span<T> range = values.write_range(at, end);
        REQUIRE(range.size() == end - at);
        std::fill(range.begin(), range.end(), value);
        std::fill(model.begin() + static_cast<std::ptrdiff_t>(at),
                  model.begin() + static_cast<std::ptrdiff_t>(end),
                  value);
        break;
    }
    case 1:
        values.write(at) = value;
        model[at] = value;
        break;
    default:
        values.set(at, value);
        model[at] = value;
    }
}

template <class T>
void follow_a_model(TestRandom& random, int rounds) {
    Subject<T> subject;
    std::vector<T> model;
    for (int round = 0; round < rounds; ++round) {
        CAPTURE(round);
        for (std::size_t writes = random.below(4); writes > 0; --writes) {
            if (random.below(2) == 0) {
                resize_somehow(random, subject.values, model);
            } else {
                write_somewhere(random, subject.values, model);
            }
        }
        if (random.below(8) == 0) {
            const Bytes snapshot = subject.save();
            Subject<T> other;
            REQUIRE(other.load(snapshot) == "ok");
            subject.values = random.below(2) == 0 ? other.values : std::move(other.values);
        }
        if (random.below(8) == 0) {
            TrackedVector<T> moved = std::move(subject.values);
            subject.values = {};
            subject.values.push_back(random_element<T>(random));
            subject.values = std::move(moved);
        }
        subject.check(model);
    }
}

} // namespace

TEST_CASE("whatever is written into a tracked vector, its hash is that of all its bytes",
          "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    SECTION("u8") {
        follow_a_model<std::uint8_t>(random, 600);
    }
    SECTION("i16") {
        follow_a_model<std::int16_t>(random, 600);
    }
    SECTION("u64") {
        follow_a_model<std::uint64_t>(random, 600);
    }
    SECTION("float") {
        follow_a_model<float>(random, 600);
    }
    SECTION("24 bytes") {
        follow_a_model<TrackedBody>(random, 600);
    }
    SECTION("5,001 bytes") {
        follow_a_model<Slab>(random, 200);
    }
}

TEST_CASE("sizes around the borders of chunks are hashed as the page says", "[sim][unit]") {
    Subject<std::uint64_t> subject;
    std::vector<std::uint64_t> model;
    constexpr std::array<std::size_t, 14> sizes{
        0, 1, 2, 511, 512, 513, 1023, 1024, 1025, 512, 511, 1, 0, 600};
    for (const std::size_t size : sizes) {
        CAPTURE(size);
        subject.values.resize(size, 3);
        model.resize(size, 3);
        subject.check(model);
        for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
            if (at < size) {
                subject.values.set(at, size);
                model[at] = size;
                subject.check(model);
            }
        }
    }
}

TEST_CASE("a chunked section has the hash that another program computes", "[sim][golden]") {
    // By tests/conformance/decode_keyframes.py, which knows the page alone.
    StateHashes hashes;
    HashSink sink;
    OutArchive archive(sink);
    TrackedVector<std::uint16_t> values;
    const auto hash = [&](std::size_t size) {
        values.resize(size);
        for (std::size_t i = 0; i < size; ++i) {
            values.set(i, static_cast<std::uint16_t>(i * 40503));
        }
        sink.begin(Tick{1234567890123}, hashes);
        archive(section("cells", CEREAL_NVP(values)));
        sink.finish();
        return to_hex(hashes.sections.at(0).hash);
    };
    CHECK(hash(0) == "de7fc77e00f223eee932cd34e69ba186");
    CHECK(hash(1) == "8e67c7abfdb9ce78ebc6296a7b71522e");
    CHECK(hash(2048) == "97a0e43594396ba59f71840e9a90fdae");
    CHECK(hash(5000) == "9ae54ab577b1e8099a11a091cf6970c5");
}

TEST_CASE("reading a tracked vector marks nothing", "[sim][unit]") {
    Subject<std::uint64_t> subject;
    subject.values.assign(10000, 5);
    static_cast<void>(subject.hash());
    // With everything marked the write below would simply be hashed.
    const TrackedVector<std::uint64_t>& values = subject.values;
    const std::uint64_t sum = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
    REQUIRE(sum + values[9999] + values.front() + values.back() + *values.data() == 50020);
    REQUIRE(subject.values.size() == 10000);
    const Hash128 before = subject.hash();
    const_cast<std::uint64_t&>(subject.values[5000]) = 6; // Planted: a write without a mark.
    Subject<std::uint64_t> other;
    other.values = subject.values;
    REQUIRE(hash_snapshot(subject.save())->sections[0].hash != before);
}

TEST_CASE("a write without a mark is found at its section and elements in time", "[sim][fault]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    constexpr std::size_t size = 3000;
    constexpr std::size_t chunks = (size * sizeof(TrackedBody) + 4095) / 4096;
    REQUIRE(chunks == 18);
    for (const std::uint32_t period : {1U, 2U, 5U, 18U, 40U}) {
        for (int round = 0; round < 6; ++round) {
            const std::size_t at = random.below(size);
            const std::size_t earlier_hashes = random.below(50);
            CAPTURE(period, at, earlier_hashes);
            Subject<TrackedBody> subject(period);
            subject.values.resize(size);
            for (std::size_t i = 0; i <= earlier_hashes; ++i) {
                static_cast<void>(subject.hash());
            }
            const std::string said = assertion_of([&] {
                const_cast<TrackedBody&>(subject.values[at]).kind ^= 1;
                for (std::uint32_t hash = 0; hash < period; ++hash) {
                    static_cast<void>(subject.hash());
                }
            });
            const std::size_t chunk = (at * sizeof(TrackedBody) + 22) / 4096;
            const std::size_t first = chunk * 4096 / sizeof(TrackedBody);
            const std::size_t last =
                std::min((chunk * 4096 + 4095) / sizeof(TrackedBody), size - 1);
            CHECK(said == "section list: elements " + std::to_string(first) + " to " +
                              std::to_string(last) + " (chunk " + std::to_string(chunk) +
                              ") were written without a mark: through a reference kept since "
                              "before the last hash");
        }
    }
}

TEST_CASE("a reference that is kept over a hash is the write that is found", "[sim][fault]") {
    Subject<std::uint64_t> subject(4);
    subject.values.assign(4 * 512, 1);
    std::uint64_t& kept = subject.values.write(700);
    kept = 2;
    static_cast<void>(subject.hash());
    REQUIRE(assertion_of([&] {
                kept = 3;
                for (int i = 0; i < 4; ++i) {
                    static_cast<void>(subject.hash());
                }
            }).find("section list: elements 512 to 1023 (chunk 1)") == 0);
    REQUIRE(assertion_of([&] {
                subject.values.write(700) = 3;
                for (int i = 0; i < 40; ++i) {
                    static_cast<void>(subject.hash());
                }
            }) == "no assertion");
}

TEST_CASE("a simulation says how often chunks are computed again", "[sim][unit]") {
    GameSimulation<TrackedGame> simulation;
    REQUIRE(simulation.recheck_hashes() == recheck_hashes_default());
    REQUIRE(simulation.reset({7, 1, {}}));
    simulation.set_recheck_hashes(1);
    ToySource source(1);
    Driver driver(simulation, source);
    static_cast<void>(simulation.hash());
    REQUIRE(driver.advance(1));
    REQUIRE(assertion_of([&] {
                // Of the cells that no step has touched yet, some lie in each chunk.
                for (std::size_t i = 0; i < 5000; i += 100) {
                    const_cast<std::uint32_t&>(simulation.game().cells()[i]) += 1;
                }
                static_cast<void>(simulation.hash());
            }).find("section cells: elements ") == 0);
    REQUIRE(assertion_of([&] { simulation.set_recheck_hashes(0); }) == "hashes >= 1");
}

TEST_CASE("a game with tracked vectors hashes as its snapshot does at every tick", "[sim][unit]") {
    GameSimulation<TrackedGame> simulation;
    GameSimulation<TrackedGame> loaded;
    REQUIRE(simulation.reset({7, 2, {}}));
    REQUIRE(loaded.reset({7, 2, {}}));
    ToySource source(2);
    Driver driver(simulation, source);
    Bytes snapshot;
    for (int tick = 0; tick < 300; ++tick) {
        simulation.save(snapshot);
        const StateHashes& direct = simulation.hash();
        const auto from_bytes = hash_snapshot(snapshot);
        REQUIRE(text_of(from_bytes) == "ok");
        REQUIRE(from_bytes->state == direct.state);
        REQUIRE(text_of(loaded.load(snapshot)) == "ok");
        REQUIRE(loaded.hash().state == direct.state);
        REQUIRE(driver.advance(1));
    }
    REQUIRE(simulation.game().bodies().size() > 0);
}

TEST_CASE("a plain list and a tracked one have other hashes, schemas and snapshots",
          "[sim][unit]") {
    std::vector<std::uint32_t> plain{1, 2, 3};
    TrackedVector<std::uint32_t> tracked;
    tracked.assign(std::span<const std::uint32_t>(plain));
    SchemaArchive plain_schema;
    SchemaArchive tracked_schema;
    plain_schema(section("a", cereal::make_nvp("list_", plain)));
    tracked_schema(section("a", cereal::make_nvp("list_", tracked)));
    REQUIRE(plain_schema.text() == "a={list:[u32]}");
    REQUIRE(tracked_schema.text() == "a={list:chunked[u32]}");
    SchemaArchive unnamed;
    TrackedVector<TrackedBody> bodies;
    unnamed(section("a", bodies));
    REQUIRE(unnamed.text() == "a={chunked[{x:i64,y:i64,angle:u32,health:u16,kind:u16}]}");
    const auto saved = [](auto& list) {
        Bytes bytes;
        write_snapshot_head(bytes, Tick{5});
        BufferSink sink(bytes);
        OutArchive archive(sink);
        archive(section("a", list));
        sink.finish();
        return bytes;
    };
    const Bytes plain_bytes = saved(plain);
    const Bytes tracked_bytes = saved(tracked);
    REQUIRE(to_hex_text(tracked_bytes).substr(28) == "8161"
                                                     "1400000000000000"
                                                     "0300000000000000"
                                                     "010000000200000003000000");
    REQUIRE(hash_snapshot(plain_bytes)->state != hash_snapshot(tracked_bytes)->state);
    const auto load = [](ByteView bytes, auto& list) {
        InArchive archive(bytes);
        REQUIRE(read_snapshot_head(archive.reader()));
        archive(section("a", list));
        return text_of(archive.finish());
    };
    REQUIRE(load(plain_bytes, tracked) == "byte 15: section.form: another layout is expected");
    REQUIRE(load(tracked_bytes, plain) == "byte 15: section.form: another layout is expected");
    REQUIRE(load(tracked_bytes, tracked) == "ok");
    REQUIRE(load(plain_bytes, plain) == "ok");
}

TEST_CASE("a tracked vector is nothing but its section's only value", "[sim][unit]") {
    // Inside anything else it would be hashed whole without a word; so nothing else compiles.
    using Vector = TrackedVector<std::uint32_t>;
    STATIC_REQUIRE_FALSE(cereal::traits::is_output_serializable<Vector, OutArchive>::value);
    STATIC_REQUIRE_FALSE(cereal::traits::is_input_serializable<Vector, InArchive>::value);
    STATIC_REQUIRE(Trackable<std::uint32_t>);
    STATIC_REQUIRE(Trackable<double>);
    STATIC_REQUIRE(Trackable<TrackedBody>);
    STATIC_REQUIRE_FALSE(Trackable<bool>);
    STATIC_REQUIRE_FALSE(Trackable<std::string>);
}

TEST_CASE("each cut and each flipped bit of a chunked section is another state or refused",
          "[sim][fault]") {
    Subject<TrackedBody> subject;
    subject.values.resize(3, {1, 2, 3, 4, 5});
    const Bytes good = subject.save();
    const Hash128 state = hash_snapshot(good)->state;
    for (std::size_t size = 14; size < good.size(); ++size) {
        Subject<TrackedBody> other;
        REQUIRE(other.load(ByteView(good).first(size)) != "ok");
        REQUIRE((size == 14 || !hash_snapshot(ByteView(good).first(size))));
    }
    for (std::size_t bit = 14 * 8; bit < good.size() * 8; ++bit) {
        Bytes bad = good;
        bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        CAPTURE(bit);
        const auto hashes = hash_snapshot(bad);
        REQUIRE((!hashes || hashes->state != state));
        Subject<TrackedBody> other;
        if (other.load(bad) == "ok") {
            REQUIRE(bit >= (14 + 5 + 16) * 8); // Elements may have any value.
            const Bytes again = other.save();
            REQUIRE(std::equal(again.begin() + 14, again.end(), bad.begin() + 14, bad.end()));
        }
    }
}

TEST_CASE("a tracked vector whose load was broken off is hashed as what it is", "[sim][fault]") {
    Subject<Picky> source;
    source.values.resize(2000, {13});
    for (Picky& one : source.values.write_range(0, 1500)) {
        one.value = 5;
    }
    const Bytes snapshot = source.save();
    for (const std::size_t size : {0U, 10U, 1900U, 3000U}) {
        Subject<Picky> subject;
        subject.values.resize(size, {7});
        static_cast<void>(subject.hash());
        REQUIRE_THROWS_AS(subject.load(snapshot), std::runtime_error);
        REQUIRE(subject.values[700].value == 5);
        const std::vector<Picky> left = subject.values.values();
        subject.check(left);
        REQUIRE(subject.load(ByteView(snapshot).first(5000)) != "ok");
        const std::vector<Picky> cut = subject.values.values();
        subject.check(cut);
    }
}

TEST_CASE("sizes and counts that lie are refused before anything is allocated", "[sim][fault]") {
    const auto snapshot = [](std::string_view section) {
        Bytes bytes;
        write_snapshot_head(bytes, Tick{0});
        const Bytes rest = from_hex_text(section);
        bytes.insert(bytes.end(), rest.begin(), rest.end());
        return bytes;
    };
    const auto hashed = [&](std::string_view section) {
        return text_of(hash_snapshot(snapshot(section)));
    };
    const auto loaded = [&](std::string_view section) {
        Subject<std::uint64_t> subject;
        const Bytes bytes = snapshot(section);
        const AllocationCounter counter;
        std::string said = subject.load(bytes);
        CHECK(counter.bytes() < 2000);
        return said;
    };
    REQUIRE(hashed("8161 0700000000000000 00000000000000") ==
            "byte 31: section.count: the value is not valid");
    REQUIRE(hashed("80 0800000000000000 0000000000000000") ==
            "byte 15: section.name: the value is not valid");
    REQUIRE(hashed("8161 ffffffffffffffff 0000000000000000") ==
            "byte 24: section.bytes: the bytes end too early");
    REQUIRE(hashed("8161 0800000000000000 0000000000000000") == "ok");
    REQUIRE(loaded("846c697374 0800000000000000 ffffffffffffffff") ==
            "byte 35: count: the bytes end too early");
    REQUIRE(loaded("846c697374 1000000000000000 0200000000000000 0000000000000000") ==
            "byte 35: count: the bytes end too early");
    REQUIRE(loaded("846c697374 1000000000000000 0000000000000000 0000000000000000") ==
            "byte 35: section.size: another layout is expected");
    REQUIRE(loaded("846c697374 0400000000000000 00000000") ==
            "byte 27: count: the bytes end too early");
}

TEST_CASE("elements encoded one by one are their memory where memory is the encoding",
          "[sim][unit]") {
    if constexpr (std::endian::native == std::endian::little) {
        TWINSTEP_SHOW_SEED();
        TestRandom random;
        const auto agree = [&random]<class T>(T) {
            std::vector<T> values(20000 / sizeof(T) + 2);
            for (T& value : values) {
                value = random_element<T>(random);
            }
            const ByteView memory = std::as_bytes(std::span(values));
            for (int round = 0; round < 50; ++round) {
                const std::size_t first = random.below(memory.size());
                Bytes target(random.below(std::min<std::size_t>(memory.size() - first, 4096) + 1));
                detail::encode_elements<T>(values.data(), first, target);
                REQUIRE(std::equal(target.begin(),
                                   target.end(),
                                   memory.begin() + static_cast<std::ptrdiff_t>(first)));
            }
        };
        agree(std::uint8_t{});
        agree(std::int32_t{});
        agree(TrackedBody{});
        agree(Slab{});
    }
}

TEST_CASE("hashing a tracked vector allocates nothing in the steady state", "[sim][unit]") {
    Subject<std::uint64_t> subject;
    subject.values.reserve(50001);
    subject.values.assign(50000, 1);
    static_cast<void>(subject.hash());
    const AllocationCounter counter;
    for (std::size_t i = 0; i < 1000; ++i) {
        subject.values.write(i * 37 % 50000) += i;
        subject.values.push_back(i);
        subject.values.pop_back();
        static_cast<void>(subject.hash());
    }
    REQUIRE(counter.count() == 0);
}

TEST_CASE("writing outside a tracked vector stops the program", "[sim][unit]") {
    TrackedVector<std::uint32_t> values(3);
    REQUIRE(assertion_of([&] { values.write(3) = 1; }) == "index < values_.size()");
    REQUIRE(assertion_of([&] { values.set(4, 1); }) == "index < values_.size()");
    REQUIRE(assertion_of([&] { static_cast<void>(values.write_range(2, 1)); }) == "begin <= end");
    REQUIRE(assertion_of([&] { static_cast<void>(values.write_range(0, 4)); }) ==
            "end <= values_.size()");
    REQUIRE(assertion_of([&] { static_cast<void>(values.write_range(3, 3)); }) == "no assertion");
    REQUIRE(assertion_of([&] {
                values.clear();
                values.pop_back();
            }) == "!values_.empty()");
}
