// SPDX-License-Identifier: MIT
// The recorder: a writer behind the driver's observer seam.
#include "twinstep/replay/recorder.hpp"

#include "forks.hpp"
#include "journal.hpp"
#include "layout.hpp"
#include "path.hpp"
#include "queued_sink.hpp"
#include "signature_crypto.hpp"

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/snapshot.hpp"

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

namespace twinstep::replay {

namespace {

/// Signs a recording while it is written.
class ChunkSigner {
public:
    ChunkSigner(const Head& head, Writer& writer, std::shared_ptr<const SigningKey> key)
        : content_(head)
        , key_(std::move(key)) {
        payload_.reserve(signature_payload_bytes);
        writer.set_tap([this](ByteView record) { content_.add(record); });
    }

    ChunkSigner(const ChunkSigner&) = delete;
    ChunkSigner& operator=(const ChunkSigner&) = delete;

    /// Vouches for all chunks so far; with `lost_ticks` also for the recording's end.
    Result<void> sign(Writer& writer, std::optional<std::uint64_t> lost_ticks = std::nullopt) {
        SignatureStatement statement = statement_at(writer, key_->public_key());
        statement.ends = lost_ticks.has_value();
        statement.lost_ticks = lost_ticks.value_or(0);
        return write_signature(writer, content_, *key_, statement, payload_);
    }

private:
    ContentDigest content_;
    std::shared_ptr<const SigningKey> key_;
    Bytes payload_;
};

} // namespace

struct Recorder::Impl {
    explicit Impl(Writer target)
        : writer(std::move(target)) {}

    Writer writer;
    std::string path;
    std::string journal;                 ///< Its file; empty if the recording is written directly.
    std::unique_ptr<ChunkSigner> signer; ///< If chunks are signed.
    Durability durability = Durability::chunk;
    std::optional<Error> refused; ///< Why recording stopped although the file is fine.
    Bytes section_bytes;
    Hash128 state; ///< After the last step, or at the start.
    std::vector<Hash128> sections;
    std::optional<Tick> lost_from; ///< The first tick that found the queue full.
    std::uint64_t lost_ticks = 0;
    bool stepping = false; ///< A tick is written whose step has not returned.
    bool trailer_written = false;
    bool closed = false;
    std::uint64_t forks = fork_count();

    std::optional<Error> error() const {
        std::optional<Error> first = writer.error() ? writer.error() : refused;
        if (first) {
            first->where = path;
        }
        return first;
    }

    bool stopped() const { return closed || refused || lost_from || writer.error(); }

    void notice_fork();
    void make_durable(Durability level);

