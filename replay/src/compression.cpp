// SPDX-License-Identifier: MIT
// zstd, or the answer that it is missing.
#include "compression.hpp"

#include "twinstep/replay/errc.hpp"

#if defined(TWINSTEP_REPLAY_ZSTD)

#include <zstd.h>

#include <algorithm>
#include <memory>

#else

#include <string>

#endif

namespace twinstep::replay {

namespace {

Result<void> check_expansion(const Expansion& expansion) {
    if (expansion.bytes > expansion.bytes_max ||
        expansion.bytes / expansion_max > expansion.stored_bytes) {
        return fail(Error(Errc::limit_exceeded, "packed.size", "it would grow beyond all measure"));
    }
    return {};
}

} // namespace

#if defined(TWINSTEP_REPLAY_ZSTD)

bool has_compression() {
    return true;
}

Result<void> compress(ByteView bytes, int level, Bytes& target) {
    constexpr int level_max = 22;

    struct Free {
        void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    };

    const std::unique_ptr<ZSTD_CCtx, Free> context(ZSTD_createCCtx());
    const std::size_t start = target.size();
    target.resize(start + ZSTD_compressBound(bytes.size()));
    std::size_t size = 0;
    if (context) {
        ZSTD_CCtx_setParameter(
            context.get(), ZSTD_c_compressionLevel, std::clamp(level, 1, level_max));
        // The size stands in front of the frame already.
        ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 0);
        size = ZSTD_compress2(context.get(),
                              target.data() + start,
                              target.size() - start,
                              bytes.data(),
                              bytes.size());
    }
    if (!context || ZSTD_isError(size) != 0) {
        target.resize(start);
        return fail(Error(Errc::io_error, "compress", "not enough memory"));
    }
    target.resize(start + size);
    return {};
}

Result<void> decompress(ByteView packed, const Expansion& expansion, Bytes& target) {
    if (auto fine = check_expansion(expansion); !fine) {
        return fine;
    }
    const auto wrong = [](const char* why) {
        return fail(Error(Errc::corrupt_record, "packed.content", why));
    };
    const std::size_t frame = ZSTD_findFrameCompressedSize(packed.data(), packed.size());
    if (ZSTD_isError(frame) != 0 || frame != packed.size()) {
        return wrong("not one whole zstd frame");
    }
    target.resize(expansion.bytes);
    const std::size_t size =
        ZSTD_decompress(target.data(), target.size(), packed.data(), packed.size());
    if (ZSTD_isError(size) != 0 || size != expansion.bytes) {
        return wrong("not the bytes that are declared");
    }
    return {};
}

#else

namespace {

Error no_compression(const char* what_helps) {
    return Error(Errc::unsupported_version,
                 "packed.content",
                 std::string("this program was built without zstd: ") + what_helps);
}

} // namespace

bool has_compression() {
    return false;
}

Result<void> compress(ByteView, int, Bytes&) {
    return fail(no_compression("level 0 does without"));
}

Result<void> decompress(ByteView, const Expansion& expansion, Bytes&) {
    if (auto fine = check_expansion(expansion); !fine) {
        return fine;
    }
    return fail(no_compression("unpack the recording with one that has it"));
}

#endif

} // namespace twinstep::replay
