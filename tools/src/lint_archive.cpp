// SPDX-License-Identifier: MIT
// Archives, and what a file is by its first bytes.
#include "lint_bytes.hpp"
#include "lint_containers.hpp"

#include <algorithm>
#include <optional>

namespace twinstep::tools::lint {

namespace {

constexpr std::string_view archive_magic = "!<arch>\n";
constexpr std::string_view thin_magic = "!<thin>\n";
constexpr std::uint64_t member_head_bytes = 60;
constexpr std::size_t shown_bytes_max = 255;

std::string_view text_of(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A decimal number with blanks behind it.
std::optional<std::uint64_t> decimal(std::string_view text) {
    std::uint64_t value = 0;
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && digits < 16) {
        value = value * 10 + static_cast<std::uint64_t>(text[digits] - '0');
        ++digits;
    }
    const bool blanks = text.find_first_not_of(' ', digits) == std::string_view::npos;
    return digits > 0 && blanks ? std::optional(value) : std::nullopt;
}

std::string_view without_blanks(std::string_view text) {
    const std::size_t end = text.find_last_not_of(' ');
    return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

class ArchiveReader {
public:
    explicit ArchiveReader(ByteView file)
        : file_(file, false) {}

    Result<std::vector<Member>> read() {
        std::uint64_t at = archive_magic.size();
        while (at < file_.size()) {
            auto head = file_.part(at, member_head_bytes, "member head");
            if (!head) {
                return fail(head.error());
            }
            const std::string_view text = text_of(head->view());
            const auto size = decimal(text.substr(48, 10));
            if (!size || text.substr(58, 2) != "`\n") {
                return fail(
                    Error(SimErrc::malformed, "member head", "no member begins here").at(at));
            }
            auto bytes = file_.part(at + member_head_bytes, *size, "member");
            if (!bytes) {
                return fail(bytes.error());
            }
            add(without_blanks(text.substr(0, 16)), at + member_head_bytes, bytes->view());
            at += member_head_bytes + *size + *size % 2;
        }
        return std::move(members_);
    }

private:
    void add(std::string_view name, std::uint64_t offset, ByteView bytes) {
        if (name == "//") {
            long_names_ = ObjectBytes(bytes, false);
            return;
        }
        // Tables of symbols, of GNU in either width, of Microsoft and of BSD.
        if (name == "/" || name == "/SYM64/" || name.starts_with("__.SYMDEF")) {
            return;
        }
        std::string_view shown = name;
        if (name.starts_with("#1/")) { // BSD: the name is at the start of the bytes.
            const std::uint64_t length = decimal(name.substr(3)).value_or(0);
            const std::uint64_t taken = std::min<std::uint64_t>(length, bytes.size());
            shown = ObjectBytes(bytes, false).name(0, taken);
            bytes = bytes.subspan(static_cast<std::size_t>(taken));
            offset += taken;
            if (shown.starts_with("__.SYMDEF")) {
                return;
            }
        } else if (name.size() > 1 && name[0] == '/') {
            const auto at = decimal(name.substr(1));
            const std::string_view full =
                at ? long_names_.name(*at) : std::string_view{}; // "a.o/\n" or "a.o\0"
            shown = full.substr(0, full.find('\n'));
        }
        if (shown.ends_with('/')) {
            shown.remove_suffix(1);
        }
        members_.push_back({shown.substr(0, shown_bytes_max), offset, bytes});
    }

    ObjectBytes file_;
    ObjectBytes long_names_;
    std::vector<Member> members_;
};

} // namespace

Container container_of(ByteView file) {
    const ObjectBytes bytes(file, false);
    const std::string_view text = text_of(file);
    if (text.starts_with("\x7f"
                         "ELF")) {
        return Container::elf;
    }
    if (text.starts_with(archive_magic)) {
        return Container::archive;
    }
    if (text.starts_with(thin_magic)) {
        return Container::thin_archive;
    }
    if (bytes.u32(0) == 0xdec04342 || bytes.u32(0) == 0x0b17c0de) {
        return Container::bitcode;
    }
    if (text.starts_with("MZ") && bytes.u32(bytes.u32(0x3c)) == 0x00004550) {
        return Container::pe;
    }
    if (bytes.u16(0) == 0 && bytes.u16(2) == 0xffff && file.size() >= 20) {
        return bytes.u16(4) == 0 ? Container::import_stub : Container::coff;
    }
    for (const int machine : {0x8664, 0x014c, 0xaa64, 0x01c4}) {
        if (bytes.u16(0) == machine && file.size() >= 20) {
            return Container::coff;
        }
    }
    return Container::unknown;
}

Result<std::vector<Member>> read_archive(ByteView file) {
    return ArchiveReader(file).read();
}

} // namespace twinstep::tools::lint
