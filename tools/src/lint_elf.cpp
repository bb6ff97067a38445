// SPDX-License-Identifier: MIT
// ELF files as code, names and references.
#include "lint_bytes.hpp"
#include "lint_containers.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

namespace twinstep::tools::lint {

namespace {

// Of the System V ABI and its processor supplements.
namespace elf {
constexpr std::uint32_t progbits = 1;
constexpr std::uint32_t symtab = 2;
constexpr std::uint32_t rela = 4;
constexpr std::uint32_t rel = 9;
constexpr std::uint32_t dynsym = 11;
constexpr std::uint32_t init_array = 14;
constexpr std::uint32_t symtab_shndx = 18;
constexpr std::uint32_t gnu_verneed = 0x6ffffffe;
constexpr std::uint32_t gnu_versym = 0x6fffffff;
constexpr std::uint64_t flag_executable = 4;
constexpr std::uint16_t index_extended = 0xffff;
constexpr std::uint16_t index_reserved = 0xff00;
constexpr std::uint16_t machine_x86_32 = 3;
constexpr std::uint16_t machine_mips = 8;
constexpr std::uint16_t machine_arm = 40;
constexpr std::uint16_t machine_x86_64 = 62;
constexpr std::uint16_t machine_aarch64 = 183;
} // namespace elf

struct ElfSection {
    std::string_view name;
    std::uint32_t type = 0;
    std::uint64_t flags = 0;
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint32_t link = 0;
    std::uint32_t info = 0;
    std::uint32_t code = no_section; ///< Its place in CodeImage::sections.
};

std::string elf_machine_name(std::uint16_t machine, bool big_endian) {
    constexpr std::array<std::pair<std::uint16_t, std::string_view>, 11> names{
        {{2, "SPARC"},
         {elf::machine_x86_32, "x86"},
         {elf::machine_mips, "MIPS"},
         {20, "PowerPC"},
         {21, "PowerPC64"},
         {22, "s390"},
         {elf::machine_arm, "Arm"},
         {43, "SPARC64"},
         {elf::machine_x86_64, "x86-64"},
         {elf::machine_aarch64, "AArch64"},
         {243, "RISC-V"}}};
    for (const auto& [number, name] : names) {
        if (number == machine) {
            return fmt::format("ELF {}{}", name, big_endian ? ", big-endian" : "");
        }
    }
    return fmt::format("ELF machine {}", machine);
}

class ElfReader {
public:
    explicit ElfReader(ByteView file)
        : file_(file, file.size() > 5 && std::to_integer<int>(file[5]) == 2)
        , wide_(file.size() > 4 && std::to_integer<int>(file[4]) == 2) {}

    Result<CodeImage> read() {
        for (const auto step : {&ElfReader::read_head,
                                &ElfReader::read_sections,
                                &ElfReader::read_code,
                                &ElfReader::read_symbols,
                                &ElfReader::read_versions,
                                &ElfReader::read_relocations,
                                &ElfReader::read_constructors}) {
            if (Result<void> done = (this->*step)(); !done) {
                return fail(done.error());
            }
        }
        return std::move(image_);
    }

private:
    static Error wrong(std::string_view field, std::string_view detail, std::uint64_t at) {
        return Error(SimErrc::malformed, std::string(field), std::string(detail)).at(at);
    }

    Result<void> read_head() {
        const std::uint8_t bits = file_.u8(4);
        const std::uint8_t order = file_.u8(5);
        if (bits < 1 || bits > 2 || order < 1 || order > 2) {
            return fail(wrong("e_ident", "neither 32 nor 64 bits, or without a byte order", 4));
        }
        auto head = file_.part(0, wide_ ? 64 : 52, "ELF header");
        if (!head) {
            return fail(head.error());
        }
        const std::uint16_t type = head->u16(16);
        machine_ = head->u16(18);
        if (type < 1 || type > 3) {
            return fail(wrong("e_type", "no object, program or shared library", 16));
        }
        image_.linked = type != 1;
        image_.machine = machine_ == elf::machine_x86_64    ? Machine::x86_64
                         : machine_ == elf::machine_x86_32  ? Machine::x86_32
                         : machine_ == elf::machine_aarch64 ? Machine::aarch64
                                                            : Machine::other;
        image_.target = elf_machine_name(machine_, order == 2);
        table_at_ = head->word(wide_ ? 40 : 32, wide_);
        entry_bytes_ = head->u16(wide_ ? 58 : 46);
        count_ = head->u16(wide_ ? 60 : 48);
        names_index_ = head->u16(wide_ ? 62 : 50);
        return {};
    }

