// SPDX-License-Identifier: MIT
// Objects, archives and programs, from the first byte to the instructions.
#include "fuzz_targets.hpp"
#include "lint_file.hpp"
#include "object_files.hpp"

using namespace twinstep;
using namespace twinstep::tools;

void fuzz_lint(ByteView bytes) {
    lint::AllowList nothing({});
    const auto report = lint::lint_bytes(bytes, nothing);
    if (!report) {
        return;
    }
    std::uint64_t code = 0;
    for (const lint::Part& part : report->parts) {
        code += part.code_bytes;
        require(part.decoding.skipped_bytes <= part.code_bytes, "more was skipped than there is");
        for (const lint::Finding& finding : part.findings) {
            require(finding.places > 0, "a finding at no place");
            require(!finding.symbol.empty() && !finding.instead.empty(),
                    "a finding without a name or advice");
        }
    }
    require(code <= bytes.size(), "more code than the file is long");
    // What is allowed changes what is reported, and nothing else.
    lint::AllowList maths({"math"});
    const auto again = lint::lint_bytes(bytes, maths);
    require(again && again->parts.size() == report->parts.size(), "another answer the second time");
}

std::vector<Bytes> lint_seeds() {
    ObjectPlan plan;
    plan.code = {0xc4, 0xe2, 0xf1, 0xb9, 0xc2, 0x0f, 0x53, 0xc1, 0xd9, 0xfe, 0x0f, 0xae,
                 0x10, 0xe8, 0x00, 0x00, 0x00, 0x00, 0x90, 0xc3, 0x20, 0x00, 0x42, 0x1f};
    plan.functions = {{"_ZN4game4stepILj3EEEvNS_1aE", 0, 18}, {"$d", 18, 0}};
    plan.calls = {{"sinf", 14}, {"_ZNSt13random_device9_M_getvalEv", 14}};
    std::vector<Bytes> seeds;
    for (const std::uint16_t machine : {std::uint16_t{62}, std::uint16_t{183}, std::uint16_t{22}}) {
        plan.machine = machine;
        plan.big_endian = machine == 22;
        seeds.push_back(make_elf(plan));
    }
    plan.big_endian = false;
    seeds.push_back(make_coff(plan));
    seeds.push_back(make_coff(plan, true));
    seeds.push_back(make_pe(plan));
    plan.wide = false;
    seeds.push_back(make_pe(plan));
    plan.machine = 3;
    seeds.push_back(make_elf(plan));
    seeds.push_back(
        make_archive({{"a-member-of-a-long-name.o", make_elf(plan)}, {"b.o", make_coff(plan)}}));
    // Linked, as far as a byte makes it so.
    Bytes linked = seeds.front();
    linked[16] = std::byte{3};
    seeds.push_back(std::move(linked));
    return seeds;
}
