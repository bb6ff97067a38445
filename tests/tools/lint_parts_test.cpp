// SPDX-License-Identifier: MIT
// The readers and finders of lint, over files made byte by byte.
#include "lint_file.hpp"
#include "lint_names.hpp"
#include "lint_opcodes.hpp"
#include "object_files.hpp"
#include "test_random.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace twinstep;
using namespace twinstep::tools;

namespace {

/// game::step calls sinf and, one byte later, somebody's own function.
ObjectPlan calling_plan() {
    ObjectPlan plan;
    plan.code.assign(16, 0x90);
    plan.functions = {{"_ZN4game4stepEf", 0, 8}, {"other", 8, 8}};
    plan.calls = {{"sinf", 1}, {"_ZN4game3runEv", 6}, {"qsort", 9}};
    return plan;
}

Result<lint::FileReport> look(const Bytes& file, const std::vector<std::string>& allow = {}) {
    lint::AllowList allowed(allow);
    return lint::lint_bytes(file, allowed);
}

/// "function: symbol [class]" of every finding.
std::vector<std::string> shown(const lint::FileReport& report) {
    std::vector<std::string> lines;
    for (const lint::Part& part : report.parts) {
        for (const lint::Finding& finding : part.findings) {
            lines.push_back(finding.function + ": " + finding.symbol + " [" +
                            std::string(lint::name_of(finding.hazard)) + "]");
        }
    }
    return lines;
}

/// One of each kind and width.
std::vector<Bytes> small_files() {
    std::vector<Bytes> files;
    ObjectPlan plan = calling_plan();
    for (const bool wide : {false, true}) {
        plan.wide = wide;
        files.push_back(make_elf(plan));
        files.push_back(make_coff(plan));
        files.push_back(make_pe(plan));
        files.push_back(make_archive({{"a-name-of-more-than-15.o", make_elf(plan)}}));
    }
    return files;
}

const std::vector<std::string> expected_calls{"game::step: sinf [math]", "other: qsort [sort]"};

} // namespace

TEST_CASE("an ELF object of either width and byte order shows who calls what", "[tools][lint]") {
    for (const bool wide : {false, true}) {
        for (const bool big_endian : {false, true}) {
            ObjectPlan plan = calling_plan();
            plan.wide = wide;
            plan.big_endian = big_endian;
            plan.machine = 22; // no decoder
            const auto report = look(make_elf(plan));
            REQUIRE(report);
            CHECK(shown(*report) == expected_calls);
            REQUIRE(report->parts.size() == 1);
            const lint::Part& part = report->parts[0];
            CHECK(part.functions == 2);
            CHECK(part.code_bytes == 16);
            CHECK_FALSE(part.decoding.decoded);
            CHECK(part.findings[0].offset == 1);
            CHECK(part.findings[0].section == ".text");
            CHECK(part.findings[0].instead == "twinstep::math::sin");
        }
    }
}

TEST_CASE("COFF objects show the same, for many sections and in 32 bits with their marks",
          "[tools][lint]") {
    ObjectPlan plan = calling_plan();
    CHECK(shown(*look(make_coff(plan))) == expected_calls);
    CHECK(shown(*look(make_coff(plan, true))) == expected_calls);
    plan.wide = false;
    plan.calls = {{"__imp__rand", 1}, {"_qsort", 2}, {"_Sleep@4", 3}, {"_mine", 4}};
    CHECK(shown(*look(make_coff(plan))) ==
          std::vector<std::string>{"game::step: __imp__rand [random]",
                                   "game::step: _qsort [sort]",
                                   "game::step: _Sleep@4 [time]"});
}

TEST_CASE("a program of Windows shows its imports, and who calls them where code is decoded",
          "[tools][lint]") {
    for (const bool wide : {true, false}) {
        ObjectPlan plan = calling_plan();
        plan.wide = wide;
        // Calls the first slot, at 0x402000, from 0x401000; 32-bit code has the address itself.
        plan.code = wide ? std::vector<std::uint8_t>{0xff, 0x15, 0xfa, 0x0f, 0x00, 0x00, 0xc3}
                         : std::vector<std::uint8_t>{0xff, 0x15, 0x00, 0x20, 0x40, 0x00, 0xc3};
        const auto report = look(make_pe(plan));
        REQUIRE(report);
        CHECK(shown(*report) == std::vector<std::string>{": sinf [math]", ": qsort [sort]"});
        REQUIRE(report->parts.size() == 1);
        CHECK(report->parts[0].linked);
        const lint::Finding& called = report->parts[0].findings[0];
        CHECK(called.offset == (report->parts[0].decoding.decoded ? 0x401000 : 0));
    }
}