    ElfSection section_at(const ObjectBytes& table, std::uint64_t index) const {
        const std::uint64_t at = index * entry_bytes_;
        ElfSection section;
        section.type = table.u32(at + 4);
        section.flags = table.word(at + 8, wide_);
        section.address = table.word(at + (wide_ ? 16 : 12), wide_);
        section.offset = table.word(at + (wide_ ? 24 : 16), wide_);
        section.size = table.word(at + (wide_ ? 32 : 20), wide_);
        section.link = table.u32(at + (wide_ ? 40 : 24));
        section.info = table.u32(at + (wide_ ? 44 : 28));
        return section;
    }

    Result<void> read_sections() {
        if (table_at_ == 0) {
            return fail(wrong("e_shoff",
                              "no section table: calls cannot be told; take the file as it was "
                              "before its sections were stripped",
                              wide_ ? 40 : 32));
        }
        if (entry_bytes_ < (wide_ ? 64U : 40U)) {
            return fail(wrong("e_shentsize", "too small for a section", wide_ ? 58 : 46));
        }
        auto first = file_.part(table_at_, entry_bytes_, "section table");
        if (!first) {
            return fail(first.error());
        }
        // Numbers that do not fit the header are in the first section.
        const ElfSection extended = section_at(*first, 0);
        const std::uint64_t count = count_ == 0 ? extended.size : count_;
        const std::uint64_t names_index =
            names_index_ == elf::index_extended ? extended.link : names_index_;
        if (count > file_.size() / entry_bytes_) {
            return fail(wrong("e_shnum", "more sections than the file has room for", table_at_));
        }
        auto table = file_.part(table_at_, count * entry_bytes_, "section table");
        if (!table) {
            return fail(table.error());
        }
        ObjectBytes names;
        if (names_index < count) {
            const ElfSection section = section_at(*table, names_index);
            auto part = file_.part(section.offset, section.size, "section names");
            if (!part) {
                return fail(part.error());
            }
            names = *part;
        }
        sections_.reserve(static_cast<std::size_t>(count));
        for (std::uint64_t i = 0; i < count; ++i) {
            ElfSection section = section_at(*table, i);
            section.name = names.name(table->u32(i * entry_bytes_));
            sections_.push_back(section);
        }
        return {};
    }

    Result<ObjectBytes> content(const ElfSection& section, std::string_view what) const {
        return file_.part(section.offset, section.size, what);
    }

    Result<void> read_code() {
        std::uint64_t code = 0;
        for (ElfSection& section : sections_) {
            image_.intermediate = image_.intermediate || section.name.starts_with(".gnu.lto_") ||
                                  section.name.starts_with(".llvm.lto");
            if ((section.flags & elf::flag_executable) == 0 || section.type != elf::progbits ||
                section.size == 0) {
                continue;
            }
            auto bytes = content(section, section.name);
            if (!bytes) {
                return fail(bytes.error());
            }
            code += section.size;
            if (code > file_.size()) {
                return fail(Error(SimErrc::limit_exceeded, "sections", "they overlap in the file")
                                .at(section.offset));
            }
            section.code = static_cast<std::uint32_t>(image_.sections.size());
            image_.sections.push_back(
                {section.name, image_.linked ? section.address : 0, bytes->view()});
        }
        return {};
    }

    /// The first section of a type, or null.
    const ElfSection* first_of(std::uint32_t type, std::uint32_t link = no_section) const {
        for (const ElfSection& section : sections_) {
            if (section.type == type && (link == no_section || section.link == link)) {
                return &section;
            }
        }
        return nullptr;
    }

    std::uint64_t symbol_bytes() const { return wide_ ? 24 : 16; }

    std::uint32_t index_of(const ElfSection& section) const {
        return static_cast<std::uint32_t>(&section - sections_.data());
    }

