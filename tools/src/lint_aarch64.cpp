// SPDX-License-Identifier: MIT
// AArch64: every instruction has 32 bits, and those in question are told by a mask each.
#include "lint_bytes.hpp"
#include "lint_opcodes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace twinstep::tools::lint {

namespace {

struct OpcodeMask {
    std::uint32_t mask;
    std::uint32_t bits;
    std::string_view mnemonic;
    Hazard hazard;
};

/// From the Arm Architecture Reference Manual, chapters C4 (A64) and the SVE supplement's index by
/// encoding.
constexpr std::array opcode_masks{
    // Scalar, three sources.
    OpcodeMask{0xff208000, 0x1f000000, "fmadd", Hazard::fused},
    OpcodeMask{0xff208000, 0x1f008000, "fmsub", Hazard::fused},
    OpcodeMask{0xff208000, 0x1f200000, "fnmadd", Hazard::fused},
    OpcodeMask{0xff208000, 0x1f208000, "fnmsub", Hazard::fused},
    // Vectors, three the same.
    OpcodeMask{0xbfa0fc00, 0x0e20cc00, "fmla", Hazard::fused},
    OpcodeMask{0xbfa0fc00, 0x0ea0cc00, "fmls", Hazard::fused},
    OpcodeMask{0xbfe0fc00, 0x0e400c00, "fmla", Hazard::fused},
    OpcodeMask{0xbfe0fc00, 0x0ec00c00, "fmls", Hazard::fused},
    OpcodeMask{0xbfe0fc00, 0x0e20ec00, "fmlal", Hazard::fused},
    OpcodeMask{0xbfe0fc00, 0x0ea0ec00, "fmlsl", Hazard::fused},
    OpcodeMask{0xbfe0fc00, 0x2e20cc00, "fmlal2", Hazard::fused},
    OpcodeMask{0xbfe0fc00, 0x2ea0cc00, "fmlsl2", Hazard::fused},
    OpcodeMask{0xbf20e400, 0x2e00c400, "fcmla", Hazard::fused},
    // By element, as vectors and as scalars.
    OpcodeMask{0xbf80f400, 0x0f801000, "fmla", Hazard::fused},
    OpcodeMask{0xbf80f400, 0x0f805000, "fmls", Hazard::fused},
    OpcodeMask{0xbfc0f400, 0x0f001000, "fmla", Hazard::fused},
    OpcodeMask{0xbfc0f400, 0x0f005000, "fmls", Hazard::fused},
    OpcodeMask{0xff80f400, 0x5f801000, "fmla", Hazard::fused},
    OpcodeMask{0xff80f400, 0x5f805000, "fmls", Hazard::fused},
    OpcodeMask{0xffc0f400, 0x5f001000, "fmla", Hazard::fused},
    OpcodeMask{0xffc0f400, 0x5f005000, "fmls", Hazard::fused},
    OpcodeMask{0xbfc0f400, 0x0f800000, "fmlal", Hazard::fused},
    OpcodeMask{0xbfc0f400, 0x0f804000, "fmlsl", Hazard::fused},
    OpcodeMask{0xbfc0f400, 0x2f808000, "fmlal2", Hazard::fused},
    OpcodeMask{0xbfc0f400, 0x2f80c000, "fmlsl2", Hazard::fused},
    OpcodeMask{0xbfc09400, 0x2f401000, "fcmla", Hazard::fused},
    OpcodeMask{0xbfc09400, 0x2f801000, "fcmla", Hazard::fused},
    // SVE: the accumulating and the destructive forms, and by element.
    OpcodeMask{0xff20e000, 0x65200000, "fmla", Hazard::fused},
    OpcodeMask{0xff20e000, 0x65202000, "fmls", Hazard::fused},
    OpcodeMask{0xff20e000, 0x65204000, "fnmla", Hazard::fused},
    OpcodeMask{0xff20e000, 0x65206000, "fnmls", Hazard::fused},
    OpcodeMask{0xff20e000, 0x65208000, "fmad", Hazard::fused},
    OpcodeMask{0xff20e000, 0x6520a000, "fmsb", Hazard::fused},
    OpcodeMask{0xff20e000, 0x6520c000, "fnmad", Hazard::fused},
    OpcodeMask{0xff20e000, 0x6520e000, "fnmsb", Hazard::fused},
    OpcodeMask{0xff20fc00, 0x64200000, "fmla", Hazard::fused},
    OpcodeMask{0xff20fc00, 0x64200400, "fmls", Hazard::fused},
    OpcodeMask{0xff208000, 0x64000000, "fcmla", Hazard::fused},
    // Estimates and the steps that refine them, which are fused as well.
    OpcodeMask{0xbfbffc00, 0x0ea1d800, "frecpe", Hazard::estimate},
    OpcodeMask{0xffbffc00, 0x5ea1d800, "frecpe", Hazard::estimate},
    OpcodeMask{0xbffffc00, 0x0ef9d800, "frecpe", Hazard::estimate},
    OpcodeMask{0xfffffc00, 0x5ef9d800, "frecpe", Hazard::estimate},
    OpcodeMask{0xff3ffc00, 0x650e3000, "frecpe", Hazard::estimate},
    OpcodeMask{0xbfbffc00, 0x2ea1d800, "frsqrte", Hazard::estimate},
    OpcodeMask{0xffbffc00, 0x7ea1d800, "frsqrte", Hazard::estimate},
    OpcodeMask{0xbffffc00, 0x2ef9d800, "frsqrte", Hazard::estimate},
    OpcodeMask{0xfffffc00, 0x7ef9d800, "frsqrte", Hazard::estimate},
    OpcodeMask{0xff3ffc00, 0x650f3000, "frsqrte", Hazard::estimate},
    OpcodeMask{0xbfa0fc00, 0x0e20fc00, "frecps", Hazard::estimate},
    OpcodeMask{0xffa0fc00, 0x5e20fc00, "frecps", Hazard::estimate},
    OpcodeMask{0xbfa0fc00, 0x0ea0fc00, "frsqrts", Hazard::estimate},
    OpcodeMask{0xffa0fc00, 0x5ea0fc00, "frsqrts", Hazard::estimate},
    OpcodeMask{0xbffffc00, 0x0ea1c800, "urecpe", Hazard::estimate},
    OpcodeMask{0xbffffc00, 0x2ea1c800, "ursqrte", Hazard::estimate},
    // Rounding and flushing.
    OpcodeMask{0xffffffe0, 0xd51b4400, "msr fpcr", Hazard::float_mode},
};

/// Where code and data begin, by the marks of the assembler.
class DataMarks {
public:
    explicit DataMarks(const CodeImage& image) {
        for (const CodeSymbol& symbol : image.symbols) {
            const bool data = symbol.name == "$d" || symbol.name.starts_with("$d.");
            const bool code = symbol.name == "$x" || symbol.name.starts_with("$x.");
            if (data || code) {
                marks_.push_back({symbol.section, symbol.address, data});
            }
        }
        std::sort(marks_.begin(), marks_.end());
    }

