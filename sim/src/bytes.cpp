// SPDX-License-Identifier: MIT
// The sticky reader.
#include "twinstep/sim/bytes.hpp"

namespace twinstep {

std::uint64_t ByteReader::varint(const char* field, std::uint64_t limit) {
    const std::size_t start = offset_;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        const std::uint8_t byte = u8(field);
        if (!ok()) {
            return 0;
        }
        const std::uint64_t group = byte & 0x7FU;
        const bool overflows = shift == 63 && group > 1;
        const bool padded = byte == 0 && shift > 0;
        if (overflows || padded) {
            break;
        }
        value |= group << shift;
        if ((byte & 0x80U) == 0) {
            if (value > limit) {
                offset_ = start;
                fail(SimErrc::limit_exceeded, field);
                return 0;
            }
            return value;
        }
    }
    offset_ = start;
    fail(SimErrc::malformed, field);
    return 0;
}

ByteView ByteReader::bytes(std::uint64_t count, const char* field) {
    if (count > remaining()) {
        fail(SimErrc::truncated, field);
        return {};
    }
    const ByteView view = source_.subspan(offset_, static_cast<std::size_t>(count));
    offset_ += view.size();
    return view;
}

std::string_view ByteReader::text(const char* field, std::uint64_t limit) {
    const ByteView view = bytes(varint(field, limit), field);
    return {reinterpret_cast<const char*>(view.data()), view.size()};
}

void ByteReader::fail(SimErrc code, const char* field) {
    if (ok()) {
        code_ = code;
        field_ = field;
        error_offset_ = offset_;
        // Nothing after a failure is read: what follows would be nonsense.
        offset_ = source_.size();
    }
}

void ByteReader::finish(const char* field) {
    if (ok() && remaining() != 0) {
        fail(SimErrc::trailing_bytes, field);
    }
}

Error ByteReader::error() const {
    return Error(code_, field_).at(base_offset_ + error_offset_);
}

} // namespace twinstep