    Result<void> read_symbols() {
        const ElfSection* dynamic = first_of(elf::dynsym);
        const ElfSection* full = first_of(elf::symtab);
        if (const ElfSection* defined = full != nullptr ? full : dynamic) {
            if (Result<void> read = read_table(*defined, true, !image_.linked); !read) {
                return read;
            }
        }
        if (image_.linked && dynamic != nullptr) {
            return read_table(*dynamic, false, true);
        }
        return {};
    }

    Result<void> read_table(const ElfSection& section, bool definitions, bool imports) {
        auto table = content(section, section.name);
        auto names = section.link < sections_.size()
                         ? content(sections_[section.link], "symbol names")
                         : Result<ObjectBytes>(ObjectBytes{});
        if (!table || !names) {
            return fail(!table ? table.error() : names.error());
        }
        ObjectBytes extended;
        if (const ElfSection* indices = first_of(elf::symtab_shndx, index_of(section))) {
            if (auto part = content(*indices, indices->name)) {
                extended = *part;
            }
        }
        const std::uint64_t count = table->size() / symbol_bytes();
        for (std::uint64_t i = 1; i < count; ++i) {
            const std::uint64_t at = i * symbol_bytes();
            const std::uint16_t raw_index = table->u16(at + (wide_ ? 6 : 14));
            const bool far = raw_index == elf::index_extended;
            const std::uint32_t index = far ? extended.u32(i * 4) : raw_index;
            const std::string_view name = names->name(table->u32(at));
            if (index == 0 && imports && !name.empty()) {
                import_of_[{index_of(section), static_cast<std::uint32_t>(i)}] =
                    static_cast<std::uint32_t>(image_.imports.size());
                image_.imports.push_back({name, {}, false});
            } else if (index != 0 && definitions && (far || index < elf::index_reserved)) {
                define(*table, at, index, name);
            }
        }
        return {};
    }

    /// Whether a symbol says that code or data begins: $x, $d.12.
    static bool is_mark(std::string_view name) {
        return name.size() >= 2 && name[0] == '$' &&
               std::string_view("adtx").find(name[1]) != std::string_view::npos &&
               (name.size() == 2 || name[2] == '.');
    }

    void
    define(const ObjectBytes& table, std::uint64_t at, std::uint32_t index, std::string_view name) {
        const std::uint32_t code = index < sections_.size() ? sections_[index].code : no_section;
        if (code == no_section || name.empty()) {
            return;
        }
        constexpr unsigned type_none = 0;
        constexpr unsigned type_function = 2;
        constexpr unsigned type_indirect_function = 10;
        const unsigned type = table.u8(at + (wide_ ? 4 : 12)) & 15U;
        const bool mark = is_mark(name);
        const bool function = !mark && (type == type_function || type == type_indirect_function ||
                                        (type == type_none && !name.starts_with('.')));
        if (function || mark) {
            // A function in Thumb code has an odd address.
            const std::uint64_t thumb = machine_ == elf::machine_arm && function ? 1 : 0;
            image_.symbols.push_back({name,
                                      code,
                                      table.word(at + (wide_ ? 8 : 4), wide_) & ~thumb,
                                      table.word(at + (wide_ ? 16 : 8), wide_),
                                      function});
        }
    }

    /// The versions that imports of a linked file ask for.
    Result<void> read_versions() {
        const ElfSection* needs = first_of(elf::gnu_verneed);
        const ElfSection* indices = first_of(elf::gnu_versym);
        if (needs == nullptr || indices == nullptr || needs->link >= sections_.size()) {
            return {};
        }
        auto table = content(*needs, needs->name);
        auto names = content(sections_[needs->link], "version names");
        auto versions = content(*indices, indices->name);
        if (!table || !names || !versions) {
            return {}; // Names are what counts; versions are for the reader.
        }
        std::map<std::uint16_t, std::string_view> name_of;
        std::uint64_t at = 0;
        // No more entries than there are bytes for, in whatever circles they may be linked.
        std::uint64_t budget = table->size() / 16;
        while (table->has(at, 16)) {
            std::uint64_t entry = at + table->u32(at + 8);
            for (std::uint16_t left = table->u16(at + 2);
                 left > 0 && budget > 0 && table->has(entry, 16);
                 --left, --budget) {
                name_of[table->u16(entry + 6)] = names->name(table->u32(entry + 8), 64);
                if (table->u32(entry + 12) == 0) {
                    break;
                }
                entry += table->u32(entry + 12);
            }
            if (table->u32(at + 12) < 16) {
                break;
            }
            at += table->u32(at + 12);
        }
        for (const auto& [place, import] : import_of_) {
            const auto found = name_of.find(versions->u16(place.second * std::uint64_t{2}));
            if (place.first == indices->link && found != name_of.end()) {
                image_.imports[import].version = found->second;
            }
        }
        return {};
    }

