// SPDX-License-Identifier: MIT
// Small object files and archives for tests of what reads them, in every byte order and width.
#pragma once

#include "twinstep/sim/bytes.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What is in an object: one section of code, functions in it, and calls of what is elsewhere.
struct ObjectPlan {
    struct Function {
        std::string name;
        std::uint32_t offset = 0;
        std::uint32_t size = 0;
    };

    struct Call {
        std::string import;
        std::uint32_t offset = 0;
    };

    bool wide = true;
    bool big_endian = false;
    std::uint16_t machine = 62; ///< x86-64, as ELF numbers it.
    std::vector<std::uint8_t> code;
    std::vector<Function> functions;
    std::vector<Call> calls;
};

namespace object_files {

/// Bytes with a byte order.
class Out {
public:
    explicit Out(bool big_endian)
        : big_endian_(big_endian) {}

    Out& number(std::uint64_t value, unsigned bytes) {
        for (unsigned i = 0; i < bytes; ++i) {
            const unsigned shift = 8 * (big_endian_ ? bytes - 1 - i : i);
            bytes_.push_back(static_cast<std::byte>(value >> shift));
        }
        return *this;
    }

    Out& text(std::string_view text, std::size_t length) {
        for (std::size_t i = 0; i < length; ++i) {
            bytes_.push_back(static_cast<std::byte>(i < text.size() ? text[i] : '\0'));
        }
        return *this;
    }

    Out& append(twinstep::ByteView bytes) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        return *this;
    }

    std::size_t size() const { return bytes_.size(); }

    const twinstep::Bytes& bytes() const { return bytes_; }

private:
    bool big_endian_;
    twinstep::Bytes bytes_;
};

/// Names one after the other, each with a zero; returns where each begins.
inline std::vector<std::uint32_t>
put_names(Out& out, const std::vector<std::string>& names, std::uint32_t first) {
    std::vector<std::uint32_t> places;
    for (const std::string& name : names) {
        places.push_back(first + static_cast<std::uint32_t>(out.size()));
        out.text(name, name.size() + 1);
    }
    return places;
}

struct ElfTable {
    std::uint32_t type = 0;
    std::uint32_t flags = 0;
    std::uint32_t link = 0;
    std::uint32_t info = 0;
    std::uint32_t entry = 0;
    twinstep::Bytes bytes;
};

/// The table of symbols: none, functions, imports; and their names.
inline twinstep::Bytes elf_symbols(const ObjectPlan& plan, Out& strings) {
    std::vector<std::string> names{""};
    for (const auto& function : plan.functions) {
        names.push_back(function.name);
    }
    for (const auto& call : plan.calls) {
        names.push_back(call.import);
    }
    const auto places = put_names(strings, names, 0);
    Out symbols(plan.big_endian);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const bool defined = i > 0 && i <= plan.functions.size();
        const auto function = defined ? plan.functions[i - 1] : ObjectPlan::Function{};
        symbols.number(places[i], 4);
        const auto info = [&] { symbols.number(defined ? 0x12 : 0x10, 1).number(0, 1); };
        const auto index = [&] { symbols.number(defined ? 1 : 0, 2); };
        if (plan.wide) {
            info();
            index();
            symbols.number(function.offset, 8).number(function.size, 8);
        } else {
            symbols.number(function.offset, 4).number(function.size, 4);
            info();
            index();
        }
    }
    return symbols.bytes();
}

} // namespace object_files

