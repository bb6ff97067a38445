#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the rules of docs/style.md that a machine can check: names, layout, includes, bans.

    tidy.py [ROOT]       check the tracked files under ROOT; each finding is a line, FILE:LINE first
    tidy.py --self-test  plant one violation of every rule and expect it to be named

Exit codes: 0 clean, 1 findings, 6 a rule found no file to look at. A line is excused by a comment
on it or on the line above: `tidy: allow RULE: reason`.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

CPP = r"\.(cpp|hpp)$"
CODE = r"(\.(cpp|hpp|cmake|py|sh|in)|CMakeLists\.txt|^dev|^\.ci/run)$"
TEXT = (r"(\.(cpp|hpp|cmake|py|sh|in|md|txt|json|ndjson|csv|yml|sbatch|gitignore|clang-\w+)"
        r"|^dev|^\.ci/run)$")
LIBRARY = r"^(sim|timer|replay|net)/.*" + CPP
STEP = r"^(sim|examples/games)/.*" + CPP  # what runs inside a simulation step
# The one file of each leaf that may end the process: the handler of a broken contract.
LAST_WORDS = r"^(sim/src/assert|timer/src/contract)\.cpp$"
# Threads that take the parts of a step's loops; the step sees none of them.
WORKERS = r"^sim/src/worker_pool\.cpp$"
SELF = r"^tests/tidy/tidy\.py$"  # names every banned word

# name, files, allowed files, pattern, reason. A pattern is searched line by line; in C++ files
# comments do not count, except for the rules in PROSE_TOO.
BANS = [
    ("unfinished", CODE, SELF, r"\b(FIXME|XXX|HACK|TBD)\b|\bTODO\b(?!\(#\d+\))",
     "unfinished work belongs to an issue: TODO(#NUMBER) or nothing"),
    ("machine-path", TEXT, SELF, r"\.\./shared\b|(?<![\w.])/(home|root|work|Users|mnt)/\w",
     "a path of one machine or of outside the repository helps no reader"),
    ("odd-clock", CPP, None, r"high_resolution_clock|\bstd::clock\b|\bgettimeofday\b",
     "not monotonic everywhere; time comes from timer's counter sources"),
    ("wall-clock", CPP, r"^tools/", r"\bsystem_clock::|\btime\(\s*(nullptr|NULL|0)\s*\)",
     "jumps with NTP and daylight saving; only tools may stamp a file with it"),
    ("c-random", CPP, None, r"\b(std::)?s?rand\s*\(|\brandom_device\b",
     "cannot be repeated from a printed seed"),
    ("library-random", STEP, None,
     r"\bstd::(\w+_distribution|shuffle|sample|mt19937\w*|\w+_engine)\b",
     "distributions differ between standard libraries and engines are not part of the state"),
    ("unordered", STEP, None, r"\bunordered_(multi)?(map|set)\b",
     "iteration order depends on the library and on allocation history"),
    ("unstable-sort", STEP, None,
     r"\b(std::|ranges::)(sort|partial_sort|nth_element|make_heap|push_heap|pop_heap)\b",
     "equal elements come out in any order; say why the order is total, or use stable_sort"),
    ("libm", STEP, None,
     r"\bstd::(a?sin|a?cos|a?tan|atan2|sinh|cosh|tanh|exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt"
     r"|hypot|fma|sqrt)f?\s*\(",
     "results depend on the C library and on the CPU it finds; use the functions of sim"),
    ("std-hash", STEP, None, r"\bstd::hash\b", "differs between standard libraries"),
    ("wide-type", r"^sim/.*" + CPP, r"/archive\.hpp$",  # which refuses them by name
     r"\b(unsigned\s+long|long\s+(long|int|double)|wchar_t)\b",
     "size differs between targets; use fixed-width types"),
    ("printing", LIBRARY, LAST_WORDS,
     r"\bstd::(cout|cerr|clog|exit|abort|quick_exit)\b"
     r"|(?<![\w.>:])(std::)?(printf|fprintf|puts)\s*\(",
     "a library never prints and never ends the process"),
    ("using-namespace", r"\.hpp$", None, r"^\s*using\s+namespace\b",
     "a header must not change its reader's name look-up"),
]
PROSE_TOO = {"unfinished", "machine-path"}