    Result<void> read_relocations() {
        constructors_ = image_.linked ? first_of(elf::init_array) : nullptr;
        std::uint64_t bytes = 0;
        for (const ElfSection& section : sections_) {
            if (section.type != elf::rel && section.type != elf::rela) {
                continue;
            }
            auto table = content(section, section.name);
            if (!table) {
                return fail(table.error());
            }
            bytes += table->size();
            if (bytes > file_.size()) {
                return fail(
                    Error(SimErrc::limit_exceeded, "relocations", "they overlap in the file")
                        .at(section.offset));
            }
            read_relocations_of(section, *table);
        }
        return {};
    }

    void read_relocations_of(const ElfSection& section, const ObjectBytes& table) {
        const std::uint64_t word = wide_ ? 8 : 4;
        const std::uint64_t entry = word * (section.type == elf::rela ? 3 : 2);
        const bool debug = section.info < sections_.size() && !image_.linked &&
                           (sections_[section.info].flags & 2) == 0; // not in memory
        if (debug) {
            return;
        }
        const std::uint32_t code =
            section.info < sections_.size() ? sections_[section.info].code : no_section;
        for (std::uint64_t at = 0; table.has(at, entry); at += entry) {
            const std::uint64_t place = table.word(at, wide_);
            const std::uint64_t info = table.word(at + word, wide_);
            // 64-bit MIPS keeps the symbol in the first half of the field in either byte order.
            const auto symbol =
                static_cast<std::uint32_t>(!wide_                          ? info >> 8
                                           : machine_ == elf::machine_mips ? table.u32(at + word)
                                                                           : info >> 32);
            const auto import = import_of_.find({section.link, symbol});
            if (import != import_of_.end()) {
                add_reference(import->second, code, place);
            } else if (symbol == 0 && section.type == elf::rela && is_constructor(place)) {
                relative_[place] = table.word(at + 2 * word, wide_);
            }
        }
    }

    /// Whether a linked file keeps the address of a constructor there.
    bool is_constructor(std::uint64_t place) const {
        return constructors_ != nullptr && place >= constructors_->address &&
               place - constructors_->address < constructors_->size;
    }

    void add_reference(std::uint32_t import, std::uint32_t code, std::uint64_t place) {
        if (image_.linked) {
            image_.slots.push_back({place, import});
        } else if (code != no_section) {
            image_.uses.push_back({import, code, place});
        } else {
            image_.imports[import].in_data = true;
        }
    }

    /// Addresses in the array of functions that run before main.
    Result<void> read_constructors() {
        if (constructors_ == nullptr) {
            return {};
        }
        const std::uint64_t word = wide_ ? 8 : 4;
        auto table = content(*constructors_, constructors_->name);
        for (std::uint64_t at = 0; table && table->has(at, word); at += word) {
            const auto relative = relative_.find(constructors_->address + at);
            const std::uint64_t address =
                relative != relative_.end() ? relative->second : table->word(at, wide_);
            image_.constructors.push_back(address);
        }
        return {};
    }

    ObjectBytes file_;
    bool wide_;
    std::uint16_t machine_ = 0;
    std::uint64_t table_at_ = 0;
    std::uint64_t entry_bytes_ = 0;
    std::uint64_t count_ = 0;
    std::uint64_t names_index_ = 0;
    std::vector<ElfSection> sections_;
    /// Section of the table and number of the symbol, to its place in CodeImage::imports.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> import_of_;
    const ElfSection* constructors_ = nullptr;
    /// Where a constructor's address is kept, to that address.
    std::map<std::uint64_t, std::uint64_t> relative_;
    CodeImage image_;
};

} // namespace

Result<CodeImage> read_elf(ByteView file) {
    return ElfReader(file).read();
}

} // namespace twinstep::tools::lint