    /// Runs a function over the instructions of a section. Returns the bytes of data among them.
    template <class Use>
    std::uint64_t for_each_word(const CodeImage& image, std::uint32_t index, const Use& use) const {
        const CodeSection& section = image.sections[index];
        // In memory of either order, code is little-endian.
        const ObjectBytes bytes(section.bytes, false);
        auto mark = std::lower_bound(marks_.begin(), marks_.end(), std::tuple(index, 0U, false));
        std::uint64_t skipped = 0;
        bool data = false;
        for (std::uint64_t at = 0; bytes.has(at, 4); at += 4) {
            for (; mark != marks_.end() && std::get<0>(*mark) == index &&
                   std::get<1>(*mark) <= section.address + at;
                 ++mark) {
                data = std::get<2>(*mark);
            }
            if (data) {
                skipped += 4;
            } else {
                use(section.address + at, bytes.u32(at));
            }
        }
        return skipped + bytes.size() % 4;
    }

private:
    std::vector<std::tuple<std::uint32_t, std::uint64_t, bool>> marks_;
};

/// The value of `count` bits from `low`, signed.
std::int64_t signed_bits(std::uint32_t word, unsigned low, unsigned count) {
    const std::int64_t value = (word >> low) & ((1U << count) - 1);
    return (value >> (count - 1)) != 0 ? value - (std::int64_t{1} << count) : value;
}

/// Follows ADRP and what adds to it: whoever loads a slot of an import is a stub or calls it at
/// once.
class Aarch64Slots {
public:
    explicit Aarch64Slots(const CodeImage& image) {
        for (const ImportSlot& slot : image.slots) {
            import_of_[slot.address] = slot.import;
        }
    }