# Who may include and link whom. Rooms that are absent here may use everything.
MAY_USE = {"timer": {"timer"}, "sim": {"sim"}, "replay": {"replay", "sim"}, "net": {"net", "sim"}}
MAY_USE_THIRD_PARTY = {
    "timer": {"tl"},
    "sim": {"tl", "cereal", "xxhash.h"},
    "replay": {"tl", "cereal", "nlohmann", "xxhash.h", "zstd.h", "sodium.h"},
    "net": {"tl", "boost", "sodium.h", "xxhash.h"},
}
THIRD_PARTY = {"boost", "cereal", "fmt", "spdlog", "tl", "CLI", "catch2", "benchmark", "nlohmann",
               "xxhash.h", "zstd.h", "sodium.h"}
SOCKETS = r"^(boost/(asio|beast)(/|\.hpp)|sys/socket\.h|netinet/|arpa/|winsock2?\.h)"
PORT = (r"^net/(src|include/twinstep/net)/(.*[/_])?port([/_.]|$)"
        r"|^tools/src/serve_(http_port|supervisor)\.cpp$")

EXTENSIONS = {".cpp", ".hpp", ".cmake", ".in", ".txt", ".md", ".mjs", ".py", ".sh", ".json",
              ".ndjson",
              ".csv", ".twin", ".kf", ".pub", ".lmp", ".bin", ".service", ".yaml", ".yml",
              ".sbatch"}
BARE_NAMES = {"dev", ".ci/run", "LICENSE", ".gitignore", ".gitattributes", ".clang-format",
              ".clang-tidy", "sim/.clang-tidy", "docs/deploy/Dockerfile",
              "recordings/format/FORMAT-CORPUS", "recordings/format/SHA256SUMS",
              "recordings/must-fail/FORMAT-CORPUS"}
