// SPDX-License-Identifier: MIT
// The directory of recordings: exclusive creation, counting, renaming, one owner.
#include "serve_recordings.hpp"

#include "twinstep/replay/errc.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#if !defined(_WIN32)
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#endif

namespace twinstep::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view final_suffix = ".twin";
constexpr std::string_view part_suffix = ".twin.part";
constexpr std::string_view aside_suffix = ".twin.resumed";

fs::path native(const std::string& path) {
    return fs::path(std::u8string(path.begin(), path.end()));
}

std::string utf8(const fs::path& path) {
    const std::u8string text = path.u8string();
    return {text.begin(), text.end()};
}

Error io_error(const std::string& path, const std::error_code& error) {
    return Error(replay::Errc::io_error, {}, error.message()).in(path);
}

bool ends_with_any(const std::string& name) {
    return name.ends_with(final_suffix) || name.ends_with(part_suffix) ||
           name.ends_with(aside_suffix);
}

using Count = std::shared_ptr<std::atomic<std::uint64_t>>;

/// A file that counts its bytes and stops at the limits as a full disk would.
class CountedFile final : public replay::FileSink {
public:
    CountedFile(std::unique_ptr<replay::FileSink> file, Count directory, RecordingLimits limits)
        : file_(std::move(file))
        , directory_(std::move(directory))
        , limits_(limits) {}

    std::size_t write(ByteView bytes, std::error_code& error) override {
        if (bytes_ + bytes.size() > limits_.file_bytes_max ||
            directory_->load() + bytes.size() > limits_.directory_bytes_max) {
            error = std::make_error_code(std::errc::file_too_large);
            return 0;
        }
        const std::size_t written = file_->write(bytes, error);
        bytes_ += written;
        *directory_ += written;
        return written;
    }

    std::error_code truncate(std::uint64_t size) override {
        const std::error_code error = file_->truncate(size);
        if (!error && size < bytes_) {
            *directory_ -= bytes_ - size;
            bytes_ = size;
        }
        return error;
    }

    std::error_code sync() override { return file_->sync(); }

    std::error_code close() override { return file_->close(); }

private:
    std::unique_ptr<replay::FileSink> file_;
    Count directory_;
    RecordingLimits limits_;
    std::uint64_t bytes_ = 0;
};

/// Holds the directory for this process; the system lets go of it when the process ends.
class DirectoryLock {
public:
    static Result<DirectoryLock> take(const fs::path& directory) {
        DirectoryLock lock;
#if !defined(_WIN32)
        const fs::path path = directory / ".twinstep-lock";
        lock.descriptor_ = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (lock.descriptor_ < 0) {
            return fail(io_error(utf8(path), {errno, std::generic_category()}));
        }
        if (::flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0) {
            return fail(Error(replay::Errc::io_error, {}, "another server records into it")
                            .in(utf8(directory)));
        }
#else
        static_cast<void>(directory);
#endif
        return lock;
    }

    DirectoryLock(DirectoryLock&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)) {}

    DirectoryLock& operator=(DirectoryLock&&) = delete;

    ~DirectoryLock() {
#if !defined(_WIN32)
        if (descriptor_ >= 0) {
            ::close(descriptor_);
        }
#endif
    }

private:
    DirectoryLock() = default;

    int descriptor_ = -1;
};

std::uint64_t bytes_in(const fs::path& directory, std::error_code& error) {
    std::uint64_t sum = 0;
    fs::directory_iterator entry(directory, error);
    for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
        std::error_code gone;
        const std::uint64_t size =
            ends_with_any(utf8(entry->path().filename())) ? entry->file_size(gone) : 0;
        sum += gone ? 0 : size;
    }
    return sum;
}

} // namespace

struct Recordings::Impl {
    fs::path directory;
    RecordingLimits limits;
    Count bytes;
    DirectoryLock lock;
};

Recordings::Recordings(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

Recordings::Recordings(Recordings&&) noexcept = default;
Recordings& Recordings::operator=(Recordings&&) noexcept = default;
Recordings::~Recordings() = default;

Result<Recordings> Recordings::open(const std::string& directory, RecordingLimits limits) {
    const fs::path path = native(directory);
    std::error_code error;
    if (!fs::is_directory(path, error)) {
        const auto reason = error ? error : std::make_error_code(std::errc::not_a_directory);
        return fail(io_error(directory, reason));
    }
    Result<DirectoryLock> lock = DirectoryLock::take(path);
    if (!lock) {
        return fail(lock.error());
    }
    auto count = std::make_shared<std::atomic<std::uint64_t>>(bytes_in(path, error));
    if (error) {
        return fail(io_error(directory, error));
    }
    return Recordings(
        std::make_unique<Impl>(Impl{path, limits, std::move(count), std::move(*lock)}));
}

Result<NewRecording> Recordings::create() {
    if (impl_->bytes->load() >= impl_->limits.directory_bytes_max) {
        return fail(Error(replay::Errc::limit_exceeded, "record-quota", "the directory is full")
                        .in(utf8(impl_->directory)));
    }
    const Result<replay::SessionId> session = replay::make_session_id();
    if (!session) {
        return fail(session.error());
    }
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    const std::string name = fmt::format(
        "{:%Y%m%dT%H%M%SZ}-{}{}", fmt::gmtime(now), replay::to_hex(*session), part_suffix);
    NewRecording made{utf8(impl_->directory / name), *session, nullptr};
    Result<std::unique_ptr<replay::FileSink>> file = replay::create_file(made.path);
    if (!file) {
        return fail(file.error());
    }
    made.sink = std::make_unique<CountedFile>(std::move(*file), impl_->bytes, impl_->limits);
    return made;
}

namespace {

Result<std::string> renamed(const std::string& part_path, std::string_view suffix) {
    const std::string stem = part_path.substr(0, part_path.size() - part_suffix.size());
    const std::string target = stem + std::string(suffix);
    std::error_code error;
    fs::rename(native(part_path), native(target), error);
    if (error) {
        return fail(io_error(part_path, error));
    }
    return target;
}

} // namespace

Result<std::string> Recordings::finish(const std::string& part_path) {
    return renamed(part_path, final_suffix);
}

Result<void> Recordings::set_aside(const std::string& part_path) {
    if (Result<std::string> done = renamed(part_path, aside_suffix); !done) {
        return fail(done.error());
    }
    return {};
}

void Recordings::discard(const std::string& part_path) {
    std::error_code ignored;
    const std::uint64_t size = fs::file_size(native(part_path), ignored);
    if (!ignored && fs::remove(native(part_path), ignored)) {
        *impl_->bytes -= size;
    }
}

std::vector<std::string> Recordings::unfinished() const {
    std::vector<std::string> found;
    std::error_code error;
    fs::directory_iterator entry(impl_->directory, error);
    for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
        std::error_code gone;
        std::string path = utf8(entry->path());
        if (path.ends_with(part_suffix) && entry->is_regular_file(gone) &&
            !entry->is_symlink(gone)) {
            found.push_back(std::move(path));
        }
    }
    // Names begin with the time.
    std::sort(found.begin(), found.end(), std::greater<>());
    return found;
}

std::uint64_t Recordings::bytes() const {
    return impl_->bytes->load();
}

} // namespace twinstep::tools
