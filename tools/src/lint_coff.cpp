// SPDX-License-Identifier: MIT
// COFF objects and PE programs as code, names and references.
#include "lint_bytes.hpp"
#include "lint_containers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace twinstep::tools::lint {

namespace {

// Of Microsoft's PE format.
namespace pe {
constexpr std::uint32_t section_code = 0x20;
constexpr std::uint32_t section_discardable = 0x02000000;
constexpr std::uint32_t section_relocations_overflow = 0x01000000;
constexpr std::uint32_t section_executable = 0x20000000;
constexpr std::uint64_t section_bytes = 40;
constexpr std::uint64_t relocation_bytes = 10;
constexpr std::uint8_t class_external = 2;
constexpr std::uint8_t class_static = 3;
constexpr std::uint8_t class_weak_external = 105;
constexpr std::uint16_t type_function = 0x20;
} // namespace pe

struct CoffSection {
    std::string_view name;
    std::uint64_t address = 0;
    std::uint64_t bytes_in_memory = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t relocations_at = 0;
    std::uint64_t relocations = 0;
    std::uint32_t flags = 0;
    std::uint32_t code = no_section;
};

class CoffReader {
public:
    explicit CoffReader(ByteView file)
        : file_(file, false) {}

    Result<CodeImage> read_object() {
        big_ = file_.u16(0) == 0 && file_.u16(2) == 0xffff;
        const std::uint64_t head_bytes = big_ ? 56 : 20;
        if (auto head = file_.part(0, head_bytes, "COFF header"); !head) {
            return fail(head.error());
        }
        set_machine(file_.u16(big_ ? 6 : 0), "COFF");
        section_count_ = big_ ? file_.u32(44) : file_.u16(2);
        symbols_at_ = file_.u32(big_ ? 48 : 8);
        symbol_count_ = file_.u32(big_ ? 52 : 12);
        sections_at_ = head_bytes + (big_ ? 0 : file_.u16(16));
        return run({&CoffReader::read_sections,
                    &CoffReader::read_code,
                    &CoffReader::read_symbols,
                    &CoffReader::read_relocations});
    }

    Result<CodeImage> read_program() {
        image_.linked = true;
        const std::uint64_t head = std::uint64_t{file_.u32(0x3c)} + 4;
        auto optional_head = file_.part(head + 20, file_.u16(head + 16), "PE header");
        if (!optional_head) {
            return fail(optional_head.error());
        }
        wide_ = optional_head->u16(0) == 0x20b;
        if (!wide_ && optional_head->u16(0) != 0x10b) {
            return fail(
                Error(SimErrc::malformed, "PE header", "neither PE32 nor PE32+").at(head + 20));
        }
        set_machine(file_.u16(head), "PE");
        base_ = optional_head->word(wide_ ? 24 : 28, wide_);
        imports_at_ = optional_head->u32(wide_ ? 120 : 104);
        section_count_ = file_.u16(head + 2);
        symbols_at_ = file_.u32(head + 8);
        symbol_count_ = symbols_at_ == 0 ? 0 : file_.u32(head + 12);
        sections_at_ = head + 20 + file_.u16(head + 16);
        return run({&CoffReader::read_sections,
                    &CoffReader::read_code,
                    &CoffReader::read_symbols,
                    &CoffReader::read_import_table});
    }

private:
    using Step = Result<void> (CoffReader::*)();

    Result<CodeImage> run(std::initializer_list<Step> steps) {
        for (const Step step : steps) {
            if (Result<void> done = (this->*step)(); !done) {
                return fail(done.error());
            }
        }
        return std::move(image_);
    }

    void set_machine(std::uint16_t machine, std::string_view kind) {
        image_.coff = true;
        switch (machine) {
        case 0x8664:
            image_.machine = Machine::x86_64;
            image_.target = fmt::format("{} x86-64", kind);
            break;
        case 0x014c:
            image_.machine = Machine::x86_32;
            image_.target = fmt::format("{} x86", kind);
            break;
        case 0xaa64:
            image_.machine = Machine::aarch64;
            image_.target = fmt::format("{} AArch64", kind);
            break;
        default:
            image_.target = fmt::format("{} machine {:#x}", kind, machine);
        }
    }

    std::uint64_t symbol_bytes() const { return big_ ? 20 : 18; }

