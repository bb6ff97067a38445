// SPDX-License-Identifier: MIT
// The head: preamble and manifest, judged before any record is looked at.
#include "head.hpp"

#include "layout.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace twinstep::replay {

Result<ByteView> peek(Window& window, std::size_t size) {
    std::error_code error;
    const ByteView view = window.peek(size, error);
    if (error) {
        return fail(Error(Errc::io_error, "read", error.message()).at(window.position()));
    }
    return view;
}

namespace {

Result<Head> read_preamble(Window& window, Bytes& covered) {
    const Result<ByteView> view = peek(window, preamble_bytes);
    if (!view) {
        return fail(view.error());
    }
    const std::size_t compared = std::min(view->size(), magic.size());
    if (!std::equal(
            magic.begin(), magic.begin() + compared, view->begin(), [](auto left, auto right) {
                return left == static_cast<std::uint8_t>(right);
            })) {
        constexpr std::size_t name_bytes = 4;
        if (view->size() >= name_bytes &&
            std::memcmp(view->data(), magic.data(), name_bytes) == 0) {
            return fail(
                Error(Errc::corrupt_head, "magic", "line ends were converted on the way").at(4));
        }
        return fail(Error(Errc::not_a_recording, "magic").at(0));
    }
    if (view->size() < preamble_bytes) {
        return fail(Error(Errc::truncated,
                          "preamble",
                          view->empty() ? "the file is empty" : "not even the preamble is whole")
                        .at(view->size()));
    }
    Result<Head> decoded = decode_preamble(*view);
    if (!decoded) {
        return fail(decoded.error());
    }
    covered.assign(view->begin(), view->end());
    window.skip(preamble_bytes);
    return decoded;
}

Result<Manifest> read_manifest(Window& window, Bytes& covered) {
    const auto cut = [&window](const char* field, std::size_t more) {
        return fail(Error(Errc::truncated, field, "the manifest is not whole")
                        .at(window.position() + more));
    };
    const std::uint64_t start = window.position();
    const Result<ByteView> length_view = peek(window, sizeof(std::uint32_t));
    if (!length_view) {
        return fail(length_view.error());
    }
    if (length_view->size() < sizeof(std::uint32_t)) {
        return cut("manifest.size", length_view->size());
    }
    const std::uint32_t length = ByteReader(*length_view).u32("manifest.size");
    if (length > manifest_bytes_max) {
        return fail(Error(Errc::limit_exceeded, "manifest.size").at(start));
    }
    // In pieces, so that only bytes that are there are ever allocated for.
    std::size_t bytes_missing = sizeof(length) + length + manifest_check_bytes;
    while (bytes_missing > 0) {
        const Result<ByteView> piece = peek(window, std::min(bytes_missing, record_bytes_max));
        if (!piece) {
            return fail(piece.error());
        }
        if (piece->empty()) {
            return cut("manifest", 0);
        }
        covered.insert(covered.end(), piece->begin(), piece->end());
        bytes_missing -= piece->size();
        window.skip(piece->size());
    }
    const ByteView bytes = ByteView(covered).subspan(preamble_bytes + sizeof(length), length);
    const std::uint64_t check =
        ByteReader(ByteView(covered).last(manifest_check_bytes)).u64("manifest.check");
    if (check != checksum64(ByteView(covered).first(covered.size() - manifest_check_bytes))) {
        return fail(Error(Errc::corrupt_head, "manifest.check", "the check is wrong")
                        .at(start + sizeof(length) + length));
    }
    Result<Manifest> manifest = decode_manifest(bytes);
    if (!manifest) {
        const std::uint64_t offset = manifest.error().offset.value_or(0);
        return fail(as(Errc::corrupt_head, manifest.error()).at(start + sizeof(length) + offset));
    }
    return manifest;
}

} // namespace

Result<GoodHead> read_head(Window& window) {
    Bytes covered;
    Result<Head> preamble = read_preamble(window, covered);
    if (!preamble) {
        return fail(preamble.error());
    }
    GoodHead good{std::move(*preamble), {}, {}};
    Result<Manifest> manifest = read_manifest(window, covered);
    if (!manifest) {
        return fail(manifest.error());
    }
    good.head.manifest = std::move(*manifest);
    if (auto checked = check_manifest(good.head); !checked) {
        return fail(std::move(checked.error()).at(preamble_bytes));
    }
    good.sections = *section_names(good.head.manifest);
    good.digest = head_digest(covered);
    return good;
}

} // namespace twinstep::replay
