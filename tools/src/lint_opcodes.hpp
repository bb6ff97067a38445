// SPDX-License-Identifier: MIT
// Decoders of one instruction set each, behind find_opcodes() and linked_calls().
#pragma once

#include "lint_findings.hpp"

#include <functional>

namespace twinstep::tools::lint {

/// Receives an instruction that a step must not have: its place, its name, what is wrong with it.
using OpcodeUse = std::function<void(
    std::uint32_t section, std::uint64_t address, std::string_view mnemonic, Hazard hazard)>;

/// x86 of 32 and 64 bits. Decodes nothing in a build without Zydis.
Decoding scan_x86(const CodeImage& image, const FunctionIndex& functions, const OpcodeUse& use);
/// Calls of stubs and slots of imports in 64-bit and 32-bit x86.
std::vector<LinkedCall> x86_calls(const CodeImage& image);

/// AArch64, of which only the instructions in question are known. Data among the code is known by
/// marks.
Decoding scan_aarch64(const CodeImage& image, const OpcodeUse& use);
/// Calls of stubs and slots of imports in AArch64.
std::vector<LinkedCall> aarch64_calls(const CodeImage& image);

/// An instruction of AArch64 that a step must not have; an empty name for all others.
struct Aarch64Opcode {
    std::string_view mnemonic;
    Hazard hazard = Hazard::fused;
};

Aarch64Opcode aarch64_opcode(std::uint32_t word);

} // namespace twinstep::tools::lint