    /// A name of at most eight characters, or "/N": the one at N in the table behind the symbols.
    std::string_view section_name(std::uint64_t at) const {
        std::string_view name = file_.name(at, 8);
        if (name.size() > 1 && name[0] == '/') {
            std::uint64_t place = 0;
            for (const char c : name.substr(1)) {
                if (c < '0' || c > '9') {
                    return name;
                }
                place = place * 10 + static_cast<std::uint64_t>(c - '0');
            }
            return long_name(place);
        }
        return name;
    }

    std::string_view long_name(std::uint64_t place) const {
        return file_.name(symbols_at_ + symbol_count_ * symbol_bytes() + place);
    }

    Result<void> read_sections() {
        auto table = file_.part(sections_at_, section_count_ * pe::section_bytes, "section table");
        if (!table) {
            return fail(table.error());
        }
        for (std::uint64_t i = 0; i < section_count_; ++i) {
            const std::uint64_t at = i * pe::section_bytes;
            CoffSection section;
            section.name = section_name(sections_at_ + at);
            section.bytes_in_memory = table->u32(at + 8);
            section.address = table->u32(at + 12);
            section.size = table->u32(at + 16);
            section.offset = table->u32(at + 20);
            section.relocations_at = table->u32(at + 24);
            section.relocations = table->u16(at + 32);
            section.flags = table->u32(at + 36);
            by_address_.emplace(section.address, sections_.size());
            sections_.push_back(section);
        }
        return {};
    }

    Result<void> read_code() {
        std::uint64_t code = 0;
        for (CoffSection& section : sections_) {
            image_.intermediate = image_.intermediate || section.name.starts_with(".gnu.lto_") ||
                                  section.name.starts_with(".llvm.lto");
            const bool executable =
                (section.flags & (pe::section_code | pe::section_executable)) != 0;
            std::uint64_t size = section.size;
            if (image_.linked) { // The file has it rounded up.
                size = std::min(size, section.bytes_in_memory);
            }
            if (!executable || size == 0 || section.offset == 0) {
                continue;
            }
            auto bytes = file_.part(section.offset, size, section.name);
            if (!bytes) {
                return fail(bytes.error());
            }
            code += size;
            if (code > file_.size()) {
                return fail(Error(SimErrc::limit_exceeded, "sections", "they overlap in the file")
                                .at(section.offset));
            }
            section.code = static_cast<std::uint32_t>(image_.sections.size());
            image_.sections.push_back(
                {section.name, image_.linked ? base_ + section.address : 0, bytes->view()});
        }
        return {};
    }

    Result<void> read_symbols() {
        if (symbol_count_ == 0) {
            return {};
        }
        auto table = file_.part(symbols_at_, symbol_count_ * symbol_bytes(), "symbol table");
        if (!table) {
            return fail(table.error());
        }
        for (std::uint64_t i = 0; i < symbol_count_;) {
            const std::uint64_t at = i * symbol_bytes();
            const std::string_view name =
                table->u32(at) == 0 ? long_name(table->u32(at + 4)) : table->name(at, 8);
            const std::uint64_t value = table->u32(at + 8);
            const std::uint32_t section = big_ ? table->u32(at + 12) : table->u16(at + 12);
            const std::uint16_t type = table->u16(at + (big_ ? 16 : 14));
            const std::uint8_t kind = table->u8(at + (big_ ? 18 : 16));
            const bool external = kind == pe::class_external || kind == pe::class_weak_external;
            if (section == 0 && value == 0 && external && !image_.linked && !name.empty()) {
                import_of_[static_cast<std::uint32_t>(i)] =
                    static_cast<std::uint32_t>(image_.imports.size());
                image_.imports.push_back({name, {}, false});
            } else if (section > 0 && (external || kind == pe::class_static)) {
                define(name, section - 1, value, type == pe::type_function || external);
            }
            i += std::uint64_t{1} + table->u8(at + (big_ ? 19 : 17)); // and its further records
        }
        return {};
    }

    void define(std::string_view name, std::uint32_t index, std::uint64_t value, bool function) {
        const std::uint32_t code = index < sections_.size() ? sections_[index].code : no_section;
        // A section has a symbol of its own name.
        if (code != no_section && function && !name.empty() && name != sections_[index].name) {
            const std::uint64_t start = image_.sections[code].address;
            image_.symbols.push_back({name, code, start + value, 0, true});
        }
    }