COLUMNS_MAX = 100
CPP_LINES_MAX = 800
ROOM_TARGET = r"\btwinstep(::|_)(timer|sim|replay|net|tools)\b"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class Tree:
    """The files under a root, read once."""

    def __init__(self, root):
        self.root = root
        self.paths = sorted(self._list())
        self._lines = {}

    def _list(self):
        git = subprocess.run(["git", "-C", self.root, "ls-files", "-z", "--cached"],
                             capture_output=True, check=False)
        top = os.path.join(self.root, ".git")
        if git.returncode == 0 and os.path.exists(top):
            return [p for p in git.stdout.decode().split("\0")
                    if p and os.path.isfile(os.path.join(self.root, p))]
        found = []  # a source archive, or a checkout that git refuses to read
        for folder, names, files in os.walk(self.root):
            names[:] = set(names) - {".git", "build", "out", "__pycache__", ".cache"}
            found += [os.path.relpath(os.path.join(folder, f), self.root) for f in files]
        return found

    def matching(self, pattern, allowed=None):
        return [p for p in self.paths
                if re.search(pattern, p) and not (allowed and re.search(allowed, p))]

    def text(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8", newline="") as file:
            return file.read()

    def lines(self, path):
        if path not in self._lines:
            self._lines[path] = self.text(path).split("\n")
        return self._lines[path]

    def includes(self, path):
        for number, line in enumerate(self.lines(path), 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1), match.group(2)


def without_comments(lines):
    """C++ lines with comments blanked. A // or /* inside a string literal is kept as text."""
    token = re.compile(r'"(?:\\.|[^"\\])*"|//.*|/\*|\*/')
    inside = False
    for line in lines:
        kept, position = "", 0
        for match in token.finditer(line):
            word = match.group()
            if inside:
                if word.endswith("*/"):
                    inside, position = False, match.end()
            elif word.startswith("//"):
                kept, position = kept + line[position:match.start()], len(line)
                break
            elif word == "/*":
                kept, inside = kept + line[position:match.start()], True
        yield kept if inside else kept + line[position:]


# A rule is a function from a tree to the files it looked at and its findings (path, line, message).

def ban(name, files, allowed, pattern, reason):
    def check(tree):
        looked = tree.matching(files, allowed)
        findings = []
        for path in looked:
            lines = tree.lines(path)
            if re.search(CPP, path) and name not in PROSE_TOO:
                lines = without_comments(lines)
            for number, line in enumerate(lines, 1):
                match = re.search(pattern, line)
                if match:
                    findings.append((path, number, f"'{match.group().strip()}': {reason}"))
        return looked, findings
    return check


def per_line(files, test):
    def check(tree):
        looked = tree.matching(files)
        findings = [(path, number, message) for path in looked
                    for number, line in enumerate(tree.lines(path), 1) if (message := test(line))]
        return looked, findings
    return check


def columns(line):
    return len(line) > COLUMNS_MAX and f"{len(line)} columns, at most {COLUMNS_MAX}"


def whitespace(line):
    if "\t" in line:
        return "tab character"
    return line != line.rstrip() and "white space at the end of the line"


def spdx(tree):
    looked = tree.matching(CODE)
    findings = []
    for path in looked:
        lines = tree.lines(path)
        first = 1 if lines[0].startswith("#!") else 0
        mark = "//" if re.search(r"\.(cpp|hpp)(\.in)?$", path) else "#"
        if len(lines) <= first or lines[first] != f"{mark} SPDX-License-Identifier: MIT":
            findings.append((path, first + 1, f"expected '{mark} SPDX-License-Identifier: MIT'"))
        elif mark == "//" and not re.match(r"// \S", (lines + [""])[first + 1]):
            findings.append((path, first + 2, "expected one sentence of purpose"))
    return looked, findings


def pragma_once(tree):
    looked = tree.matching(r"\.hpp$")
    return looked, [(path, 1, "expected '#pragma once'") for path in looked
                    if "#pragma once" not in tree.lines(path)]


def length(tree):
    looked = tree.matching(CPP)
    counts = [(path, len(tree.lines(path)) - 1) for path in looked]
    return looked, [(path, CPP_LINES_MAX + 1, f"{count} lines, at most {CPP_LINES_MAX}")
                    for path, count in counts if count > CPP_LINES_MAX]


def final_newline(tree):
    looked = tree.matching(TEXT)
    return looked, [(path, len(tree.lines(path)), "expected a newline at the end of the file")
                    for path in looked if not tree.text(path).endswith("\n")]


def extension(tree):
    return tree.paths, [(path, 1, "kind of file not on the list in tests/tidy/tidy.py")
                        for path in tree.paths
                        if path not in BARE_NAMES and os.path.splitext(path)[1] not in EXTENSIONS]


def prose(tree, path):
    """Markdown lines outside code fences."""
    fenced = False
    for number, line in enumerate(tree.lines(path), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def one_title(tree):
    looked = tree.matching(r"\.md$")
    findings = []
    for path in looked:
        titles = [number for number, line in prose(tree, path) if line.startswith("# ")]
        if len(titles) != 1:
            where = titles[1] if titles else 1
            findings.append((path, where, f"{len(titles)} titles, expected one"))
    return looked, findings


def dead_link(tree):
    looked = tree.matching(r"\.md$")
    known = set(tree.paths) | {"."}
    for path in tree.paths:
        while path := os.path.dirname(path):
            known.add(path)
    findings = []
    for path in looked:
        for number, line in prose(tree, path):
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line):
                if re.match(r"[a-z]+:", target):
                    continue
                resolved = os.path.normpath(os.path.join(os.path.dirname(path), target))
                if resolved not in known:
                    findings.append((path, number, f"link to '{target}', which is not in the tree"))
    return looked, findings


def room_of_include(name):
    match = re.match(r"twinstep/(\w+)(/|\.hpp$)", name)
    return match and match.group(1)


def dependency(tree):
    """Rooms include, and link, only the rooms they may use."""
    looked = tree.matching(r"^(sim|timer|replay|net)/.*(\.(cpp|hpp)|CMakeLists\.txt)$")
    findings = []
    for path in looked:
        room = path.split("/")[0]
        if path.endswith(".txt"):
            used = [(number, match.group(2)) for number, line in enumerate(tree.lines(path), 1)
                    for match in re.finditer(ROOM_TARGET, line)]
        else:
            used = [(number, room_of_include(name)) for number, _, name in tree.includes(path)
                    if room_of_include(name)]
        findings += [(path, number, f"{room} must not use {other}") for number, other in used
                     if other not in MAY_USE[room]]
    return looked, findings


def third_party(tree):
    looked = tree.matching(LIBRARY)
    findings = []
    for path in looked:
        room = path.split("/")[0]
        for number, _, name in tree.includes(path):
            package = name.split("/")[0]
            if package in THIRD_PARTY - MAY_USE_THIRD_PARTY[room]:
                findings.append((path, number, f"{room} must not use {package}"))
    return looked, findings


def sockets(tree):
    looked = tree.matching(r"^(sim|timer|replay|net|tools|examples)/.*" + CPP, PORT)
    return looked, [(path, number, f"<{name}> belongs to the port of net")
                    for path in looked for number, _, name in tree.includes(path)
                    if re.search(SOCKETS, name)]


def public_header(tree):
    """A public header includes public headers only, each one that exists, by its full name."""
    looked = tree.matching(r"^\w+/include/.*\.hpp$")
    known = set(tree.paths)
    findings = []
    for path in looked:
        for number, bracket, name in tree.includes(path):
            room = room_of_include(name)
            if room and f"{room}/include/{name}" not in known:
                findings.append((path, number, f"'{name}' is not a public header"))
            elif bracket == '"' and not room:
                findings.append((path, number, f"'{name}' is not the full name of a public header"))
    return looked, findings


def private_header(tree):
    """A file reaches headers by name, never by walking up into another folder."""
    looked = tree.matching(CPP)
    return looked, [(path, number, f"'{name}' climbs out of its folder")
                    for path in looked for number, _, name in tree.includes(path)
                    if ".." in name.split("/") or re.search(r"(^|/)src/", name)]


def system_include(tree):
    """The list is sim/.clang-tidy's own, so that the two cannot differ."""
    looked = tree.matching(STEP, f"{LAST_WORDS}|{WORKERS}")
    banned = set()
    if "sim/.clang-tidy" in tree.paths:
        banned = set(re.findall(r",-([\w.]+)", tree.text("sim/.clang-tidy")))
    if not banned:
        return [], []
    return looked, [(path, number, f"<{name}> has no place inside a step")
                    for path in looked for number, _, name in tree.includes(path) if name in banned]


RULES = {entry[0]: ban(*entry) for entry in BANS}
RULES |= {
    "columns": per_line(r"\.(cpp|hpp|py)$", columns),
    "whitespace": per_line(TEXT, whitespace),
    "final-newline": final_newline,
    "spdx": spdx,
    "pragma-once": pragma_once,
    "length": length,
    "extension": extension,
    "one-title": one_title,
    "dead-link": dead_link,
    "dependency": dependency,
    "third-party": third_party,
    "sockets": sockets,
    "public-header": public_header,
    "private-header": private_header,
    "system-include": system_include,
}


def excused(tree, path, number, rule):
    if not re.search(TEXT, path):
        return False
    near = tree.lines(path)[max(0, number - 2):number]
    return any(re.search(rf"tidy: allow {re.escape(rule)}: \S", line) for line in near)


def run(root):
    """All findings as (path, line, rule, message), and the rules that looked at nothing."""
    tree = Tree(root)
    findings, idle = [], []
    for rule, check in RULES.items():
        looked, found = check(tree)
        if not looked:
            idle.append(rule)
        findings += [(path, number, rule, message) for path, number, message in found
                     if not excused(tree, path, number, rule)]
    return sorted(findings), idle, len(tree.paths)


def check_tree(root):
    findings, idle, count = run(root)
    for path, number, rule, message in findings:
        print(f"{path}:{number}: [{rule}] {message}")
    if findings:
        return 1
    if idle:
        print(f"tidy: nothing was checked by: {', '.join(idle)}")
        return 6
    print(f"tidy: {len(RULES)} rules, {count} files, nothing found")
    return 0


HEAD = "// SPDX-License-Identifier: MIT\n// A file of the self-test.\n"
HASH_HEAD = "# SPDX-License-Identifier: MIT\n"
CLEAN = {
    "sim/.clang-tidy": HASH_HEAD + "value: '*,-chrono,-cmath'\n",
    "sim/CMakeLists.txt": HASH_HEAD + "link(twinstep_sim)\n",
    "sim/include/twinstep/sim/tick.hpp": HEAD + "#pragma once\n#include <cstdint>\n",
    "sim/src/tick.cpp": HEAD + '#include "codec.hpp"\n#include <twinstep/sim/tick.hpp>\n'
                               "// std::sort( in a comment is nobody's business.\n"
                               "/* nor is std::hash\n   over two lines */ int one = 1;\n",
    "sim/src/codec.hpp": HEAD + "#pragma once\n",
    "replay/src/reader.cpp": HEAD + "#include <twinstep/sim/tick.hpp>\n",
    "net/src/port_udp.cpp": HEAD + "#include <boost/asio/ip/udp.hpp>\n",
    "tools/record.cpp": HEAD + "auto now = std::chrono::system_clock::now();\n",
    "README.md": "# Title\n\nA [link](sim/src/tick.cpp) and [another](https://example.org/x).\n"
                 "```\n# not a title\n```\n",
}
# rule, file, its text, the line that must be named.
PLANTED = [
    ("unfinished", "sim/src/a.cpp", HEAD + "// FIXME later\n", 3),
    ("unfinished", "sim/src/a.cpp", HEAD + "// TODO later\n", 3),
    ("machine-path", "docs/a.md", "# A\n\nSee /home/somebody/notes.\n", 3),
    ("machine-path", "docs/a.md", "# A\n\nSee ../shared/x.md.\n", 3),
    ("odd-clock", "timer/src/a.cpp", HEAD + "std::chrono::high_resolution_clock::now();\n", 3),
    ("wall-clock", "replay/src/a.cpp", HEAD + "\nstd::chrono::system_clock::now();\n", 4),
    ("c-random", "tests/sim/a_test.cpp", HEAD + "int a = rand();\n", 3),
    ("library-random", "sim/src/a.cpp", HEAD + "std::uniform_int_distribution<int> d;\n", 3),
    ("unordered", "examples/games/a.cpp", HEAD + "std::unordered_map<int, int> a;\n", 3),
    ("unstable-sort", "sim/src/a.cpp", HEAD + "std::sort(a.begin(), a.end());\n", 3),
    ("libm", "examples/games/a.cpp", HEAD + "auto a = std::sin(x);\n", 3),
    ("std-hash", "sim/src/a.cpp", HEAD + "/* one */ std::hash<int> a;\n", 3),
    ("wide-type", "sim/src/a.cpp", HEAD + "unsigned long a;\n", 3),
    ("printing", "replay/src/a.cpp", HEAD + 'std::printf("x");\n', 3),
    ("using-namespace", "sim/src/a.hpp", HEAD + "#pragma once\nusing namespace std;\n", 4),
    ("columns", "sim/src/a.cpp", HEAD + "//" + "x" * 99 + "\n", 3),
    ("whitespace", "sim/src/a.cpp", HEAD + "int a; \n", 3),
    ("whitespace", "docs/a.md", "# A\n\n\tx\n", 3),
    ("final-newline", "docs/a.md", "# A\n\nx", 3),
    ("spdx", "sim/src/a.cpp", "// A file.\n", 1),
    ("spdx", "sim/src/a.cpp", "// SPDX-License-Identifier: MIT\nint a;\n", 2),
    ("spdx", "tools/a.sh", "#!/bin/sh\n# SPDX-License-Identifier: GPL-2.0\n", 2),
    ("pragma-once", "sim/src/a.hpp", HEAD, 1),
    ("length", "sim/src/a.cpp", HEAD + "//\n" * 799, 801),
    ("extension", "sim/src/a.inl", HEAD, 1),
    ("one-title", "docs/a.md", "# A\n\n# B\n", 3),
    ("one-title", "docs/a.md", "none\n", 1),
    ("dead-link", "docs/a.md", "# A\n\n[x](nowhere.md)\n", 3),
    ("dependency", "sim/src/a.cpp", HEAD + "#include <twinstep/replay/reader.hpp>\n", 3),
    ("dependency", "sim/src/a.cpp", HEAD + "#include <twinstep/timer/timer.hpp>\n", 3),
    ("dependency", "timer/src/a.cpp", HEAD + "#include <twinstep/sim/tick.hpp>\n", 3),
    ("dependency", "replay/src/a.cpp", HEAD + "#include <twinstep/net/session.hpp>\n", 3),
    ("dependency", "net/src/a.cpp", HEAD + "#include <twinstep/replay/reader.hpp>\n", 3),
    ("dependency", "net/CMakeLists.txt", HASH_HEAD + "link(twinstep::replay)\n", 2),
    ("third-party", "timer/src/a.cpp", HEAD + "#include <cereal/cereal.hpp>\n", 3),
    ("sockets", "net/src/session.cpp", HEAD + "#include <boost/asio.hpp>\n", 3),
    ("sockets", "net/src/transport.cpp", HEAD + "#include <sys/socket.h>\n", 3),
    ("public-header", "sim/include/twinstep/sim/a.hpp",
     HEAD + '#pragma once\n#include "codec.hpp"\n', 4),
    ("public-header", "sim/include/twinstep/sim/a.hpp",
     HEAD + "#pragma once\n#include <twinstep/sim/codec.hpp>\n", 4),
    ("private-header", "replay/src/a.cpp", HEAD + '#include "../sim/codec.hpp"\n', 3),
    ("system-include", "sim/src/a.cpp", HEAD + "#include <chrono>\n", 3),
]


def plant(root, files):
    for path, text in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8", newline="") as file:
            file.write(text)


def self_test():
    untested = RULES.keys() - {planted[0] for planted in PLANTED}
    failures = [f"{rule}: no violation is planted" for rule in untested]

    def expect(what, wanted, got):
        if got != wanted:
            failures.append(f"{what}: expected {wanted}, got {got}")

    def findings(files):
        with tempfile.TemporaryDirectory() as root:
            plant(root, files)
            found, idle, _ = run(root)
            return [entry[:3] for entry in found], idle

    expect("the clean tree", ([], []), findings(CLEAN))
    for rule, path, text, line in PLANTED:
        expect(f"{rule} in {path}", [(path, line, rule)], findings(CLEAN | {path: text})[0])
    # An excuse needs the rule's own name and a reason.
    for comment, wanted in (("unstable-sort: ids are unique", []),
                            ("unstable-sort:", ["unstable-sort"]),
                            ("libm: no", ["unstable-sort"])):
        text = HEAD + f"// tidy: allow {comment}\nstd::sort(a, b);\n"
        found = [rule for _, _, rule in findings(CLEAN | {"sim/src/a.cpp": text})[0]]
        expect(f"excuse '{comment}'", wanted, found)
    # A rule that looks at nothing must not pass: no file at all, then no list of system includes.
    expect("the empty tree", sorted(RULES), sorted(findings({})[1]))
    expect("no sim/.clang-tidy", ["system-include"],
           findings({k: v for k, v in CLEAN.items() if k != "sim/.clang-tidy"})[1])

    for failure in failures:
        print(f"tidy self-test: {failure}")
    print(f"tidy self-test: {len(PLANTED)} violations planted, {len(failures)} failures")
    return 1 if failures or not PLANTED else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("root", nargs="?", default=os.path.join(here, "..", ".."))
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    return self_test() if arguments.self_test else check_tree(os.path.normpath(arguments.root))


if __name__ == "__main__":
    sys.exit(main())