/// An ELF object.
inline twinstep::Bytes make_elf(const ObjectPlan& plan) {
    using object_files::ElfTable;
    using object_files::Out;
    const unsigned word = plan.wide ? 8 : 4;
    Out strings(plan.big_endian);
    const twinstep::Bytes symbols = object_files::elf_symbols(plan, strings);
    Out relocations(plan.big_endian);
    for (std::size_t i = 0; i < plan.calls.size(); ++i) {
        const std::uint64_t symbol = 1 + plan.functions.size() + i;
        relocations.number(plan.calls[i].offset, word)
            .number(plan.wide ? symbol << 32 | 4 : symbol << 8 | 4, word)
            .number(0, word);
    }
    Out section_names(plan.big_endian);
    const auto titles = object_files::put_names(
        section_names, {"", ".text", ".symtab", ".strtab", ".rela.text", ".shstrtab"}, 0);
    Out code(plan.big_endian);
    for (const std::uint8_t byte : plan.code) {
        code.number(byte, 1);
    }
    const std::vector<ElfTable> tables{{},
                                       {1, 6, 0, 0, 0, code.bytes()},
                                       {2, 0, 3, 1, plan.wide ? 24U : 16U, symbols},
                                       {3, 0, 0, 0, 0, strings.bytes()},
                                       {4, 0, 2, 1, 3 * word, relocations.bytes()},
                                       {3, 0, 0, 0, 0, section_names.bytes()}};
    const std::size_t head_bytes = plan.wide ? 64 : 52;
    Out body(plan.big_endian);
    Out table(plan.big_endian);
    for (std::size_t i = 0; i < tables.size(); ++i) {
        table.number(titles[i], 4).number(tables[i].type, 4).number(tables[i].flags, word);
        table.number(0, word).number(i == 0 ? 0 : head_bytes + body.size(), word);
        table.number(tables[i].bytes.size(), word).number(tables[i].link, 4);
        table.number(tables[i].info, 4).number(1, word).number(tables[i].entry, word);
        body.append(tables[i].bytes);
    }
    Out file(plan.big_endian);
    file.text("\x7f"
              "ELF",
              4);
    file.number(plan.wide ? 2 : 1, 1).number(plan.big_endian ? 2 : 1, 1).number(1, 1);
    file.text("", 9).number(1, 2).number(plan.machine, 2).number(1, 4);
    file.number(0, word).number(0, word).number(head_bytes + body.size(), word);
    file.number(0, 4).number(head_bytes, 2).number(0, 2).number(0, 2);
    file.number(plan.wide ? 64 : 40, 2).number(tables.size(), 2).number(tables.size() - 1, 2);
    file.append(body.bytes()).append(table.bytes());
    return file.bytes();
}

/// A COFF object for x86-64, or with `wide` unset for 32-bit x86; with `many` in the form for many
/// sections.
inline twinstep::Bytes make_coff(const ObjectPlan& plan, bool many = false) {
    using object_files::Out;
    const std::uint16_t machine = plan.wide ? 0x8664 : 0x014c;
    const std::size_t head_bytes = many ? 56 : 20;
    const std::size_t code_at = head_bytes + 40;
    const std::size_t relocations_at = code_at + plan.code.size();
    const std::size_t symbols_at = relocations_at + 10 * plan.calls.size();
    const std::size_t symbol_count = plan.functions.size() + plan.calls.size();
    Out file(false);
    if (many) {
        file.number(0, 2).number(0xffff, 2).number(2, 2).number(machine, 2).number(0, 4);
        file.text("", 16).number(0, 4).number(0, 4).number(0, 4).number(0, 4);
        file.number(1, 4).number(symbols_at, 4).number(symbol_count, 4);
    } else {
        file.number(machine, 2).number(1, 2).number(0, 4).number(symbols_at, 4);
        file.number(symbol_count, 4).number(0, 2).number(0, 2);
    }
    file.text(".text", 8).number(0, 4).number(0, 4).number(plan.code.size(), 4);
    file.number(code_at, 4).number(relocations_at, 4).number(0, 4);
    file.number(plan.calls.size(), 2).number(0, 2).number(0x60000020, 4);
    for (const std::uint8_t byte : plan.code) {
        file.number(byte, 1);
    }
    for (std::size_t i = 0; i < plan.calls.size(); ++i) {
        file.number(plan.calls[i].offset, 4).number(plan.functions.size() + i, 4).number(4, 2);
    }
    std::vector<std::string> names;
    for (const auto& function : plan.functions) {
        names.push_back(function.name);
    }
    for (const auto& call : plan.calls) {
        names.push_back(call.import);
    }
    Out strings(false);
    const auto places = object_files::put_names(strings, names, 4);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const bool defined = i < plan.functions.size();
        if (names[i].size() > 8) {
            file.number(0, 4).number(places[i], 4);
        } else {
            file.text(names[i], 8);
        }
        file.number(defined ? plan.functions[i].offset : 0, 4);
        file.number(defined ? 1 : 0, many ? 4 : 2).number(0x20, 2).number(2, 1).number(0, 1);
    }
    file.number(strings.size() + 4, 4).append(strings.bytes());
    return file.bytes();
}

