// SPDX-License-Identifier: MIT
// Signing a copy of a recording, and judging the signatures in one.
#include "twinstep/replay/signature.hpp"

#include "record_pass.hpp"
#include "signature_crypto.hpp"
#include "signature_payload.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/writer.hpp"

#include <utility>

namespace twinstep::replay {

namespace {

/// Which boundaries are signed, by the number of chunks before them, and how the recording ends.
struct SigningPlan {
    std::uint64_t every_chunks = 0;
    std::uint64_t one = 0; ///< The boundary that is signed in any case; 0: none.
    std::uint64_t chunks = 0;
    bool closed = false;
    std::uint64_t lost_ticks = 0;

    bool signs(std::uint64_t boundary) const {
        return boundary == one || (every_chunks > 0 && boundary % every_chunks == 0);
    }

    bool ends(std::uint64_t boundary) const { return closed && boundary == chunks; }
};

Error no_boundary(Tick wanted, std::optional<Tick> before, std::optional<Tick> after) {
    const auto shown = [](const std::optional<Tick>& tick) {
        return tick ? std::to_string(tick->value) : std::string("none");
    };
    return Error(Errc::wrong_tick,
                 "at",
                 "no chunk ends before tick " + std::to_string(wanted.value) + "; nearest are " +
                     shown(before) + " and " + shown(after));
}

/// Reads everything once, because what a signature says depends on what follows it.
Result<SigningPlan> plan_signatures(Reader& reader, const SignOptions& options) {
    SigningPlan plan;
    plan.every_chunks = options.at ? 0 : options.every_chunks;
    std::optional<Tick> before;
    std::optional<Tick> after;
    while (true) {
        const Result<Record> record = reader.next();
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::end) {
            break;
        }
        if (record->kind != RecordKind::chunk_end || !options.at) {
            continue;
        }
        const Tick boundary = reader.next_tick();
        if (boundary == *options.at) {
            plan.one = reader.chunks();
        }
        if (boundary < *options.at) {
            before = boundary;
        } else if (!after) {
            after = boundary;
        }
    }
    plan.chunks = reader.chunks();
    plan.closed = reader.state() == FileState::closed;
    plan.lost_ticks = reader.loss() ? reader.loss()->ticks : 0;
    if (options.at && plan.one == 0) {
        return fail(no_boundary(*options.at, before, after));
    }
    plan.one = options.at ? plan.one : plan.chunks;
    return plan;
}

Result<void> check_signable(const Reader& reader) {
    if (!has_signatures()) {
        return fail(no_signatures());
    }
    if (reader.is_packed()) {
        return fail(Error(Errc::unsupported_version,
                          "features.incompatible",
                          "the recording is packed: unpack it first; packing keeps signatures"));
    }
    if ((reader.head().incompatible & feature::changes) == 0) {
        return fail(Error(Errc::unsupported_version,
                          "features.incompatible",
                          "a recording of version 1.0 holds no signatures"));
    }
    return {};
}

/// A copy of a recording on its way to its signatures.
class SignedCopy {
public:
    SignedCopy(Writer writer, const Head& head, const SigningKey& key, const SigningPlan& plan)
        : writer_(std::move(writer))
        , content_(head)
        , key_(key)
        , plan_(plan) {}

    /// A signature stands behind all other frames of its place, so that they keep their bytes.
    Result<void> take(const Record& record) {
        if (due_ && record.kind != RecordKind::frame) {
            due_ = false;
            if (auto written = sign(); !written) {
                return written;
            }
        }
        content_.add(record);
        due_ = due_ || (record.kind == RecordKind::chunk_end && plan_.signs(writer_.chunks() + 1));
        return copy_record(writer_, record);
    }

    /// Ends the copy. Errors: corrupt_chunk if it is not the recording that was read; io_error.
    Result<void> finish(const Reader& reader, SignReport& report) {
        report_.ticks = reader.ticks();
        report_.bytes = writer_.bytes();
        report_.chain = writer_.chain();
        report_.state = reader.state();
        report_.defects = reader.defects();
        report = report_;
        if (writer_.chain() != reader.chain()) {
            return fail(Error(Errc::corrupt_chunk, "chain", "the copy is not the same recording"));
        }
        return writer_.close();
    }

private:
    Result<void> sign() {
        SignatureStatement statement = statement_at(writer_, key_.public_key());
        statement.ends = plan_.ends(writer_.chunks());
        statement.lost_ticks = statement.ends ? plan_.lost_ticks : 0;
        ++report_.signatures;
        report_.covered_ticks = statement.ticks;
        report_.ends = statement.ends;
        return write_signature(writer_, content_, key_, statement, payload_);
    }

    Writer writer_;
    ContentDigest content_;
    const SigningKey& key_;
    const SigningPlan& plan_;
    bool due_ = false;
    Bytes payload_;
    SignReport report_;
};

/// Judges the signature frames of one recording.
class Judge {
public:
    Judge(const Reader& reader, const PublicKey& key)
        : reader_(reader)
        , key_(key)
        , content_(reader.head()) {
        report_.first = reader.next_tick();
    }