    Result<void> read_relocations() {
        std::uint64_t bytes = 0;
        for (const CoffSection& section : sections_) {
            if ((section.flags & pe::section_discardable) != 0 || section.relocations == 0) {
                continue;
            }
            // A number that does not fit is in the first relocation.
            const bool many = section.relocations == 0xffff &&
                              (section.flags & pe::section_relocations_overflow) != 0;
            const std::uint64_t count =
                many ? file_.u32(section.relocations_at) : section.relocations;
            auto table =
                file_.part(section.relocations_at, count * pe::relocation_bytes, "relocations");
            if (!table) {
                return fail(table.error());
            }
            bytes += table->size();
            if (bytes > file_.size()) {
                return fail(
                    Error(SimErrc::limit_exceeded, "relocations", "they overlap in the file")
                        .at(section.relocations_at));
            }
            for (std::uint64_t i = many ? 1 : 0; i < count; ++i) {
                const std::uint64_t at = i * pe::relocation_bytes;
                const auto import = import_of_.find(table->u32(at + 4));
                if (import == import_of_.end()) {
                    continue;
                }
                if (section.code != no_section) {
                    image_.uses.push_back({import->second, section.code, table->u32(at)});
                } else {
                    image_.imports[import->second].in_data = true;
                }
            }
        }
        return {};
    }

    /// Where the file has what is at an address, relative to the base; its size if nowhere.
    std::uint64_t offset_of(std::uint64_t address) const {
        const auto next = by_address_.upper_bound(address);
        if (next != by_address_.begin()) {
            const CoffSection& section = sections_[std::prev(next)->second];
            if (address - section.address < section.size) {
                return section.offset + (address - section.address);
            }
        }
        return file_.size();
    }

    /// A table for each library, and in it a slot for each name.
    Result<void> read_import_table() {
        if (imports_at_ == 0) {
            return {};
        }
        constexpr std::uint64_t library_bytes = 20;
        const std::uint64_t word = wide_ ? 8 : 4;
        // No more names than there are words, in whatever circles they may be linked.
        std::uint64_t budget = file_.size() / word;
        for (std::uint64_t at = offset_of(imports_at_);
             file_.has(at, library_bytes) && file_.u32(at + 12) != 0 && budget > 0;
             at += library_bytes, --budget) {
            const std::uint64_t slots = file_.u32(at + 16);
            const std::uint64_t names = file_.u32(at) != 0 ? file_.u32(at) : slots;
            std::uint64_t entry = offset_of(names);
            for (std::uint64_t i = 0; file_.has(entry, word) && budget > 0; ++i, --budget) {
                const std::uint64_t value = file_.word(entry, wide_);
                if (value == 0) {
                    break;
                }
                const bool by_number = (value >> (wide_ ? 63 : 31)) != 0;
                if (!by_number) {
                    const std::string_view name = file_.name(offset_of(value & 0x7fffffff) + 2);
                    image_.slots.push_back({base_ + slots + i * word,
                                            static_cast<std::uint32_t>(image_.imports.size())});
                    image_.imports.push_back({name, {}, false});
                }
                entry += word;
            }
        }
        return {};
    }

    ObjectBytes file_;
    bool big_ = false;  ///< An object for more sections than 16 bits count.
    bool wide_ = false; ///< A program of 64 bits.
    std::uint64_t base_ = 0;
    std::uint64_t imports_at_ = 0;
    std::uint64_t section_count_ = 0;
    std::uint64_t sections_at_ = 0;
    std::uint64_t symbols_at_ = 0;
    std::uint64_t symbol_count_ = 0;
    std::vector<CoffSection> sections_;
    std::map<std::uint64_t, std::size_t> by_address_;  ///< Into sections_; of use in programs.
    std::map<std::uint32_t, std::uint32_t> import_of_; ///< By number of the symbol.
    CodeImage image_;
};

} // namespace

Result<CodeImage> read_coff(ByteView file) {
    return CoffReader(file).read_object();
}

Result<CodeImage> read_pe(ByteView file) {
    return CoffReader(file).read_program();
}

} // namespace twinstep::tools::lint