    void restart() { pages_ = {}; }

    /// The import whose slot this instruction loads, and the place of the ADRP before it.
    std::optional<std::pair<std::uint32_t, std::uint64_t>> follow(std::uint64_t address,
                                                                  std::uint32_t word) {
        if ((word & 0x9f000000) == 0x90000000) { // adrp
            const std::int64_t pages =
                signed_bits(word, 5, 19) * 4 + static_cast<std::int64_t>((word >> 29) & 3);
            pages_[word & 31] = {true,
                                 (address & ~std::uint64_t{4095}) +
                                     static_cast<std::uint64_t>(pages) * 4096,
                                 address};
            return std::nullopt;
        }
        if ((word & 0xffc00000) == 0xf9400000) { // ldr of 64 bits with an offset
            const Page& page = pages_[(word >> 5) & 31];
            const auto import = import_of_.find(page.value + ((word >> 10) & 4095) * 8);
            if (page.known && import != import_of_.end()) {
                return std::pair(import->second, page.from);
            }
        }
        return std::nullopt;
    }

private:
    struct Page {
        bool known = false;
        std::uint64_t value = 0;
        std::uint64_t from = 0;
    };

    std::map<std::uint64_t, std::uint32_t> import_of_;
    std::array<Page, 32> pages_{};
};

class Aarch64Calls {
public:
    explicit Aarch64Calls(const CodeImage& image)
        : image_(image)
        , marks_(image)
        , slots_(image) {}

    std::vector<LinkedCall> find() {
        for (std::uint32_t section = 0; section < image_.sections.size(); ++section) {
            slots_.restart();
            marks_.for_each_word(image_, section, [&](std::uint64_t address, std::uint32_t word) {
                follow(section, address, word);
            });
        }
        for (std::uint32_t section = 0; section < image_.sections.size(); ++section) {
            marks_.for_each_word(image_, section, [&](std::uint64_t address, std::uint32_t word) {
                branch(section, address, word);
            });
        }
        return std::move(calls_);
    }

private:
    /// What loads a slot is a stub, or calls at once.
    void follow(std::uint32_t section, std::uint64_t address, std::uint32_t word) {
        const auto found = slots_.follow(address, word);
        if (!found) {
            return;
        }
        if (image_.sections[section].name.starts_with(".plt")) {
            stubs_[found->second] = found->first;
            stubs_[found->second - 4] = found->first; // with a landing pad before it
        } else {
            calls_.push_back({found->first, section, address});
        }
    }

    void branch(std::uint32_t section, std::uint64_t address, std::uint32_t word) {
        if ((word & 0x7c000000) != 0x14000000) { // b, bl
            return;
        }
        const auto distance = static_cast<std::uint64_t>(signed_bits(word, 0, 26) * 4);
        const auto stub = stubs_.find(address + distance);
        if (stub != stubs_.end()) {
            calls_.push_back({stub->second, section, address});
        }
    }

    const CodeImage& image_;
    DataMarks marks_;
    Aarch64Slots slots_;
    std::map<std::uint64_t, std::uint32_t> stubs_;
    std::vector<LinkedCall> calls_;
};

} // namespace

Aarch64Opcode aarch64_opcode(std::uint32_t word) {
    for (const OpcodeMask& opcode : opcode_masks) {
        if ((word & opcode.mask) == opcode.bits) {
            return {opcode.mnemonic, opcode.hazard};
        }
    }
    return {};
}

Decoding scan_aarch64(const CodeImage& image, const OpcodeUse& use) {
    Decoding decoding{true, 0, {}};
    const DataMarks marks(image);
    for (std::uint32_t section = 0; section < image.sections.size(); ++section) {
        decoding.skipped_bytes +=
            marks.for_each_word(image, section, [&](std::uint64_t address, std::uint32_t word) {
                const Aarch64Opcode opcode = aarch64_opcode(word);
                if (!opcode.mnemonic.empty()) {
                    use(section, address, opcode.mnemonic, opcode.hazard);
                }
            });
    }
    return decoding;
}

std::vector<LinkedCall> aarch64_calls(const CodeImage& image) {
    return Aarch64Calls(image).find();
}

} // namespace twinstep::tools::lint
