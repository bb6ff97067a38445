// SPDX-License-Identifier: MIT
// Following: a reader over a growing file, and a simulation that plays along.
#include "twinstep/replay/follow.hpp"

#include "follow_input.hpp"
#include "head.hpp"
#include "journal.hpp"
#include "keyframe_recording.hpp"
#include "layout.hpp"
#include "path.hpp"
#include "record_pass.hpp"

#include "twinstep/replay/errc.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <utility>

namespace twinstep::replay {

// --- FollowInput ---

std::size_t FollowInput::read(std::span<std::byte> target, std::error_code& error) {
    std::size_t count = file_->read(target, error);
    if (count == 0 && !error) {
        if (const std::optional<Bytes> tail = journal_tail(at_); tail) {
            count = std::min(target.size(), tail->size());
            std::memcpy(target.data(), tail->data(), count);
            // The next bytes of the file are behind what the journal gave.
            error = file_->seek(at_ + count);
        } else {
            // What left the journal between the two looks has arrived in the file.
            count = file_->read(target, error);
        }
    }
    at_ += count;
    return count;
}

std::error_code FollowInput::seek(std::uint64_t offset) {
    at_ = offset;
    return file_->seek(offset);
}

/// What the journal holds from an offset on that is at or behind the end of the file.
std::optional<Bytes> FollowInput::journal_tail(std::uint64_t from) const {
    if (!session_) {
        return std::nullopt;
    }
    return read_journal(journal_path(path_, *session_), *session_, from);
}

// --- Follower ---

struct Follower::Impl {
    std::string path;
    FollowInput* input = nullptr; ///< The reader's.
    std::optional<Reader> reader;
    bool at_end = true; ///< There may be more than was there when it was looked at last.
};

Follower::Follower(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

Follower::Follower(Follower&&) noexcept = default;
Follower& Follower::operator=(Follower&&) noexcept = default;
Follower::~Follower() = default;

Result<Follower> Follower::open(const std::string& path) {
    Result<std::unique_ptr<Input>> file = open_plain_input(path);
    if (!file) {
        return fail(file.error());
    }
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    auto input = std::make_unique<FollowInput>(std::move(*file), path);
    impl->input = input.get();
    Result<Reader> reader = Reader::from_input(std::move(input), ReadMode::tail, path);
    if (!reader) {
        return fail(reader.error());
    }
    impl->reader.emplace(std::move(*reader));
    impl->input->set_session(impl->reader->head().session);
    return Follower(std::move(impl));
}

Result<Record> Follower::next() {
    if (impl_->at_end) {
        if (auto refreshed = impl_->reader->refresh(); !refreshed) {
            return fail(refreshed.error());
        }
    }
    Result<Record> record = impl_->reader->next();
    impl_->at_end = record && record->kind == RecordKind::end;
    return record;
}

FollowState Follower::state() {
    if (impl_->reader->state() == FileState::closed) {
        return FollowState::closed;
    }
    std::error_code gone;
    const std::filesystem::path path = native_path(impl_->path);
    const std::uintmax_t size = std::filesystem::file_size(path, gone);
    if (gone) {
        return FollowState::waiting; // Renamed or removed; the file itself is still open.
    }
    const SessionId& session = impl_->reader->head().session;
    Result<std::unique_ptr<Input>> named = open_plain_input(impl_->path);
    std::array<std::byte, preamble_bytes> preamble{};
    std::error_code error;
    if (named && (*named)->read(preamble, error) == preamble.size() && !error) {
        const Result<Head> head = decode_preamble(preamble);
        if (!head || head->session != session) {
            return FollowState::replaced;
        }
    }
    const std::uint64_t read = impl_->reader->bytes();
    if (size < read && !read_journal(journal_path(impl_->path, session), session, read - 1)) {
        // The bytes may have arrived in the file, and the journal be gone, since it was measured.
        const std::uintmax_t again = std::filesystem::file_size(path, gone);
        return !gone && again < read ? FollowState::cut : FollowState::waiting;
    }
    return FollowState::waiting;
}

const Reader& Follower::reader() const {
    return *impl_->reader;
}

Reader& Follower::reader() {
    return *impl_->reader;
}

const char* to_string(FollowState state) {
    switch (state) {
    case FollowState::waiting:
        return "waiting";
    case FollowState::closed:
        return "closed";
    case FollowState::cut:
        return "cut";
    case FollowState::replaced:
        return "replaced";
    }
    return "unknown";
}

// --- FollowCheck ---

struct FollowCheck::Impl {
    explicit Impl(Simulation& played)
        : simulation(played)
        , driver(played, frame) {}

    Simulation& simulation;
    OneFrame frame;
    Driver driver;
    std::uint64_t hashes_checked = 0;
    std::optional<Divergence> divergence;
};

FollowCheck::FollowCheck(Simulation& simulation)
    : impl_(std::make_unique<Impl>(simulation)) {}

FollowCheck::FollowCheck(FollowCheck&&) noexcept = default;
FollowCheck& FollowCheck::operator=(FollowCheck&&) noexcept = default;
FollowCheck::~FollowCheck() = default;

Result<void> FollowCheck::take(const Record& record) {
    Impl& impl = *impl_;
    const bool is_tick = record.kind == RecordKind::tick;
    if (impl.divergence || (!is_tick && record.kind != RecordKind::chunk_end)) {
        return {};
    }
    RecordedState recorded;
    if (is_tick) {
        recorded.hash = record.tick.hash;
        recorded.section_bytes.assign(record.tick.section_bytes.begin(),
                                      record.tick.section_bytes.end());
    } else {
        recorded.whole = record.chunk_end.state;
    }
    bool checked = false;
    impl.divergence = compare_recorded(impl.simulation.hash(), recorded, checked);
    ++impl.hashes_checked;
    if (impl.divergence || !is_tick) {
        return {};
    }
    impl.frame.set(record.tick.frame);
    const Result<Advance> advance = impl.driver.advance(1);
    return advance ? Result<void>() : Result<void>(fail(advance.error()));
}

std::uint64_t FollowCheck::hashes_checked() const {
    return impl_->hashes_checked;
}

const std::optional<Divergence>& FollowCheck::divergence() const {
    return impl_->divergence;
}

} // namespace twinstep::replay