    void take(const Record& record) {
        content_.add(record);
        if (record.kind != RecordKind::frame ||
            record.tag != static_cast<std::uint8_t>(RecordTag::signature)) {
            return;
        }
        SignatureClaim claim;
        claim.offset = record.offset;
        if (const Result<SignaturePayload> payload = decode_signature(record.payload)) {
            claim.key = payload->statement.key;
            claim.first = payload->statement.first;
            claim.ticks = payload->statement.ticks;
            claim.chunks = payload->statement.chunks;
            claim.ends = payload->statement.ends;
            claim.verdict = judge(*payload, record.payload);
        }
        count(claim.verdict);
        if (report_.claims.size() < signature_claims_max) {
            report_.claims.push_back(claim);
        }
    }

    SignatureReport finish() {
        const std::uint64_t lost = reader_.loss() ? reader_.loss()->ticks : 0;
        report_.ticks = reader_.ticks();
        report_.continued = end_ && (end_->ticks < report_.ticks || end_->lost_ticks != lost);
        report_.ends = end_ && !report_.continued;
        report_.loss = reader_.loss();
        report_.state = reader_.state();
        report_.defects = reader_.defects();
        return std::move(report_);
    }

private:
    SignatureVerdict judge(const SignaturePayload& payload, ByteView bytes) {
        const SignatureStatement& statement = payload.statement;
        if (statement.key != key_) {
            return SignatureVerdict::other_key;
        }
        if (report_.invalid > 0) {
            return SignatureVerdict::unchecked;
        }
        SignatureStatement here;
        here.ends = statement.ends;
        here.chunks = static_cast<std::uint32_t>(reader_.chunks());
        here.first = report_.first;
        here.ticks = reader_.ticks();
        here.lost_ticks = statement.ends && reader_.loss() ? reader_.loss()->ticks : 0;
        here.chain = reader_.chain();
        here.key = key_;
        // One that was found valid here may be repeated without end, but not checked without end.
        const bool seen = valid_ && *valid_ == statement && signature_ == payload.signature;
        if (here != statement || (!seen && !holds(payload, bytes))) {
            return SignatureVerdict::invalid;
        }
        valid_ = statement;
        signature_ = payload.signature;
        report_.covered_ticks = statement.ticks;
        if (statement.ends) {
            end_ = statement;
        }
        return SignatureVerdict::valid;
    }

    bool holds(const SignaturePayload& payload, ByteView bytes) const {
        const Digest256 message =
            signature_message(bytes.first(signature_statement_bytes), content_.value());
        return is_signed(payload.signature, message, key_);
    }

    void count(SignatureVerdict verdict) {
        switch (verdict) {
        case SignatureVerdict::valid:
            ++report_.valid;
            break;
        case SignatureVerdict::invalid:
        case SignatureVerdict::unchecked:
            ++report_.invalid;
            break;
        case SignatureVerdict::other_key:
        case SignatureVerdict::unknown:
            ++report_.others;
            break;
        }
    }

    const Reader& reader_;
    const PublicKey& key_;
    ContentDigest content_;
    SignatureReport report_;
    std::optional<SignatureStatement> valid_; ///< The last one that holds.
    std::array<std::byte, signature_bytes> signature_{};
    std::optional<SignatureStatement> end_; ///< A valid one that says that nothing comes after it.
};

} // namespace

Result<SignReport> sign(Reader reader,
                        std::unique_ptr<FileSink> sink,
                        const SigningKey& key,
                        const SignOptions& options) {
    if (auto signable = check_signable(reader); !signable) {
        return fail(signable.error());
    }
    const std::optional<ChunkPlace> start = reader.chunk_place();
    if (!start) {
        return fail(Error(Errc::wrong_tick, "reader", "it does not stand at its beginning"));
    }
    const Result<SigningPlan> plan = plan_signatures(reader, options);
    if (!plan) {
        return fail(plan.error());
    }
    if (auto sought = reader.seek(*start); !sought) {
        return fail(sought.error());
    }
    Result<Writer> writer = Writer::create(std::move(sink), reader.head());
    if (!writer) {
        return fail(writer.error());
    }
    SignedCopy copy(std::move(*writer), reader.head(), key, *plan);
    while (true) {
        const Result<Record> record = reader.next();
        if (!record) {
            return fail(record.error());
        }
        if (auto taken = copy.take(*record); !taken) {
            return fail(taken.error());
        }
        if (record->kind == RecordKind::end) {
            break;
        }
    }
    SignReport report;
    if (auto finished = copy.finish(reader, report); !finished) {
        return fail(finished.error());
    }
    return report;
}

Result<SignatureReport> check_signatures(Reader reader, const PublicKey& key) {
    if (!has_signatures()) {
        return fail(no_signatures());
    }
    Judge judge(reader, key);
    while (true) {
        const Result<Record> record = reader.next();
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::end) {
            return judge.finish();
        }
        judge.take(*record);
    }
}

const char* to_string(SignatureVerdict verdict) {
    switch (verdict) {
    case SignatureVerdict::valid:
        return "valid";
    case SignatureVerdict::invalid:
        return "invalid";
    case SignatureVerdict::other_key:
        return "other_key";
    case SignatureVerdict::unknown:
        return "unknown";
    case SignatureVerdict::unchecked:
        return "unchecked";
    }
    return "unknown";
}

} // namespace twinstep::replay
