// SPDX-License-Identifier: MIT
// x86, decoded by Zydis.
#include "lint_names.hpp"
#include "lint_opcodes.hpp"

#if TWINSTEP_LINT_ZYDIS
#include <Zydis/Zydis.h>
#endif

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace twinstep::tools::lint {

#if TWINSTEP_LINT_ZYDIS

namespace {

/// Decodes one section after the other, from the first byte to the last. Where a function begins,
/// an instruction does: after bytes that are none, that is where it is in step again.
class X86Code {
public:
    explicit X86Code(const CodeImage& image)
        : image_(image) {
        const bool wide = image.machine == Machine::x86_64;
        good_ = ZYAN_SUCCESS(
            ZydisDecoderInit(&decoder_,
                             wide ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LEGACY_32,
                             wide ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32));
        // Operands are not needed.
        good_ =
            good_ &&
            ZYAN_SUCCESS(ZydisDecoderEnableMode(&decoder_, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE));
    }

    bool good() const { return good_; }

    /// Runs a function over the instructions of a section. Returns the bytes that are none.
    template <class Use>
    std::uint64_t for_each(std::uint32_t index, const FunctionIndex& functions, const Use& use) {
        const CodeSection& section = image_.sections[index];
        std::uint64_t skipped = 0;
        std::uint64_t at = 0;
        while (at < section.bytes.size()) {
            const std::uint64_t end = std::max(
                functions.next_start(index, section.address + at) - section.address, at + 1);
            while (at < end) {
                ZydisDecodedInstruction instruction;
                const ZyanStatus status =
                    ZydisDecoderDecodeInstruction(&decoder_,
                                                  nullptr,
                                                  section.bytes.data() + at,
                                                  static_cast<ZyanUSize>(end - at),
                                                  &instruction);
                if (ZYAN_SUCCESS(status)) {
                    use(section.address + at, instruction);
                    at += instruction.length;
                } else {
                    ++skipped;
                    ++at;
                }
            }
        }
        return skipped;
    }

private:
    const CodeImage& image_;
    ZydisDecoder decoder_{};
    bool good_ = false;
};

bool begins_with_one_of(std::string_view text, std::initializer_list<std::string_view> beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(), [text](std::string_view beginning) {
        return text.starts_with(beginning);
    });
}

/// What of the x87 does not compute: on 32-bit x86 results travel in its registers, and 64-bit
/// integers are converted there, all of which is exact.
bool is_x87_transfer(ZydisMnemonic mnemonic) {
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_FLD:
    case ZYDIS_MNEMONIC_FLDZ:
    case ZYDIS_MNEMONIC_FLD1:
    case ZYDIS_MNEMONIC_FST:
    case ZYDIS_MNEMONIC_FSTP:
    case ZYDIS_MNEMONIC_FILD:
    case ZYDIS_MNEMONIC_FIST:
    case ZYDIS_MNEMONIC_FISTP:
    case ZYDIS_MNEMONIC_FISTTP:
    case ZYDIS_MNEMONIC_FXCH:
    case ZYDIS_MNEMONIC_FABS:
    case ZYDIS_MNEMONIC_FCHS:
    case ZYDIS_MNEMONIC_FLDCW:
        return true;
    default:
        return false;
    }
}

/// Reads or stores what the x87 is set to, or waits for it.
bool is_x87_control(ZydisMnemonic mnemonic) {
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_FNSTCW:
    case ZYDIS_MNEMONIC_FNSTSW:
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FNCLEX:
    case ZYDIS_MNEMONIC_FNOP:
    case ZYDIS_MNEMONIC_FWAIT:
    case ZYDIS_MNEMONIC_FFREE:
    case ZYDIS_MNEMONIC_FNSAVE:
        return true;
    default:
        return false;
    }
}

std::optional<Hazard> judge_instruction(const ZydisDecodedInstruction& instruction, bool wide) {
    switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_LDMXCSR:
    case ZYDIS_MNEMONIC_VLDMXCSR:
    case ZYDIS_MNEMONIC_FLDENV:
    case ZYDIS_MNEMONIC_FNINIT:
    case ZYDIS_MNEMONIC_FRSTOR:
        return Hazard::float_mode;
    default:
        break;
    }
    if (instruction.meta.isa_ext == ZYDIS_ISA_EXT_X87) {
        const bool harmless = is_x87_control(instruction.mnemonic) ||
                              (!wide && is_x87_transfer(instruction.mnemonic));
        if (harmless) {
            return std::nullopt;
        }
        // 64-bit code has no other use for it than a change of the mode, or long double.
        return instruction.mnemonic == ZYDIS_MNEMONIC_FLDCW ? Hazard::float_mode : Hazard::x87;
    }
    const std::string_view name = ZydisMnemonicGetString(instruction.mnemonic);
    if (begins_with_one_of(name,
                           {"vfmadd",
                            "vfmsub",
                            "vfnmadd",
                            "vfnmsub",
                            "vfcmadd",
                            "v4fmadd",
                            "v4fnmadd",
                            "vdpbf16ps"})) {
        return Hazard::fused;
    }
    if (begins_with_one_of(name,
                           {"rcpps",
                            "rcpss",
                            "rsqrtps",
                            "rsqrtss",
                            "vrcp",
                            "vrsqrt",
                            "vexp2",
                            "pfrcp",
                            "pfrsq"})) {
        return Hazard::estimate;
    }
    return std::nullopt;
}

