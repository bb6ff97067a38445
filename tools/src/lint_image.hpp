// SPDX-License-Identifier: MIT
// Machine code as the finders of `lint` see it, whatever file it came from.
#pragma once

#include "twinstep/sim/bytes.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::tools::lint {

/// The instruction sets that finders tell apart.
enum class Machine : std::uint8_t { x86_32, x86_64, aarch64, other };

/// No section: an absolute or an undefined place.
inline constexpr std::uint32_t no_section = 0xffffffff;

/// A run of instructions.
struct CodeSection {
    std::string_view name;
    std::uint64_t address = 0; ///< Of its first byte; 0 in objects, which have no addresses yet.
    ByteView bytes;
};

/// A name for a place in code.
struct CodeSymbol {
    std::string_view name;
    std::uint32_t section = no_section; ///< Into CodeImage::sections.
    std::uint64_t address = 0;          ///< As CodeSection::address.
    std::uint64_t size = 0;             ///< Bytes; 0 if nobody says.
    bool function = false;              ///< False for marks such as AArch64's $x and $d.
};

/// A name that is defined elsewhere.
struct Import {
    std::string_view name;
    std::string_view version; ///< Of the symbol, such as GLIBC_2.2.5; may be empty.
    bool in_data = false;     ///< Its address is stored in data.
};

/// A place in code that refers to an import.
struct ImportUse {
    std::uint32_t import = 0; ///< Into CodeImage::imports.
    std::uint32_t section = 0;
    std::uint64_t address = 0;
};

/// A pointer in linked code that the loader sets to an import.
struct ImportSlot {
    std::uint64_t address = 0;
    std::uint32_t import = 0;
};

/// What one object, program or library has. Names and bytes belong to the file it was read from.
struct CodeImage {
    std::string target;               ///< For people: "ELF x86-64".
    Machine machine = Machine::other; ///< What its instructions are.
    bool linked = false;              ///< A program or a shared library, with addresses.
    bool coff = false;                ///< Windows conventions for names.
    bool intermediate = false;        ///< Has a compiler's intermediate code, for link time.
    std::vector<CodeSection> sections;
    std::vector<CodeSymbol> symbols; ///< Those of code.
    std::vector<Import> imports;
    std::vector<ImportUse> uses;             ///< In objects.
    std::vector<ImportSlot> slots;           ///< In linked code.
    std::vector<std::uint64_t> constructors; ///< Addresses that run before main, if linked.

    /// Bytes of code.
    std::uint64_t code_bytes() const {
        std::uint64_t sum = 0;
        for (const CodeSection& section : sections) {
            sum += section.bytes.size();
        }
        return sum;
    }
};

} // namespace twinstep::tools::lint
