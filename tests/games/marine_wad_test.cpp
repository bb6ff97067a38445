// SPDX-License-Identifier: MIT
// Taking a lump out of a WAD: what is found, and what damaged archives get.
#include "marine_support.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace twinstep;
using namespace twinstep::games;
using namespace marine_test;

namespace {

/// A file that is gone after the test.
class ScratchFile {
public:
    explicit ScratchFile(const std::string& bytes) {
        static int number = 0;
        ++number;
        // The address keeps apart test cases that run at the same time.
        path_ = (std::filesystem::temp_directory_path() /
                 ("twinstep_wad_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)) + "_" +
                  std::to_string(number) + ".wad"))
                    .string();
        std::ofstream(path_, std::ios::binary) << bytes;
    }

    ~ScratchFile() { std::filesystem::remove(path_); }

    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    const std::string& path() const { return path_; }

private:
    std::string path_;
};

std::string little(std::int32_t value) {
    Bytes bytes;
    ByteWriter(bytes).u32(static_cast<std::uint32_t>(value));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string entry(std::int32_t offset, std::int32_t size, std::string name) {
    name.resize(8, '\0');
    return little(offset) + little(size) + name;
}

/// Two lumps of three and four bytes, then their directory.
std::string small_wad() {
    return "PWAD" + little(2) + little(19) + "abcdefg" + entry(12, 3, "DEMO1") +
           entry(15, 4, "DEMO2");
}

std::string with(std::string bytes, std::size_t offset, const std::string& patch) {
    return bytes.replace(offset, patch.size(), patch);
}

struct Row {
    const char* what;
    std::string bytes;
    SimErrc code;
    std::uint64_t offset;
    const char* field;
};

} // namespace

TEST_CASE("a lump is found by its name, whatever the case", "[games][marine][wad][unit]") {
    const ScratchFile file(small_wad());
    for (const char* name : {"DEMO2", "demo2"}) {
        const auto lump = read_wad_lump(file.path(), name);
        REQUIRE(lump);
        CHECK(std::string(reinterpret_cast<const char*>(lump->data()), lump->size()) == "defg");
    }
}

TEST_CASE("of two lumps with one name the last one counts", "[games][marine][wad][unit]") {
    const ScratchFile file("IWAD" + little(2) + little(14) + "ab" + entry(12, 1, "DEMO1") +
                           entry(13, 1, "DEMO1"));
    const auto lump = read_wad_lump(file.path(), "DEMO1");
    REQUIRE(lump);
    REQUIRE(lump->size() == 1);
    CHECK(lump->front() == std::byte{'b'});
}

TEST_CASE("a lump behind many others is found, and a lump may be empty",
          "[games][marine][wad][unit]") {
    std::string directory;
    for (int i = 0; i < 1000; ++i) {
        directory += entry(0, 0, "FILLER");
    }
    const ScratchFile file("IWAD" + little(1001) + little(12) + directory + entry(0, 0, "LAST"));
    const auto lump = read_wad_lump(file.path(), "LAST");
    REQUIRE(lump);
    CHECK(lump->empty());
}

TEST_CASE("a damaged WAD is refused with file, offset and field", "[games][marine][wad][fault]") {
    const std::string good = small_wad();
    const std::vector<Row> table{
        {"empty", "", SimErrc::truncated, 0, "header"},
        {"header cut", good.substr(0, 11), SimErrc::truncated, 11, "header"},
        {"magic", with(good, 0, "ZWAD"), SimErrc::malformed, 0, "magic"},
        {"count negative", with(good, 4, little(-1)), SimErrc::limit_exceeded, 4, "lumps"},
        {"count huge", with(good, 4, little(INT32_MAX)), SimErrc::limit_exceeded, 4, "lumps"},
        {"count too large", with(good, 4, little(3)), SimErrc::truncated, 8, "directory"},
        {"directory cut", good.substr(0, good.size() - 1), SimErrc::truncated, 8, "directory"},
        {"directory offset negative",
         with(good, 8, little(-5)),
         SimErrc::truncated,
         8,
         "directory"},
        {"directory beyond the end",
         with(good, 8, little(5000)),
         SimErrc::truncated,
         8,
         "directory"},
        {"lump offset beyond the end",
         with(good, 35, little(5000)),
         SimErrc::truncated,
         35,
         "DEMO2 offset"},
        {"lump offset negative",
         with(good, 35, little(-1)),
         SimErrc::truncated,
         35,
         "DEMO2 offset"},
        {"lump runs over the end",
         with(good, 39, little(37)),
         SimErrc::truncated,
         35,
         "DEMO2 offset"},
        {"lump size negative",
         with(good, 39, little(-4)),
         SimErrc::limit_exceeded,
         39,
         "DEMO2 size"},
        {"lump size huge",
         with(good, 39, little(INT32_MAX)),
         SimErrc::limit_exceeded,
         39,
         "DEMO2 size"},
    };
    for (const Row& row : table) {
        CAPTURE(row.what);
        const ScratchFile file(row.bytes);
        const auto lump = read_wad_lump(file.path(), "DEMO2");
        REQUIRE_FALSE(lump);
        CHECK(lump.error().code == make_error_code(row.code));
        CHECK(lump.error().where == file.path());
        CHECK(lump.error().offset == row.offset);
        CHECK(lump.error().field == row.field);
    }
}

TEST_CASE("a lump that is not there is named together with the demos that are",
          "[games][marine][wad][fault]") {
    const ScratchFile file(small_wad());
    const auto lump = read_wad_lump(file.path(), "DEMO7");
    REQUIRE_FALSE(lump);
    CHECK(lump.error().code == SimErrc::malformed);
    CHECK_THAT(to_string(lump.error()), Catch::Contains("no lump DEMO7; it has DEMO1, DEMO2"));
    const ScratchFile bare("IWAD" + little(0) + little(12));
    const auto none = read_wad_lump(bare.path(), "DEMO1");
    REQUIRE_FALSE(none);
    CHECK_THAT(to_string(none.error()), Catch::Contains("no DEMO lump at all"));
    CHECK_FALSE(read_wad_lump(file.path(), ""));
    CHECK_FALSE(read_wad_lump(file.path(), "NINECHARS"));
}

TEST_CASE("every prefix and every flipped bit of a small WAD is read or refused",
          "[games][marine][wad][fault]") {
    const std::string good = small_wad();
    for (std::size_t size = 0; size < good.size(); ++size) {
        CAPTURE(size);
        const ScratchFile file(good.substr(0, size));
        CHECK_FALSE(read_wad_lump(file.path(), "DEMO2"));
    }
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
        std::string bytes = good;
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
        const ScratchFile file(bytes);
        const auto lump = read_wad_lump(file.path(), "DEMO2");
        CHECK((!lump || lump->size() <= good.size()));
    }
}
