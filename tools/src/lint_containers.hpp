// SPDX-License-Identifier: MIT
// The files that `lint` reads. All bytes are taken for hostile: each offset and count is compared
// with the bytes that are there, and no more is kept than the file is long.
#pragma once

#include "lint_image.hpp"

#include "twinstep/sim/result.hpp"

#include <string_view>
#include <vector>

namespace twinstep::tools::lint {

/// What a file turns out to be by its first bytes.
enum class Container : std::uint8_t {
    unknown,
    elf,
    coff,        ///< An object of Windows, also in the form for many sections.
    pe,          ///< A program or DLL of Windows.
    import_stub, ///< A member of an import library: a name, no code.
    bitcode,     ///< LLVM's intermediate code.
    archive,
    thin_archive,
};
Container container_of(ByteView file);

/// ELF objects, programs and shared libraries, 32 and 64 bits, either byte order. Errors:
/// truncated and malformed with offset and field; limit_exceeded if sections overlap.
Result<CodeImage> read_elf(ByteView file);
/// COFF objects. Errors: as read_elf().
Result<CodeImage> read_coff(ByteView file);
/// PE programs and DLLs. Errors: as read_elf().
Result<CodeImage> read_pe(ByteView file);

/// A file in an archive.
struct Member {
    std::string_view name;    ///< At most 255 bytes of it.
    std::uint64_t offset = 0; ///< Of its bytes in the archive.
    ByteView bytes;
};

/// Archives of ar and lib, with GNU's, BSD's and Microsoft's long names; tables of symbols and
/// names are no members. Errors: truncated, malformed.
Result<std::vector<Member>> read_archive(ByteView file);

} // namespace twinstep::tools::lint
