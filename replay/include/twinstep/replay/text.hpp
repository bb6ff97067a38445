// SPDX-License-Identifier: MIT
// The lossless text form of a recording: one JSON object a line.
#pragma once

#include "twinstep/replay/file_sink.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

namespace twinstep::replay {

/// Longest line that is imported, in bytes.
inline constexpr std::size_t text_line_bytes_max = std::size_t{8} << 20;

struct ExportOptions {
    /// Write `check`, `digest` and `previous`, so that an edited line is refused on import. Without
    /// them a text can be edited by hand; import computes them.
    bool proofs = true;
    /// Adds decoded inputs to tick lines as `fields`, which import ignores. Borrowed.
    const Simulation* simulation = nullptr;
};

/// Receives one line without its line end.
using LineSink = std::function<Result<void>(std::string_view line)>;

/// Writes a recording as text. Errors: the reader's, and those of `sink`.
Result<void> export_text(Reader& reader, const LineSink& sink, const ExportOptions& options = {});

/// One line of it: the head, or a record that the reader has just handed out, which is not the end.
std::string export_head(const Head& head);
std::string
export_record(const Reader& reader, const Record& record, const ExportOptions& options = {});

struct ImportOptions {
    /// Ignore `check`, `digest` and `previous` where they are given and compute them anew.
    bool recompute = false;
};

/// What was imported.
struct ImportReport {
    std::uint64_t ticks = 0;
    std::uint64_t bytes = 0;
    Hash128 chain;
};

/// Writes the recording that a text describes; import_text(export_text(f)) is f, byte for byte. A
/// proof that is given must be right. `path` must not exist and is removed again if the import
/// fails. Errors: bad_text, with the line number as detail and the key as field; already_exists;
/// io_error; limit_exceeded.
Result<ImportReport>
import_text(std::istream& text, const std::string& path, const ImportOptions& options = {});
/// The same into any sink, which holds a valid prefix if the import fails.
Result<ImportReport>
import_text(std::istream& text, std::unique_ptr<FileSink> sink, const ImportOptions& options = {});

} // namespace twinstep::replay