/// A program of Windows, of 64 or 32 bits, that has the calls of the plan in its table of imports.
/// Code is at 0x1000 behind a base of 0x400000, the slots of the imports at 0x2000.
inline twinstep::Bytes make_pe(const ObjectPlan& plan) {
    using object_files::Out;
    constexpr std::uint32_t slots_at = 0x2000;
    const unsigned word = plan.wide ? 8 : 4;
    const auto table_bytes = static_cast<std::uint32_t>(word * (plan.calls.size() + 1));
    const std::uint32_t libraries_at = slots_at + table_bytes;
    const std::uint32_t names_at = libraries_at + 2 * 20;
    Out names(false);
    Out slots(false);
    for (const auto& call : plan.calls) {
        slots.number(names_at + names.size(), word);
        names.number(0, 2).text(call.import, call.import.size() + 1);
    }
    slots.number(0, word);
    Out data(false);
    data.append(slots.bytes()).text("", 12).number(names_at + names.size(), 4);
    data.number(slots_at, 4).text("", 20).append(names.bytes()).text("a.dll", 6);
    const std::size_t optional_bytes = plan.wide ? 128 : 112;
    const std::size_t code_at = 0x44 + 20 + optional_bytes + 2 * 40;
    Out file(false);
    file.text("MZ", 0x3c).number(0x40, 4).text("PE", 4);
    file.number(plan.wide ? 0x8664 : 0x014c, 2).number(2, 2).text("", 12);
    file.number(optional_bytes, 2).number(0x22, 2);
    const std::size_t optional_at = file.size();
    file.number(plan.wide ? 0x20b : 0x10b, 2).text("", plan.wide ? 22 : 26).number(0x400000, word);
    file.text("", optional_at + (plan.wide ? 120 : 104) - file.size());
    file.number(libraries_at, 4).number(40, 4);
    const auto section = [&file](std::string_view name,
                                 std::size_t size,
                                 std::uint32_t address,
                                 std::size_t at,
                                 std::uint32_t flags) {
        file.text(name, 8).number(size, 4).number(address, 4).number(size, 4).number(at, 4);
        file.text("", 12).number(flags, 4);
    };
    section(".text", plan.code.size(), 0x1000, code_at, 0x60000020);
    section(".idata", data.size(), slots_at, code_at + plan.code.size(), 0xc0000040);
    for (const std::uint8_t byte : plan.code) {
        file.number(byte, 1);
    }
    return file.append(data.bytes()).bytes();
}

/// An archive as GNU ar makes it, a table of long names first.
inline twinstep::Bytes
make_archive(const std::vector<std::pair<std::string, twinstep::Bytes>>& members) {
    using object_files::Out;
    Out file(false);
    const auto put = [&file](const std::string& name, twinstep::ByteView bytes) {
        const std::string size = std::to_string(bytes.size());
        file.text(name + std::string(16 - name.size(), ' '), 16);
        file.text("0           0     0     644     ", 32);
        file.text(size + std::string(10 - size.size(), ' '), 10).text("`\n", 2).append(bytes);
        if (bytes.size() % 2 != 0) {
            file.text("\n", 1);
        }
    };
    file.text("!<arch>\n", 8);
    std::string long_names;
    std::vector<std::string> titles;
    for (const auto& [name, bytes] : members) {
        if (name.size() > 15) {
            titles.push_back("/" + std::to_string(long_names.size()));
            long_names += name + "/\n";
        } else {
            titles.push_back(name + "/");
        }
    }
    if (!long_names.empty()) {
        put("//", std::as_bytes(std::span(long_names)));
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
        put(titles[i], members[i].second);
    }
    return file.bytes();
}
