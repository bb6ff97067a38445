#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""twinstep lint over objects, archives and programs that compilers make here: each hazard planted
and found, clean code clean, and every answer with its exit code."""

import pathlib
import re
import shutil
import subprocess
import unittest

from support import CommandTest, run

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
AARCH64 = "aarch64-linux-gnu-g++"
S390X = "s390x-linux-gnu-g++"
I686 = "i686-linux-gnu-g++"
MINGW = "x86_64-w64-mingw32-g++"

# Function, symbol, class; the body calls the symbol.
PLANTED_C = [
    ("sine", "sinf", "math", "return sinf(x);", "float sinf(float);"),
    ("power", "pow", "math", "return (float)pow(x, 2.5);", "double pow(double, double);"),
    ("finite", "__exp_finite", "math", "return (float)__exp_finite(x);",
     "double __exp_finite(double);"),
    ("vector", "_ZGVbN4v_sinf", "math", "return _ZGVbN4v_sinf(x);", "float _ZGVbN4v_sinf(float);"),
    ("smaller", "fmin", "math", "return (float)fmin(x, 2);", "double fmin(double, double);"),
    ("once", "fma", "fused", "return (float)fma(x, x, x);", "double fma(double, double, double);"),
    ("dice", "rand", "random", "return (float)rand();", "int rand();"),
    ("seconds", "time", "time", "return (float)time(0);", "long time(long*);"),
    ("ticks", "clock_gettime", "time", "return (float)clock_gettime(0, 0);",
     "int clock_gettime(int, void*);"),
    ("small", "tolower", "locale", "return (float)tolower((int)x);", "int tolower(int);"),
    ("sorted", "qsort", "sort", "qsort(&x, 1, 4, 0); return x;",
     "void qsort(void*, unsigned long, unsigned long, int (*)(const void*, const void*));"),
    ("parsed", "strtod", "text", 'return (float)strtod("1", 0);',
     "double strtod(const char*, char**);"),
    ("scanned", "__isoc99_sscanf", "text", '__isoc99_sscanf("1", "%f", &x); return x;',
     "int __isoc99_sscanf(const char*, const char*, ...);"),
    ("checked", "__sprintf_chk", "text", 'char b[9]; __sprintf_chk(b, 1, 9, "%f", x); return b[0];',
     "int __sprintf_chk(char*, int, unsigned long, const char*, ...);"),
    ("home", "getenv", "environment", 'return getenv("HOME") ? x : 1;',
     "char* getenv(const char*);"),
    ("self", "pthread_self", "thread", "return (float)pthread_self();",
     "unsigned long pthread_self();"),
    ("rounded", "fesetround", "float-mode", "return (float)fesetround(0);", "int fesetround(int);"),
]

PLANTED_CPP = """
#include <algorithm>
#include <chrono>
#include <locale>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>
namespace game {
unsigned entropy() { std::random_device d; return d(); }
long now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
long today() { return std::chrono::system_clock::now().time_since_epoch().count(); }
bool words() { std::locale here; return here == std::locale(); }
unsigned long hashed(const std::string& s) { return std::hash<std::string>()(s); }
int counted(int n) {
    std::unordered_map<int, int> m;
    for (int i = 0; i < n; ++i) { m[i * n] = i; }
    return m.begin()->second;
}
void ordered(std::vector<float>& v) { std::sort(v.begin(), v.end()); }
int drawn(std::mt19937& g) { std::uniform_int_distribution<int> d(1, 6); return d(g); }
}
"""

CLEAN = """
#include <cmath>
#include <vector>
namespace game {
float step(const std::vector<float>& v) {
    float sum = 0;
    for (const float x : v) { sum = sum * 0.5F + std::sqrt(x) / 3.0F; }
    return sum;
}
}
"""

MULTIPLY_ADD = "float step(float a, float b, float c) { return a * b + c; }"

AARCH64_BANNED = """
fmadd s0, s1, s2, s3
fmadd h0, h1, h2, h3
fmsub d0, d1, d2, d3
fnmadd s0, s1, s2, s3
fnmsub d0, d1, d2, d3
fmla v0.2s, v1.2s, v2.2s
fmla v0.2d, v1.2d, v2.2d
fmla v0.8h, v1.8h, v2.8h
fmls v0.4s, v1.4s, v2.4s
fmls v0.4h, v1.4h, v2.4h
fmla v0.4s, v1.4s, v2.s[3]
fmla v0.2d, v1.2d, v2.d[1]
fmla v0.8h, v1.8h, v2.h[7]
fmls v0.2s, v1.2s, v2.s[1]
fmls v0.8h, v1.8h, v2.h[1]
fmla s0, s1, v2.s[2]
fmls d0, d1, v2.d[1]
fmla h0, h1, v2.h[5]
fmlal v0.4s, v1.4h, v2.4h
fmlsl v0.4s, v1.4h, v2.4h
fmlal2 v0.4s, v1.4h, v2.4h
fmlsl2 v0.4s, v1.4h, v2.4h
fmlal v0.4s, v1.4h, v2.h[3]
fmlsl v0.4s, v1.4h, v2.h[3]
fmlal2 v0.4s, v1.4h, v2.h[3]
fmlsl2 v0.4s, v1.4h, v2.h[3]
fcmla v0.4s, v1.4s, v2.4s, #90
fcmla v0.2d, v1.2d, v2.2d, #270
fcmla v0.4s, v1.4s, v2.s[1], #90
fcmla v0.4h, v1.4h, v2.h[1], #180
fmla z0.s, p1/m, z2.s, z3.s
fmls z0.d, p1/m, z2.d, z3.d
fnmla z0.s, p1/m, z2.s, z3.s
fnmls z0.h, p1/m, z2.h, z3.h
fmad z0.s, p1/m, z2.s, z3.s
fmsb z0.d, p1/m, z2.d, z3.d
fnmad z0.s, p1/m, z2.s, z3.s
fnmsb z0.d, p1/m, z2.d, z3.d
fmla z0.s, z1.s, z2.s[1]
fmla z0.h, z1.h, z2.h[6]
fmls z0.d, z1.d, z2.d[1]
fcmla z0.s, p1/m, z2.s, z3.s, #90
frecpe v0.4s, v1.4s
frecpe d0, d1
frecpe v0.8h, v1.8h
frecpe h0, h1
frecpe z0.s, z1.s
frsqrte v0.2d, v1.2d
frsqrte s0, s1
frsqrte v0.4h, v1.4h
frsqrte h0, h1
frsqrte z0.d, z1.d
frecps v0.4s, v1.4s, v2.4s
frecps s0, s1, s2
frsqrts v0.2d, v1.2d, v2.2d
frsqrts d0, d1, d2
urecpe v0.4s, v1.4s
ursqrte v0.2s, v1.2s
msr fpcr, x3
""".strip().splitlines()

AARCH64_CLEAN = """
fmul s0, s1, s2
fnmul d0, d1, d2
fadd v0.4s, v1.4s, v2.4s
fsub v0.2d, v1.2d, v2.2d
fmul v0.4s, v1.4s, v2.s[3]
fmulx v0.4s, v1.4s, v2.s[3]
fmulx v0.4s, v1.4s, v2.4s
fdiv d0, d1, d2
fsqrt v0.4s, v1.4s
fcmeq v0.4s, v1.4s, v2.4s
fcadd v0.4s, v1.4s, v2.4s, #90
fabd v0.4s, v1.4s, v2.4s
faddp v0.4s, v1.4s, v2.4s
fmaxnm v0.4s, v1.4s, v2.4s
fcvtzs w0, s1
scvtf s0, w1
madd x0, x1, x2, x3
msub w0, w1, w2, w3
mla v0.4s, v1.4s, v2.4s
mls v0.8h, v1.8h, v2.h[3]
smlal v0.4s, v1.4h, v2.4h
umlal v0.4s, v1.4h, v2.h[1]
sqdmlal v0.4s, v1.4h, v2.h[1]
sqrdmlah v0.4s, v1.4s, v2.4s
sdot v0.4s, v1.16b, v2.16b
udot v0.4s, v1.16b, v2.4b[1]
mla z0.s, p1/m, z2.s, z3.s
mad z0.s, p1/m, z2.s, z3.s
fadd z0.s, z1.s, z2.s
fmul z0.s, z1.s, z2.s[1]
frint32x s0, s1
fcmgt v0.4s, v1.4s, #0.0
cnt v0.16b, v1.16b
rbit v0.16b, v1.16b
mrs x3, fpcr
msr fpsr, x3
ldr x1, [x2, #8]
""".strip().splitlines()


def has(compiler):
    return shutil.which(compiler) is not None


class LintTest(CommandTest):
    def build(self, name, source, *options, compiler="g++", suffix=".cpp"):
        text = self.folder / (pathlib.Path(name).stem + suffix)
        text.write_text(source)
        made = self.folder / name
        done = subprocess.run(
            [compiler, "-o", made, *options, text], capture_output=True, check=False, timeout=120
        )
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return made

    def found(self, answer):
        return {(f["function"], f["symbol"].split("@")[0], f["class"]) for f in answer["findings"]}

    def planted(self):
        lines = [f'extern "C" {declaration}' for *_, declaration in PLANTED_C]
        lines += [
            f"namespace game {{ float {function}(float x) {{ {body} }} }}"
            for function, _, _, body, _ in PLANTED_C
        ]
        return "\n".join(lines)

    def expected(self):
        return {(f"game::{f}", symbol, hazard) for f, symbol, hazard, *_ in PLANTED_C}


@unittest.skipUnless(has("g++"), "no g++")
class NativeTest(LintTest):
    def test_each_kind_of_call_is_found_with_function_place_and_substitute(self):
        made = self.build("planted.o", self.planted(), "-c", "-O2", "-fno-builtin")
        answer = self.json("lint", made, code=1)
        self.assertEqual(self.found(answer), self.expected())
        self.assertEqual(answer["files"], 1)
        self.assertEqual(answer["functions"], str(len(PLANTED_C)))
        self.assertEqual(answer["unchecked"], [])
        sine = next(f for f in answer["findings"] if f["symbol"] == "sinf")
        self.assertEqual(sine["instead"], "twinstep::math::sin")
        self.assertEqual(sine["file"], str(made))
        self.assertGreaterEqual(int(sine["offset"]), 0)
        for finding in answer["findings"]:
            self.assertTrue(finding["instead"], finding)
        text = run("lint", made)
        self.assertEqual(text.returncode, 1)
        self.assertRegex(
            text.stdout,
            r"planted\.o: game::sine: sinf \[math\] at \.text\S*\+0x[0-9a-f]+: "
            r"use twinstep::math::sin\n",
        )
        self.assertEqual(len(text.stdout.splitlines()), len(PLANTED_C) + 1)
        self.assertEqual(text.stderr, "")

    def test_the_standard_library_of_cpp_is_seen_through(self):
        made = self.build("cpp.o", PLANTED_CPP, "-c", "-O2")
        found = self.found(self.json("lint", made, code=1))
        for function, hazard, symbol in [
            ("game::entropy", "random", r"std::random_device::_M_getval"),
            ("game::now", "time", r"std::chrono::steady_clock::now"),
            ("game::today", "time", r"std::chrono::system_clock::now"),
            ("game::words", "locale", r"std::locale::locale"),
            ("game::hashed", "hash", r"std::_Hash_bytes"),
            (".*", "hash", r"std::__detail::_Prime_rehash_policy::_M_need_rehash"),
            (".*", "sort", r"std::__introsort_loop"),
            (".*", "random", r"std::uniform_int_distribution::operator\(\)"),
        ]:
            self.assertTrue(
                any(
                    re.fullmatch(function, f) and re.fullmatch(symbol, s) and h == hazard
                    for f, s, h in found
                ),
                (function, symbol, sorted(found)),
            )

    def test_clean_code_is_clean(self):
        for options in (["-O0"], ["-O2"], ["-O3", "-march=haswell", "-ffp-contract=off"]):
            made = self.build("clean.o", CLEAN, "-c", *options)
            answer = self.json("lint", made)
            self.assertEqual(answer["findings"], [])
            self.assertGreater(int(answer["code_bytes"]), 0)

    def test_linked_code_has_versions_and_names_the_callers_even_stripped(self):
        source = PLANTED_CPP + MULTIPLY_ADD + (
            '\nextern "C" { float sinf(float); int rand(); }\n'
            "__attribute__((noinline)) float turn(float x) { return sinf(x); }\n"
            "int main(int n, char**) { return (int)turn((float)n) + rand() + (int)game::now(); }\n"
        )
        for options in (["-fPIE", "-pie"], ["-no-pie"], ["-fno-plt", "-pie", "-fPIE"]):
            program = self.build("program", source, "-O2", "-fno-builtin", *options)
            answer = self.json("lint", program, code=1)
            found = self.found(answer)
            if "imports only" not in answer["coverage"][0]["checked"]:
                self.assertIn(("turn", "sinf", "math"), found, options)
                self.assertIn(("main", "rand", "random"), found, options)
            sine = next(f for f in answer["findings"] if f["symbol"].startswith("sinf"))
            self.assertRegex(sine["symbol"], r"^sinf@GLIBC_\d")
            subprocess.run(["strip", program], check=True)
            answer = self.json("lint", program, code=1)
            self.assertTrue(any(f["symbol"].startswith("sinf@") for f in answer["findings"]))

    def test_instructions_are_found_where_this_build_decodes_them(self):
        options = ["-c", "-O2", "-march=haswell", "-ffp-contract=fast"]
        fused = self.build("fused.o", MULTIPLY_ADD, *options)
        answer = self.json("lint", self.build("c.o", CLEAN, "-c", "-O2"))
        if not answer["coverage"][0]["checked"].startswith("imports and instructions"):
            self.assertIn("imports only: this build has no decoder", run("lint", fused).stdout)
            return
        answer = self.json("lint", fused, code=1)
        self.assertRegex(answer["findings"][0]["symbol"], "^vfmadd[0-9]+ss$")
        self.assertEqual(answer["findings"][0]["class"], "fused")
        self.json("lint", fused, "--allow", "fused")
        for body, hazard in [
            ("asm volatile(\"rcpps %xmm0, %xmm1\");", "estimate"),
            ("asm volatile(\"vrsqrtss %xmm0, %xmm1, %xmm2\");", "estimate"),
            ("asm volatile(\"fsin\");", "x87"),
            ("unsigned m = 0x9fc0; asm volatile(\"ldmxcsr %0\" : : \"m\"(m));", "float-mode"),
            ("unsigned short m = 0x37f; asm volatile(\"fldcw %0\" : : \"m\"(m));", "float-mode"),
        ]:
            made = self.build("op.o", f"void step() {{ {body} }}", "-c", "-O2")
            answer = self.json("lint", made, code=1)
            self.assertEqual([f["class"] for f in answer["findings"]], [hazard], body)
            self.assertEqual(answer["findings"][0]["function"], "step")
        source = "long double step(long double x) { return x * x; }"
        wide = self.build("wide.o", source, "-c", "-O2")
        self.assertEqual({f["class"] for f in self.json("lint", wide, code=1)["findings"]}, {"x87"})

    def test_start_up_code_of_fast_math_is_found_even_stripped(self):
        source = "int main() { return 0; }"
        self.json("lint", self.build("exact", source, "-O2"))
        fast = self.build("fast", source, "-O2", "-ffast-math")
        answer = self.json("lint", fast, code=1)
        self.assertIn(("set_fast_math", "set_fast_math", "fast-math"), self.found(answer))
        subprocess.run(["strip", fast], check=True)
        answer = run("lint", fast)
        if "imports only" not in answer.stdout:
            self.assertEqual(answer.returncode, 1)
            self.assertIn("[fast-math]", answer.stdout)

    def test_archives_name_the_member_thin_and_empty_ones_are_told_apart(self):
        long_name = "a-planted-object-of-a-long-name.o"
        planted = self.build(long_name, self.planted(), "-c", "-fno-builtin")
        clean = self.build("clean.o", CLEAN, "-c")
        archive, thin, empty = (self.folder / n for n in ("all.a", "thin.a", "empty.a"))
        subprocess.run(["ar", "rcs", archive, clean, planted], check=True)
        subprocess.run(["ar", "rcsT", thin, clean], check=True)
        subprocess.run(["ar", "rcs", empty], check=True)
        answer = self.json("lint", archive, code=1)
        self.assertEqual({f["member"] for f in answer["findings"]}, {planted.name})
        self.assertEqual(self.found(answer), self.expected())
        self.assertEqual(answer["objects"], "2")
        self.refused("lint", thin, code=1, mentions=["thin archive"])
        self.refused("lint", empty, code=6, mentions=["no code"])

    def test_intermediate_code_is_not_taken_for_checked(self):
        lto = self.build("lto.o", self.planted(), "-c", "-O2", "-flto", "-fno-fat-lto-objects")
        self.refused("lint", lto, code=6, mentions=["intermediate code"])
        clean = self.build("clean.o", CLEAN, "-c")
        answer = self.json("lint", clean, lto, code=6)
        self.assertEqual([u["file"] for u in answer["unchecked"]], [str(lto)])
        options = ["-c", "-flto", "-ffat-lto-objects", "-fno-builtin"]
        fat = self.build("fat.o", self.planted(), *options)
        self.assertEqual(self.found(self.json("lint", fat, code=1)), self.expected())

    @unittest.skipUnless(has("clang++"), "no clang++")
    def test_bitcode_is_not_taken_for_checked(self):
        made = self.build("bitcode.o", CLEAN, "-c", "-flto", compiler="clang++")
        self.refused("lint", made, code=6, mentions=["intermediate code"])

    def test_what_has_no_code_and_what_cannot_be_read_have_exit_codes_of_their_own(self):
        data = self.build("data.o", "int table[4] = {1, 2, 3, 4};", "-c")
        self.refused("lint", data, code=6, mentions=["no code"])
        text = self.folder / "text.o"
        text.write_text("no object")
        self.refused("lint", text, code=1, mentions=["text.o", "neither ELF"])
        self.refused("lint", self.folder / "none.o", code=1, mentions=["none.o"])
        self.refused("lint", self.folder, code=1)
        self.refused("lint", code=2)
        clean = self.build("clean.o", CLEAN, "-c")
        whole = clean.read_bytes()
        clean.write_bytes(whole[: len(whole) // 2])
        self.refused("lint", clean, code=1, mentions=["clean.o"])
        # One that cannot be read does not hide what is in the others.
        planted = self.build("planted.o", self.planted(), "-c", "-fno-builtin")
        answer = self.json("lint", text, planted, code=1)
        self.assertEqual(self.found(answer), self.expected())
        self.assertEqual([f["file"] for f in answer["failures"]], [str(text)])

    def test_what_is_allowed_is_counted_and_what_allows_nothing_is_named(self):
        planted = self.build("planted.o", self.planted(), "-c", "-fno-builtin")
        allow = self.folder / "allow.txt"
        allow.write_text(
            "# reasons\n\n"
            + "".join(f"{symbol}@game::{f}  # why\n" for f, symbol, *_ in PLANTED_C)
            + "cosf # unused\n"
        )
        answer = self.json("lint", planted, "--allow-file", allow)
        self.assertEqual(answer["allowed"], str(len(PLANTED_C)))
        self.assertEqual(answer["unused_allows"], ["cosf"])
        noted = run("lint", planted, "--allow-file", allow)
        self.assertEqual(noted.returncode, 0)
        self.assertIn("--allow cosf: nothing of that name was found", noted.stderr)
        answer = self.json("lint", planted, "--allow", "math", "--allow", "rand", code=1)
        self.assertEqual(
            self.found(answer),
            {f for f in self.expected() if f[2] != "math" and f[1] != "rand"},
        )
        self.refused("lint", planted, "--allow-file", self.folder / "no.txt", code=1)


class CrossTest(LintTest):
    @unittest.skipUnless(has(AARCH64), f"no {AARCH64}")
    def test_aarch64_instructions_are_those_of_the_assembler(self):
        # A function for each, so that each is told from the others.
        lines = [".arch armv8.6-a+fp16+fp16fml+sve", ".text"]
        for number, instruction in enumerate(AARCH64_BANNED + AARCH64_CLEAN):
            lines += [f".type f{number}, %function", f"f{number}:", instruction, "ret"]
            lines += [f".size f{number}, . - f{number}"]
        made = self.build("a.o", "\n".join(lines) + "\n", "-c", compiler=AARCH64, suffix=".s")
        answer = self.json("lint", made, code=1)
        found = {f["function"]: f["symbol"] for f in answer["findings"]}
        expected = {
            f"f{number}": "msr fpcr" if line.startswith("msr") else line.split()[0]
            for number, line in enumerate(AARCH64_BANNED)
        }
        self.assertEqual(found, expected)
        self.assertEqual(answer["coverage"][0]["checked"], "imports and instructions")

    @unittest.skipUnless(has(AARCH64), f"no {AARCH64}")
    def test_aarch64_calls_and_contraction_are_found_in_objects_and_programs(self):
        options = ["-c", "-O2", "-fno-builtin"]
        made = self.build("planted.o", self.planted(), *options, compiler=AARCH64)
        self.assertEqual(self.found(self.json("lint", made, code=1)), self.expected())
        source = MULTIPLY_ADD + (
            '\nextern "C" float sinf(float);\n'
            "__attribute__((noinline)) float turn(float x) { return sinf(x) + 1; }\n"
            "int main(int n, char**) { return (int)(turn((float)n) + step((float)n, 2, 3)); }\n"
        )
        for options in ([], ["-no-pie"], ["-fno-plt"]):
            program = self.build("p", source, "-O2", "-fno-builtin", "-ffp-contract=fast", *options,
                                 compiler=AARCH64)
            found = self.found(self.json("lint", program, code=1))
            self.assertIn(("turn", "sinf", "math"), found, options)
            self.assertIn(("step", "fmadd", "fused"), found, options)
        exact = self.build("e.o", MULTIPLY_ADD, "-c", "-O2", "-ffp-contract=off", compiler=AARCH64)
        self.json("lint", exact)

    @unittest.skipUnless(has(S390X), f"no {S390X}")
    def test_code_that_is_not_decoded_says_so_and_shows_its_calls(self):
        made = self.build("planted.o", self.planted(), "-c", "-fno-builtin", compiler=S390X)
        answer = self.json("lint", made, code=1)
        self.assertEqual(self.found(answer), self.expected())
        self.assertEqual(answer["coverage"][0]["target"], "ELF s390, big-endian")
        self.assertIn("imports only", answer["coverage"][0]["checked"])
        self.assertIn("imports only", run("lint", made).stdout)

    @unittest.skipUnless(has(I686), f"no {I686}")
    def test_32_bit_code_is_read(self):
        source = MULTIPLY_ADD + 'extern "C" int rand(); int dice() { return rand(); }'
        made = self.build("x87.o", source, "-c", "-O2", "-mfpmath=387", compiler=I686)
        answer = self.json("lint", made, code=1)
        self.assertIn(("dice", "rand", "random"), self.found(answer))
        if "imports only" not in answer["coverage"][0]["checked"]:
            self.assertIn("x87", {f["class"] for f in answer["findings"]})
        options = ["-c", "-O2", "-msse2", "-mfpmath=sse"]
        made = self.build("sse.o", MULTIPLY_ADD, *options, compiler=I686)
        self.json("lint", made)

    @unittest.skipUnless(has(MINGW), f"no {MINGW}")
    def test_objects_archives_and_programs_of_windows_are_read(self):
        source = (
            '#include <windows.h>\nextern "C" { float sinf(float); }\n'
            "__attribute__((noinline)) long long game_ticks_of_a_long_name() {\n"
            " LARGE_INTEGER n; QueryPerformanceCounter(&n); return n.QuadPart; }\n"
            "__attribute__((noinline)) float turn(float x) { return sinf(x); }\n"
            "int main(int n, char**) {\n"
            " return (int)turn((float)n) + (int)game_ticks_of_a_long_name(); }\n"
        )
        for options in ([], ["-Wa,-mbig-obj"]):
            options = ["-c", "-O1", "-fno-builtin", *options]
            made = self.build("w.obj", source, *options, compiler=MINGW)
            found = self.found(self.json("lint", made, code=1))
            self.assertEqual(
                found,
                {
                    ("game_ticks_of_a_long_name", "__imp_QueryPerformanceCounter", "time"),
                    ("turn", "sinf", "math"),
                },
            )
        archive = self.folder / "w.a"
        subprocess.run(["x86_64-w64-mingw32-ar", "rcs", archive, made], check=True)
        self.assertEqual(self.found(self.json("lint", archive, code=1)), found)
        program = self.build("w.exe", source, "-O1", "-fno-builtin", compiler=MINGW)
        answer = self.json("lint", program, code=1)
        self.assertIn(
            "QueryPerformanceCounter", {f["symbol"] for f in answer["findings"]}, answer["coverage"]
        )
        if "imports only" not in answer["coverage"][0]["checked"]:
            self.assertIn(
                ("game_ticks_of_a_long_name", "QueryPerformanceCounter", "time"), self.found(answer)
            )
        # The stub of an import has its name and is no finding of its own.
        stubs = {f["function"] for f in answer["findings"] if f["function"] == f["symbol"]}
        self.assertNotIn("QueryPerformanceCounter", stubs)


class ClangTidyTest(LintTest):
    """The configuration that docs/lint.md gives to games."""

    CONFIGURATION = REPOSITORY / "docs" / "lint" / "clang-tidy.yaml"

    def refused_checks(self, source):
        (self.folder / ".clang-tidy").write_text(self.CONFIGURATION.read_text())
        text = self.folder / "step.cpp"
        text.write_text(source)
        done = subprocess.run(
            ["clang-tidy", "--quiet", text, "--", "-std=c++20"],
            capture_output=True,
            check=False,
            timeout=120,
        )
        output = done.stdout.decode()
        self.assertNotIn("Error parsing", output + done.stderr.decode())
        return output, set(re.findall(r"\[([\w.-]+),-warnings-as-errors\]", output))

    @unittest.skipUnless(has("clang-tidy"), "no clang-tidy")
    def test_it_loads_and_refuses_what_it_says(self):
        headers = ["chrono", "random", "cmath", "unordered_map", "thread", "cstdlib", "cstdio"]
        output, checks = self.refused_checks(
            "".join(f"#include <{header}>\n" for header in headers)
            + "#include <cstring>\n"
            "struct Padded { char a; int b; };\n"
            "bool same(const Padded& x, const Padded& y)"
            " { return std::memcmp(&x, &y, sizeof x) == 0; }\n"
            "float sum() { float s = 0; for (float x = 0; x < 1; x += 0.1F) { s += x; }"
            " return s; }\n"
            "int drawn() { int n; n = std::rand(); return n; }\n"
        )
        for header in headers:
            self.assertIn(f"system include {header} not allowed", output)
        self.assertLessEqual(
            {
                "portability-restrict-system-includes",
                "bugprone-suspicious-memory-comparison",
                "cert-flp30-c",
                "cert-msc50-cpp",
                "cppcoreguidelines-init-variables",
            },
            checks,
        )

    @unittest.skipUnless(has("clang-tidy"), "no clang-tidy")
    def test_it_lets_a_clean_step_pass(self):
        output, checks = self.refused_checks(
            "#include <cstdint>\n#include <map>\n#include <vector>\n"
            "std::int32_t sum(const std::vector<std::int32_t>& values) {\n"
            "    std::int32_t total = 0;\n"
            "    for (const std::int32_t value : values) { total += value; }\n"
            "    return total;\n}\n"
        )
        self.assertEqual(checks, set(), output)


if __name__ == "__main__":
    unittest.main()
