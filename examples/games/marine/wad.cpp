// SPDX-License-Identifier: MIT
// Reading WAD archives in pieces.
#include "marine/wad.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace twinstep::games {

namespace {

constexpr std::size_t header_bytes = 12;
constexpr std::size_t entry_bytes = 16;
constexpr std::size_t name_bytes = 8;
constexpr std::size_t entries_per_piece = 256;
constexpr std::size_t hints_max = 16;

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

using File = std::unique_ptr<std::FILE, CloseFile>;

Error io_error(const std::string& path, int number, std::string detail) {
    return Error(std::error_code(number, std::generic_category()), {}, std::move(detail)).in(path);
}

/// A file with its size.
struct OpenFile {
    File file;
    std::uint64_t size = 0;
};

Result<OpenFile> open_file(const std::string& path) {
    // A pipe would keep us waiting, and a folder claims to be as long as a file can be.
    std::error_code unknown;
    const std::filesystem::file_status status = std::filesystem::status(path, unknown);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        return fail(io_error(path, EINVAL, "not a regular file"));
    }
    OpenFile open{File(std::fopen(path.c_str(), "rb")), 0};
    if (!open.file) {
        return fail(io_error(path, errno, "cannot open"));
    }
    if (std::fseek(open.file.get(), 0, SEEK_END) != 0) {
        return fail(io_error(path, errno, "cannot seek"));
    }
    const long end = std::ftell(open.file.get());
    if (end < 0) {
        return fail(io_error(path, errno, "cannot tell the size"));
    }
    open.size = static_cast<std::uint64_t>(end);
    return open;
}

/// Reads bytes that the size says are there.
Result<void> read_at(const OpenFile& open,
                     const std::string& path,
                     std::uint64_t offset,
                     std::span<std::byte> target) {
    errno = 0;
    if (std::fseek(open.file.get(), static_cast<long>(offset), SEEK_SET) != 0 ||
        std::fread(target.data(), 1, target.size(), open.file.get()) != target.size()) {
        return fail(io_error(path, errno != 0 ? errno : EIO, "cannot read").at(offset));
    }
    return {};
}

Error bad(const std::string& path,
          SimErrc code,
          std::uint64_t offset,
          std::string field,
          std::string detail) {
    return Error(code, std::move(field), std::move(detail)).at(offset).in(path);
}

/// The directory's place, proved to lie within the file.
struct Directory {
    std::uint64_t offset = 0;
    std::uint64_t lumps = 0;
};

Result<Directory> read_header(const OpenFile& open, const std::string& path) {
    if (open.size < header_bytes) {
        return fail(bad(path,
                        SimErrc::truncated,
                        open.size,
                        "header",
                        "a WAD has at least 12 bytes, this file has " + std::to_string(open.size)));
    }
    std::array<std::byte, header_bytes> raw{};
    if (Result<void> read = read_at(open, path, 0, raw); !read) {
        return fail(read.error());
    }
    ByteReader reader(raw);
    const ByteView magic = reader.bytes(4, "magic");
    const std::string_view text(reinterpret_cast<const char*>(magic.data()), magic.size());
    const auto lumps = static_cast<std::int32_t>(reader.u32("lumps"));
    const auto offset = static_cast<std::int32_t>(reader.u32("directory"));
    if (text != "IWAD" && text != "PWAD") {
        return fail(bad(path, SimErrc::malformed, 0, "magic", "neither IWAD nor PWAD"));
    }
    if (lumps < 0 || static_cast<std::size_t>(lumps) > wad_lumps_max) {
        return fail(
            bad(path,
                SimErrc::limit_exceeded,
                4,
                "lumps",
                std::to_string(lumps) + ", expected 0 to " + std::to_string(wad_lumps_max)));
    }
    const std::uint64_t bytes = static_cast<std::uint64_t>(lumps) * entry_bytes;
    if (offset < 0 || static_cast<std::uint64_t>(offset) > open.size ||
        bytes > open.size - static_cast<std::uint64_t>(offset)) {
        return fail(bad(path,
                        SimErrc::truncated,
                        8,
                        "directory",
                        std::to_string(lumps) + " entries at " + std::to_string(offset) +
                            " do not fit into " + std::to_string(open.size) + " bytes"));
    }
    return Directory{static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(lumps)};
}

/// One entry of the directory.
struct Entry {
    std::uint64_t at = 0; ///< Where in the file the entry is.
    std::int32_t offset = 0;
    std::int32_t size = 0;
};