TEST_CASE("an archive's members are looked at under their names", "[tools][lint]") {
    const Bytes object = make_elf(calling_plan());
    const std::string readme = "no code at all";
    const ByteView text = std::as_bytes(std::span(readme));
    const auto report = look(make_archive({{"short.o", object},
                                           {"readme.txt", Bytes(text.begin(), text.end())},
                                           {"a-name-of-more-than-15.o", object},
                                           {"windows.obj", make_coff(calling_plan())}}));
    REQUIRE(report);
    REQUIRE(report->parts.size() == 3);
    CHECK(report->parts[0].member == "short.o");
    CHECK(report->parts[1].member == "a-name-of-more-than-15.o");
    CHECK(report->parts[2].member == "windows.obj");
    CHECK(report->without_code == 1);
    for (const lint::Part& part : report->parts) {
        CHECK(part.findings.size() == 2);
    }
}

TEST_CASE("files that lint does not read are refused, those without machine code told apart",
          "[tools][lint]") {
    const auto bytes = [](const std::string& text) {
        const ByteView view = std::as_bytes(std::span(text));
        return Bytes(view.begin(), view.end());
    };
    CHECK_FALSE(look({}));
    CHECK_FALSE(look(bytes("int main() {}")));
    const auto thin = look(bytes("!<thin>\nwhatever"));
    REQUIRE_FALSE(thin);
    CHECK(to_string(thin.error()).find("thin archive") != std::string::npos);
    const auto bitcode = look(make_archive({{"lto.o", bytes("BC\xc0\xde....")}}));
    REQUIRE(bitcode);
    REQUIRE(bitcode->unchecked.size() == 1);
    CHECK(bitcode->unchecked[0].reason.find("intermediate code") != std::string::npos);
    const auto nested = look(make_archive({{"inner.a", make_archive({})}}));
    REQUIRE(nested);
    CHECK(nested->unchecked.size() == 1);
    ObjectPlan empty;
    REQUIRE(look(make_elf(empty)));
    CHECK(look(make_elf(empty))->parts.empty());
    CHECK(look(make_elf(empty))->without_code == 1);
}

TEST_CASE("what is allowed by symbol, rule, class or place is not reported", "[tools][lint]") {
    const Bytes file = make_elf(calling_plan());
    const auto left = [&](const std::string& allow) { return shown(*look(file, {allow})); };
    const std::vector<std::string> only_qsort{expected_calls[1]};
    CHECK(left("sinf") == only_qsort);
    CHECK(left("sin") == only_qsort);
    CHECK(left("math") == only_qsort);
    CHECK(left("sin@game::step") == only_qsort);
    CHECK(left("math@other") == expected_calls);
    CHECK(left("si") == expected_calls);
    lint::AllowList allowed({"sort", "cos", "math@other"});
    REQUIRE(lint::lint_bytes(file, allowed));
    CHECK(allowed.unused() == std::vector<std::string>{"cos", "math@other"});
}

TEST_CASE("an object cut at any byte is refused or says no more than the whole",
          "[tools][lint][fault]") {
    for (const Bytes& file : {make_elf(calling_plan()),
                              make_coff(calling_plan()),
                              make_coff(calling_plan(), true),
                              make_pe(calling_plan()),
                              make_archive({{"a.o", make_elf(calling_plan())}})}) {
        std::size_t refused = 0;
        for (std::size_t size = 0; size < file.size(); ++size) {
            const auto end = file.begin() + static_cast<std::ptrdiff_t>(size);
            const auto report = look(Bytes(file.begin(), end));
            refused += report ? std::size_t{0} : std::size_t{1};
            CHECK((!report || shown(*report).size() <= 2));
        }
        CHECK(refused > file.size() / 2);
    }
}

TEST_CASE("an object with any bit flipped is read within its bounds", "[tools][lint][fault]") {
    for (const Bytes& file : small_files()) {
        for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
            Bytes flipped = file;
            flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
            const auto report = look(flipped);
            const bool code = report && !report->parts.empty();
            CHECK((!code || report->parts[0].code_bytes <= file.size()));
        }
    }
}

TEST_CASE("an object with bytes changed at random is read within its bounds",
          "[tools][lint][fault]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (const Bytes& file : small_files()) {
        for (int i = 0; i < 2'000; ++i) {
            Bytes changed = file;
            for (std::size_t n = 1 + random.below(8); n > 0; --n) {
                changed[random.below(changed.size())] = static_cast<std::byte>(random.bits());
            }
            const auto report = look(changed);
            CHECK((!report || report->parts.size() <= 1));
        }
    }
}