/// Where an instruction refers to by a distance from its end, or by an absolute address.
std::optional<std::uint64_t>
target_of(const ZydisDecodedInstruction& instruction, std::uint64_t address, bool wide) {
    if (instruction.raw.imm[0].is_relative != 0) {
        return address + instruction.length +
               static_cast<std::uint64_t>(instruction.raw.imm[0].value.s);
    }
    const bool in_memory = (instruction.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 &&
                           instruction.raw.modrm.mod == 0 && instruction.raw.modrm.rm == 5;
    if (!in_memory) {
        return std::nullopt;
    }
    const auto distance = static_cast<std::uint64_t>(instruction.raw.disp.value);
    return wide ? address + instruction.length + distance : distance & 0xffffffff;
}

class X86Calls {
public:
    explicit X86Calls(const CodeImage& image)
        : image_(image)
        , functions_(image)
        , code_(image) {
        for (const ImportSlot& slot : image.slots) {
            import_of_[slot.address] = slot.import;
        }
    }

    std::vector<LinkedCall> find() {
        if (code_.good()) {
            for_each_target(&X86Calls::through_slot);
            for_each_target(&X86Calls::of_stub);
        }
        return std::move(calls_);
    }

private:
    struct Reference {
        std::uint32_t section = 0;
        std::uint64_t address = 0;
        std::uint64_t target = 0;
        bool jump = false;
        bool relative = false; ///< Goes to the target itself, not through what is kept there.
    };

    void for_each_target(void (X86Calls::*use)(const Reference& reference)) {
        const bool wide = image_.machine == Machine::x86_64;
        for (std::uint32_t section = 0; section < image_.sections.size(); ++section) {
            code_.for_each(section, functions_, [&](std::uint64_t address, const auto& code) {
                if (const auto target = target_of(code, address, wide)) {
                    (this->*use)({section,
                                  address,
                                  *target,
                                  code.mnemonic == ZYDIS_MNEMONIC_JMP,
                                  code.raw.imm[0].is_relative != 0});
                }
            });
        }
    }

    void through_slot(const Reference& reference) {
        const auto import = import_of_.find(reference.target);
        if (import == import_of_.end() || reference.relative) {
            return;
        }
        if (reference.jump && may_be_stub(reference, import->second)) {
            stubs_[reference.address] = import->second;
            stubs_[reference.address - 4] = import->second; // with a landing pad before it
        } else {
            calls_.push_back({import->second, reference.section, reference.address});
        }
    }

    void of_stub(const Reference& reference) {
        const auto stub = stubs_.find(reference.target);
        if (stub != stubs_.end() && reference.relative) {
            calls_.push_back({stub->second, reference.section, reference.address});
        }
    }

    /// Whether a jump through a slot is a stub that others call, not the end of a function. ELF
    /// files keep stubs apart; on Windows they are among the functions and have the import's name,
    /// or none.
    bool may_be_stub(const Reference& reference, std::uint32_t import) const {
        if (!image_.coff) {
            return image_.sections[reference.section].name.starts_with(".plt");
        }
        const bool coff32 = image_.machine == Machine::x86_32;
        const CodeSymbol* function = functions_.find(reference.section, reference.address);
        return function == nullptr || plain_name(function->name, coff32) ==
                                          plain_name(image_.imports[import].name, coff32);
    }

    const CodeImage& image_;
    FunctionIndex functions_;
    X86Code code_;
    std::map<std::uint64_t, std::uint32_t> import_of_;
    std::map<std::uint64_t, std::uint32_t> stubs_;
    std::vector<LinkedCall> calls_;
};

} // namespace

Decoding scan_x86(const CodeImage& image, const FunctionIndex& functions, const OpcodeUse& use) {
    X86Code code(image);
    if (!code.good()) {
        return {false, 0, "the decoder of instructions does not start"};
    }
    const bool wide = image.machine == Machine::x86_64;
    Decoding decoding{true, 0, {}};
    for (std::uint32_t section = 0; section < image.sections.size(); ++section) {
        decoding.skipped_bytes +=
            code.for_each(section, functions, [&](std::uint64_t address, const auto& instruction) {
                if (const auto hazard = judge_instruction(instruction, wide)) {
                    use(section, address, ZydisMnemonicGetString(instruction.mnemonic), *hazard);
                }
            });
    }
    return decoding;
}

std::vector<LinkedCall> x86_calls(const CodeImage& image) {
    return X86Calls(image).find();
}

#else

Decoding
scan_x86(const CodeImage& /*image*/, const FunctionIndex& /*functions*/, const OpcodeUse& /*use*/) {
    return {false, 0, "this build has no decoder of instructions (TWINSTEP_LINT_ZYDIS)"};
}

std::vector<LinkedCall> x86_calls(const CodeImage& /*image*/) {
    return {};
}

#endif

} // namespace twinstep::tools::lint