char upper(char letter) {
    return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

std::string upper(std::string_view text) {
    std::string result(text);
    std::transform(
        result.begin(), result.end(), result.begin(), [](char letter) { return upper(letter); });
    return result;
}

/// What a search through the directory found.
struct Search {
    std::optional<Entry> entry;
    std::string demos; ///< "DEMO1, DEMO2", for the hint.
};

void note_demo(const std::string& name, std::size_t& hints, std::string& demos) {
    const bool printable = std::all_of(
        name.begin(), name.end(), [](char letter) { return letter > ' ' && letter <= '~'; });
    if (name.starts_with("DEMO") && printable && hints < hints_max) {
        demos += (demos.empty() ? "" : ", ") + name;
        ++hints;
    }
}

Result<Search> search(const OpenFile& open,
                      const std::string& path,
                      const Directory& directory,
                      const std::string& wanted) {
    Search found;
    std::size_t hints = 0;
    std::vector<std::byte> piece(entries_per_piece * entry_bytes);
    for (std::uint64_t first = 0; first < directory.lumps; first += entries_per_piece) {
        const std::uint64_t count =
            std::min<std::uint64_t>(entries_per_piece, directory.lumps - first);
        const std::uint64_t at = directory.offset + first * entry_bytes;
        const std::span<std::byte> part(piece.data(),
                                        static_cast<std::size_t>(count) * entry_bytes);
        if (Result<void> read = read_at(open, path, at, part); !read) {
            return fail(read.error());
        }
        ByteReader reader(part);
        for (std::uint64_t i = 0; i < count; ++i) {
            Entry entry;
            entry.at = at + i * entry_bytes;
            entry.offset = static_cast<std::int32_t>(reader.u32("offset"));
            entry.size = static_cast<std::int32_t>(reader.u32("size"));
            const ByteView raw = reader.bytes(name_bytes, "name");
            const std::string_view padded(reinterpret_cast<const char*>(raw.data()), raw.size());
            const std::string name = upper(padded.substr(0, padded.find('\0')));
            note_demo(name, hints, found.demos);
            if (name == wanted) {
                found.entry = entry;
            }
        }
    }
    return found;
}

} // namespace

Result<Bytes> read_wad_lump(const std::string& path, std::string_view name) {
    if (name.empty() || name.size() > name_bytes) {
        return fail(
            Error(SimErrc::malformed, "lump", "a lump's name has 1 to 8 characters").in(path));
    }
    const Result<OpenFile> open = open_file(path);
    if (!open) {
        return fail(open.error());
    }
    const Result<Directory> directory = read_header(*open, path);
    if (!directory) {
        return fail(directory.error());
    }
    const std::string wanted = upper(name);
    const Result<Search> found = search(*open, path, *directory, wanted);
    if (!found) {
        return fail(found.error());
    }
    if (!found->entry) {
        const std::string hint =
            found->demos.empty() ? "it has no DEMO lump at all" : "it has " + found->demos;
        return fail(Error(SimErrc::malformed, "lump", "no lump " + wanted + "; " + hint).in(path));
    }
    const Entry& entry = *found->entry;
    if (entry.size < 0 || static_cast<std::size_t>(entry.size) > wad_lump_bytes_max) {
        return fail(bad(path,
                        SimErrc::limit_exceeded,
                        entry.at + 4,
                        wanted + " size",
                        std::to_string(entry.size) + " bytes, at most " +
                            std::to_string(wad_lump_bytes_max) + " are read"));
    }
    const auto size = static_cast<std::uint64_t>(entry.size);
    if (entry.offset < 0 || static_cast<std::uint64_t>(entry.offset) > open->size ||
        size > open->size - static_cast<std::uint64_t>(entry.offset)) {
        return fail(bad(path,
                        SimErrc::truncated,
                        entry.at,
                        wanted + " offset",
                        std::to_string(size) + " bytes at " + std::to_string(entry.offset) +
                            " lie beyond the file's end"));
    }
    Bytes lump(static_cast<std::size_t>(size));
    if (size > 0) {
        const auto offset = static_cast<std::uint64_t>(entry.offset);
        if (Result<void> read = read_at(*open, path, offset, lump); !read) {
            return fail(read.error());
        }
    }
    return lump;
}

Result<Bytes> read_small_file(const std::string& path, std::size_t bytes_max) {
    const Result<OpenFile> open = open_file(path);
    if (!open) {
        return fail(open.error());
    }
    if (open->size > bytes_max) {
        return fail(Error(SimErrc::limit_exceeded,
                          "size",
                          std::to_string(open->size) + " bytes, at most " +
                              std::to_string(bytes_max) + " are read")
                        .in(path));
    }
    Bytes bytes(static_cast<std::size_t>(open->size));
    if (!bytes.empty()) {
        if (Result<void> read = read_at(*open, path, 0, bytes); !read) {
            return fail(read.error());
        }
    }
    return bytes;
}

} // namespace twinstep::games