    Result<void> finish();
};

Recorder::Recorder(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

Recorder::Recorder(Recorder&&) noexcept = default;

Recorder& Recorder::operator=(Recorder&& other) noexcept {
    if (this != &other) {
        if (impl_) {
            static_cast<void>(close());
        }
        impl_ = std::move(other.impl_);
    }
    return *this;
}

Recorder::~Recorder() {
    if (impl_) {
        static_cast<void>(close());
    }
}

namespace {

/// The most bytes that a tick, the chunk end after it and its signature take.
std::size_t tick_record_bytes_max(std::size_t frame_bytes) {
    constexpr std::size_t around =
        16 + sections_max * (1 + sizeof(Hash128)) + chunk_end_fixed_bytes + signature_record_bytes;
    return frame_bytes + around;
}

Result<Head> make_head(Simulation& simulation, const RecorderOptions& options) {
    if (simulation.tick() != Tick{0}) {
        return fail(Error(Errc::wrong_tick, "tick", "a recording starts at tick 0"));
    }
    Head head;
    if (options.session) {
        head.session = *options.session;
    } else if (const Result<SessionId> drawn = make_session_id()) {
        head.session = *drawn;
    } else {
        return fail(drawn.error());
    }
    head.manifest = make_manifest(simulation.info(), simulation.setup());
    for (const auto& [key, value] : options.notes) {
        TWINSTEP_ASSERT(key.starts_with("record."));
        head.manifest[key] = value;
    }
    std::string names;
    for (const SectionHash& section : simulation.hash().sections) {
        names += names.empty() ? "" : " ";
        names += section.name;
    }
    head.manifest[sections_key] = names;
    return head;
}

} // namespace

Result<Recorder> Recorder::start(std::unique_ptr<FileSink> sink,
                                 const Head& head,
                                 Simulation& simulation,
                                 const RecorderOptions& options) {
    if (options.signing_key && !has_signatures()) {
        return fail(no_signatures());
    }
    Result<Writer> writer = Writer::create(std::move(sink), head);
    if (!writer) {
        return fail(writer.error());
    }
    auto impl = std::make_unique<Impl>(std::move(*writer));
    impl->durability = options.durability;
    if (options.signing_key) {
        impl->signer = std::make_unique<ChunkSigner>(head, impl->writer, options.signing_key);
    }
    impl->section_bytes.resize(impl->writer.tick_section_bytes());
    impl->sections.resize(impl->writer.section_count());
    impl->state = simulation.hash().state;
    return Recorder(std::move(impl));
}

Result<Recorder> Recorder::create(std::unique_ptr<FileSink> sink,
                                  Simulation& simulation,
                                  const RecorderOptions& options) {
    Result<Head> head = make_head(simulation, options);
    if (!head) {
        return fail(head.error());
    }
    return start(std::move(sink), *head, simulation, options);
}

Result<Recorder> Recorder::create(std::unique_ptr<FileSink> file,
                                  const std::string& path,
                                  Simulation& simulation,
                                  const RecorderOptions& options) {
    const Result<Head> head = make_head(simulation, options);
    if (!head) {
        return fail(head.error());
    }
    // Where no journal can be had, the file is written directly: nothing is lost, but a disk that
    // stands still holds up the game.
    Result<Journal> journal =
        Journal::create(journal_path(path, head->session), head->session, options.queue_bytes);
    std::unique_ptr<FileSink> sink = std::move(file);
    std::string journal_file;
    if (journal) {
        journal_file = journal->path();
        QueuedSink::Options queue{options.when_full, options.free_bytes_min};
        if (options.durability == Durability::tick) {
            queue.look_time = std::chrono::milliseconds(1);
        }
        sink = std::make_unique<QueuedSink>(std::move(sink), std::move(*journal), queue);
    }
    Result<Recorder> recorder = start(std::move(sink), *head, simulation, options);
    if (!recorder) {
        if (!journal_file.empty()) {
            remove_created(journal_file);
        }
        return fail(std::move(recorder.error()).in(path));
    }
    recorder->impl_->path = path;
    recorder->impl_->journal = journal_file;
    return recorder;
}

Result<Recorder>
Recorder::create(const std::string& path, Simulation& simulation, const RecorderOptions& options) {
    if (const Result<Head> head = make_head(simulation, options); !head) {
        return fail(head.error());
    }
    Result<std::unique_ptr<FileSink>> file = create_file(path);
    if (!file) {
        return fail(file.error());
    }
    Result<Recorder> recorder = create(std::move(*file), path, simulation, options);
    if (!recorder) {
        remove_created(path);
    }
    return recorder;
}

void Recorder::before(const TickBegin& begin) {
    TWINSTEP_ASSERT(impl_ != nullptr);
    Impl& impl = *impl_;
    impl.notice_fork();
    // Somebody loaded another state: what follows is not the session that was recorded.
    if (!impl.stopped() && begin.tick != impl.writer.next_tick()) {
        impl.refused = Error(Errc::wrong_tick,
                             "tick",
                             "tick " + std::to_string(begin.tick.value) + " came after " +
                                 std::to_string(impl.writer.ticks()) + " ticks");
    }
    if (!impl.stopped() && !impl.stepping && begin.hashes.state != impl.state) {
        impl.refused = Error(
            Errc::wrong_tick, "state", "the state changed between two ticks, by a load or a reset");
    }
    if (!impl.stopped() && begin.hashes.sections.size() != impl.sections.size()) {
        impl.refused = Error(Errc::corrupt_record, sections_key, "the sections have changed");
    }
    if (impl.stopped()) {
        ++impl.lost_ticks;
        return;
    }
    if (!impl.writer.has_room(tick_record_bytes_max(begin.encoded.size()))) {
        impl.lost_from = begin.tick;
        ++impl.lost_ticks;
        return;
    }
    for (std::size_t i = 0; i < impl.section_bytes.size(); ++i) {
        impl.section_bytes[i] = section_byte(begin.hashes.sections[i].hash);
    }
    const Result<void> written =
        impl.writer.write_tick(short_hash(begin.hashes.state), impl.section_bytes, begin.encoded);
    if (!written) {
        impl.refused = written.error();
        ++impl.lost_ticks;
        return;
    }
    impl.stepping = true;
    impl.make_durable(Durability::tick);
}

void Recorder::after(const StateHashes& hashes) {
    TWINSTEP_ASSERT(impl_ != nullptr);
    Impl& impl = *impl_;
    impl.notice_fork();
    if (impl.stopped() || !impl.stepping || hashes.sections.size() != impl.sections.size()) {
        return;
    }
    impl.stepping = false;
    impl.state = hashes.state;
    for (std::size_t i = 0; i < impl.sections.size(); ++i) {
        impl.sections[i] = hashes.sections[i].hash;
    }
    if (impl.writer.chunk_due()) {
        const Result<void> ended = impl.writer.write_chunk_end(impl.state, impl.sections);
        if (ended && impl.signer) {
            static_cast<void>(impl.signer->sign(impl.writer));
        }
        impl.make_durable(Durability::chunk);
    }
}

/// A child of a fork shares file and journal with the process that records, which goes on: one more
/// byte of the child's would spoil them.
void Recorder::Impl::notice_fork() {
    if (!closed && !refused && fork_count() != forks) {
        refused = Error(
            Errc::recorder_stopped, "process", "this process is a copy of the one that records");
    }
}

/// Has a tick or a chunk synced where its level is asked for. A sink of somebody's own is not: it
/// would hold up the game.
void Recorder::Impl::make_durable(Durability level) {
    if (durability == level && !journal.empty()) {
        static_cast<void>(writer.sync());
    }
}

Result<void> Recorder::Impl::finish() {
    if (stepping) {
        return {};
    }
    if (writer.chunk_ticks() > 0) {
        if (auto written = writer.write_chunk_end(state, sections); !written) {
            return written;
        }
    }
    if (lost_from) {
        Bytes loss;
        encode_loss({*lost_from, lost_ticks, LossReason::slow_disk}, loss);
        if (auto written = writer.write_frame(static_cast<std::uint8_t>(RecordTag::loss), loss);
            !written) {
            return written;
        }
    }
    if (signer && writer.chunks() > 0) {
        if (auto written = signer->sign(writer, lost_from ? lost_ticks : 0); !written) {
            return written;
        }
    }
    if (auto written = writer.write_trailer(); !written) {
        return written;
    }
    trailer_written = true;
    return {};
}

Result<void> Recorder::close() {
    TWINSTEP_ASSERT(impl_ != nullptr);
    Impl& impl = *impl_;
    impl.notice_fork();
    if (!impl.closed) {
        if (!impl.refused && !impl.writer.error()) {
            static_cast<void>(impl.finish());
        }
        static_cast<void>(impl.writer.close());
        impl.closed = true;
    }
    if (const std::optional<Error> error = impl.error()) {
        return fail(*error);
    }
    return {};
}

RecorderStatus Recorder::status() const {
    TWINSTEP_ASSERT(impl_ != nullptr);
    const Impl& impl = *impl_;
    const bool arrived = impl.closed && !impl.writer.error();
    return {impl.writer.ticks(),
            impl.lost_ticks,
            impl.writer.bytes(),
            impl.writer.chain(),
            impl.trailer_written,
            !impl.journal.empty(),
            arrived ? std::string() : impl.journal,
            impl.error()};
}

} // namespace twinstep::replay