TEST_CASE("C++ names are paths, without parameters, templates and library versions",
          "[tools][lint]") {
    const auto path = [](std::string_view name) { return lint::readable_name(name); };
    CHECK(path("sinf") == "sinf");
    CHECK(path("_ZN4game5World4stepEf") == "game::World::step");
    CHECK(path("_ZNK4game5WorldIiSt6vectorIfSaIfEEE4stepEv") == "game::World::step");
    CHECK(path("_ZN4game12_GLOBAL__N_13runEv") == "game::(anonymous namespace)::run");
    CHECK(path("_ZNSt6chrono3_V212steady_clock3nowEv") == "std::chrono::steady_clock::now");
    CHECK(path("_ZNSt3__16chrono12steady_clock3nowEv") == "std::chrono::steady_clock::now");
    CHECK(path("_ZNSo9_M_insertIdEERSoT_") == "std::ostream::_M_insert");
    CHECK(path("_ZNSolsEi") == "std::ostream::operator<<");
    // tidy: allow c-random: a name.
    CHECK(path("_ZNSt13random_deviceC1Ev") == "std::random_device::random_device");
    CHECK(path("_ZNSt6localeD1Ev") == "std::locale::~locale");
    CHECK(path("_ZZN4game4stepEfENKUlfE_clEf") == "game::step::{lambda}::operator()");
    CHECK(path("_ZL5localv") == "local");
    CHECK(path("_ZSt11_Hash_bytesPKvmm") == "std::_Hash_bytes");
    CHECK(path("_ZN4gameL6hiddenILj32ELb1EEEvv") == "game::hidden");
    for (const std::string cut : {"_Z", "_ZN4game4stepILNS", "_ZN4game4stepILN1aS", "_ZN1aID"}) {
        CHECK(path(cut) == cut);
    }
    CHECK(path("_ZN9999999999999999999999999999999a") == "_ZN9999999999999999999999999999999a");
    CHECK(path(std::string(5'000, 'x')).size() == lint::shown_name_bytes_max + 3);
}

TEST_CASE("names as C libraries, compilers and systems spell them come under one rule",
          "[tools][lint]") {
    const auto rule = [](std::string_view symbol, bool coff = false) {
        const auto verdict = lint::judge_function(lint::plain_name(symbol, false), coff);
        return verdict ? verdict->base : std::string("-");
    };
    for (const char* name : {"sin",
                             "sinf",
                             "sinl",
                             "sinf128",
                             "__sin_finite",
                             "__sinf_finite",
                             "sin@GLIBC_2.2.5",
                             "sin@@GLIBC_2.29",
                             "_ZGVbN2v_sin",
                             "_ZGVdN8v_sinf"}) {
        CHECK(rule(name) == "sin");
    }
    CHECK(rule("__isoc99_sscanf") == "sscanf");
    CHECK(rule("__isoc23_strtod") == "strtod");
    CHECK(rule("__printf_chk") == "printf");
    CHECK(rule("__mingw_vsnprintf") == "vsnprintf");
    CHECK(rule("__imp_QueryPerformanceCounter", true) == "QueryPerformanceCounter");
    CHECK(rule("sqrt", true) == "sqrt");
    for (const char* name : {"sqrt",
                             "sqrtf",
                             "floor",
                             "fabsf",
                             "memcpy",
                             "strtol",
                             "_ZGVN4game1xE",
                             "malloc",
                             "fmod",
                             "puts",
                             "sine",
                             "my_sin"}) {
        CHECK(rule(name) == "-");
    }
}

TEST_CASE("AArch64 instructions are told by their bits", "[tools][lint]") {
    const auto name = [](std::uint32_t word) { return lint::aarch64_opcode(word).mnemonic; };
    // As GNU as encodes them; lint_test.py compares with an assembler where there is one.
    CHECK(name(0x1f420020) == "fmadd");   // fmadd d0, d1, d2, d0
    CHECK(name(0x1f028020) == "fmsub");   // fmsub s0, s1, s2, s0
    CHECK(name(0x1f620020) == "fnmadd");  // fnmadd d0, d1, d2, d0
    CHECK(name(0x4e22cc20) == "fmla");    // fmla v0.4s, v1.4s, v2.4s
    CHECK(name(0x4ee2cc20) == "fmls");    // fmls v0.2d, v1.2d, v2.2d
    CHECK(name(0x4f821020) == "fmla");    // fmla v0.4s, v1.4s, v2.s[0]
    CHECK(name(0x4ea1d820) == "frecpe");  // frecpe v0.4s, v1.4s
    CHECK(name(0x7ea1d820) == "frsqrte"); // frsqrte s0, s1
    CHECK(name(0xd51b4400) == "msr fpcr");
    for (const std::uint32_t word : {0x1e620820U, // fmul d0, d1, d2
                                     0x1e622820U, // fadd d0, d1, d2
                                     0x4e22d420U, // fadd v0.4s, v1.4s, v2.4s
                                     0x6e22dc20U, // fmul v0.4s, v1.4s, v2.4s
                                     0x4ea29420U, // mla v0.4s, v1.4s, v2.4s
                                     0x1e61c020U, // fsqrt d0, d1
                                     0x9b020020U, // madd x0, x1, x2, x0
                                     0xd53b4400U, // mrs x0, fpcr
                                     0xd503201fU, // nop
                                     0x00000000U}) {
        CHECK(name(word).empty());
    }
}

TEST_CASE("data among AArch64 code is no instruction", "[tools][lint]") {
    ObjectPlan plan;
    plan.machine = 183;
    for (int i = 0; i < 3; ++i) { // fmadd d0, d1, d2, d0
        plan.code.insert(plan.code.end(), {0x20, 0x00, 0x42, 0x1f});
    }
    plan.functions = {{"step", 0, 12}, {"$x", 0, 0}, {"$d.1", 4, 0}, {"$x.2", 8, 0}};
    const auto report = look(make_elf(plan));
    REQUIRE(report);
    REQUIRE(report->parts[0].findings.size() == 1);
    const lint::Finding& finding = report->parts[0].findings[0];
    CHECK(finding.function == "step");
    CHECK(finding.symbol == "fmadd");
    CHECK(finding.offset == 0);
    CHECK(finding.places == 2);
    CHECK(report->parts[0].decoding.skipped_bytes == 4);
}

#if TWINSTEP_LINT_ZYDIS
TEST_CASE("x86 instructions are found in each function, also behind bytes that are none",
          "[tools][lint]") {
    ObjectPlan plan;
    plan.code = {0xc4, 0xe2, 0xf1, 0xb9, 0xc2, // vfmadd231sd xmm0, xmm1, xmm2
                 0x0f, 0x53, 0xc1,             // rcpps xmm0, xmm1
                 0xd9, 0xfe,                   // fsin
                 0x0f, 0xae, 0x10,             // ldmxcsr [rax]
                 0xd9, 0x28,                   // fldcw [rax]
                 0x06, // none in 64 bits, and then the begin of a longer one
                 0x48, 0xf3, 0x0f, 0x52, 0xc1, // rsqrtss xmm0, xmm1
                 0xf2, 0x0f, 0x51, 0xc1};      // sqrtsd xmm0, xmm1
    plan.functions = {{"first", 0, 17}, {"second", 17, 8}};
    const auto report = look(make_elf(plan));
    REQUIRE(report);
    CHECK(shown(*report) == std::vector<std::string>{"first: vfmadd231sd [fused]",
                                                     "first: rcpps [estimate]",
                                                     "first: fsin [x87]",
                                                     "first: ldmxcsr [float-mode]",
                                                     "first: fldcw [float-mode]",
                                                     "second: rsqrtss [estimate]"});
    CHECK(report->parts[0].decoding.decoded);
    CHECK(report->parts[0].decoding.skipped_bytes == 2);
    CHECK(shown(*look(make_elf(plan), {"fused", "rcpps", "x87", "float-mode"})) ==
          std::vector<std::string>{"second: rsqrtss [estimate]"});
}

TEST_CASE("on 32-bit x86 values may travel through the x87, and not be computed there",
          "[tools][lint]") {
    ObjectPlan plan;
    plan.wide = false;
    plan.machine = 3;
    plan.code = {0xd9,
                 0x45,
                 0x08, // fld dword [ebp + 8]
                 0xd9,
                 0x5d,
                 0xfc, // fstp dword [ebp - 4]
                 0xd9,
                 0x6d,
                 0xf0, // fldcw [ebp - 16]
                 0xde,
                 0xc9}; // fmulp
    plan.functions = {{"step", 0, 11}};
    CHECK(shown(*look(make_elf(plan))) == std::vector<std::string>{"step: fmulp [x87]"});
}
#endif

TEST_CASE("sections that share their bytes do not multiply the work", "[tools][lint][fault]") {
    ObjectPlan plan = calling_plan();
    plan.code.assign(4'096, 0x90);
    Bytes file = make_elf(plan);
    // A table of 60,000 more sections, each with all the code.
    const std::size_t table = file.size() - 6 * 64;
    const Bytes code(file.begin() + static_cast<std::ptrdiff_t>(table + 64),
                     file.begin() + static_cast<std::ptrdiff_t>(table + 128));
    for (int i = 0; i < 60'000; ++i) {
        file.insert(file.end(), code.begin(), code.end());
    }
    file[60] = static_cast<std::byte>(60'006 & 255);
    file[61] = static_cast<std::byte>(60'006 >> 8);
    const auto report = look(file);
    REQUIRE_FALSE(report);
    CHECK(report.error().code == SimErrc::limit_exceeded);
}
