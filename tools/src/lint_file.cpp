// SPDX-License-Identifier: MIT
// From bytes to findings: container, image, finders.
#include "lint_file.hpp"

#include "lint_containers.hpp"

namespace twinstep::tools::lint {

namespace {

constexpr std::string_view only_intermediate =
    "it has a compiler's intermediate code only (link-time optimisation), no machine code: check "
    "the "
    "linked program, or compile with -ffat-lto-objects or without -flto";

class FileLinter {
public:
    explicit FileLinter(AllowList& allowed)
        : allowed_(allowed) {}

    Result<FileReport> run(ByteView file) {
        const Container container = container_of(file);
        if (container == Container::unknown) {
            return fail(
                Error(SimErrc::malformed, "file", "neither ELF, COFF, PE nor an archive of them")
                    .at(0));
        }
        if (container == Container::thin_archive) {
            return fail(Error(SimErrc::malformed,
                              "file",
                              "a thin archive holds names, no code: name the objects themselves")
                            .at(0));
        }
        if (container != Container::archive) {
            if (Result<void> read = look_at({}, file, container); !read) {
                return fail(read.error());
            }
            return std::move(report_);
        }
        auto members = read_archive(file);
        if (!members) {
            return fail(members.error());
        }
        for (const Member& member : *members) {
            if (Result<void> read = look_at_member(member); !read) {
                Error error = read.error();
                error.where = member.name;
                error.offset = member.offset + error.offset.value_or(0);
                return fail(std::move(error));
            }
        }
        return std::move(report_);
    }

private:
    Result<void> look_at_member(const Member& member) {
        const Container container = container_of(member.bytes);
        if (container == Container::archive || container == Container::thin_archive) {
            report_.unchecked.push_back(
                {std::string(member.name), "an archive within an archive is not looked into"});
            return {};
        }
        return look_at(member.name, member.bytes, container);
    }

    Result<void> look_at(std::string_view name, ByteView bytes, Container container) {
        switch (container) {
        case Container::elf:
            return look_into(name, read_elf(bytes));
        case Container::coff:
            return look_into(name, read_coff(bytes));
        case Container::pe:
            return look_into(name, read_pe(bytes));
        case Container::bitcode:
            report_.unchecked.push_back({std::string(name), only_intermediate});
            return {};
        default: // Text, stubs and whatever else people put into archives.
            ++report_.without_code;
            return {};
        }
    }

    Result<void> look_into(std::string_view name, const Result<CodeImage>& image) {
        if (!image) {
            return fail(image.error());
        }
        if (image->sections.empty()) {
            if (image->intermediate) {
                report_.unchecked.push_back({std::string(name), only_intermediate});
            } else {
                ++report_.without_code;
            }
            return {};
        }
        const FunctionIndex functions(*image);
        FindingList list(allowed_);
        Part part;
        part.member = name;
        part.target = image->target;
        part.linked = image->linked;
        part.functions = functions.size();
        part.code_bytes = image->code_bytes();
        find_imports(*image, functions, list);
        part.decoding = find_opcodes(*image, functions, list);
        part.findings = list.findings();
        part.dropped = list.dropped();
        part.allowed = list.allowed();
        report_.parts.push_back(std::move(part));
        return {};
    }

    AllowList& allowed_;
    FileReport report_;
};

} // namespace

Result<FileReport> lint_bytes(ByteView file, AllowList& allowed) {
    return FileLinter(allowed).run(file);
}

} // namespace twinstep::tools::lint
