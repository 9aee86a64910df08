#include "journal/journal.h"

#include <fmt/chrono.h>

#include <ctime>
#include <random>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "journal/aligned_buffer.h"
#include "journal/section.h"

namespace journal {

namespace {

constexpr int64_t kExtraKeepMs = 10'000;
constexpr int64_t kSlowOpenUs = 200'000;

uint64_t new_file_id(int64_t wall_ms) {
    static std::random_device random;
    const auto seconds = static_cast<uint32_t>(wall_ms / 1000);
    const uint64_t id = uint64_t{random()} << 32 | seconds;
    return id != 0 ? id : 1;
}

}  // namespace

Journal::Journal(os::FileSystem& files, os::Clock& clock, Counters& counters,
                 const Settings& settings)
    : files_(files),
      clock_(clock),
      counters_(counters),
      settings_(settings),
      started_us_(clock.monotonic_us()),
      pool_(files, clock, settings.directory, settings.limit_bytes) {}

int64_t Journal::elapsed_ms() const {
    return (clock_.monotonic_us() - started_us_) / 1000;
}

void Journal::create_directory() {
    if (!files_.exists(settings_.directory)) files_.create_directory(settings_.directory);
    // A process that was killed may have made it and not come to this.
    files_.sync_directory(os::parent(settings_.directory));
}

void Journal::prepare() {
    pool_.prepare(settings_.preallocation_allowed);
    ensure_open();
}

// A tenth more than the files that are still to be made; where none is there, of three.
void Journal::check_space() {
    if (!settings_.check_space) return;
    const uint64_t all = pool_.file_bytes() * FilePool::kSlots;
    const uint64_t made = pool_.bytes_on_disk();
    const uint64_t needed = std::min(made, all) + (all - std::min(made, all)) * 11 / 10;
    const uint64_t available = files_.free_bytes(settings_.directory) + made;
    if (available >= needed) return;
    base::log::error("Insufficient free space for journal files");
    base::log::error("Please make at least {}MB available in {} or use --smallfiles", needed >> 20,
                     settings_.directory);
    base::fail(15926, "Insufficient free space for journals: {}MB needed, {}MB available in {}",
               needed >> 20, available >> 20, settings_.directory);
}

void Journal::ensure_open() {
    if (file_) return;
    try {
        open_next();
    } catch (const base::Error& e) {
        base::log::warning("warning exception opening journal file {}", e.what());
        throw;
    }
}

// A preallocated file gets a complete header before it gets its name, and another one after:
// whatever a crash leaves, it never shows the id of the file's previous life.
void Journal::open_next() {
    DCHECK(file_ == nullptr);
    const int64_t start = clock_.monotonic_us();
    const std::string path = os::join(settings_.directory, fmt::format("j._{}", next_number_));
    if (const auto spare = pool_.find_file()) {
        {
            LogFile file(files_, *spare);
            write_file_header(file);
        }
        files_.rename(*spare, path);
    }
    format_ = format_of_new_files(settings_.directory);
    auto file = std::make_unique<LogFile>(files_, path);
    write_file_header(*file);
    file_ = std::move(file);
    written_ = 0;
    ++next_number_;
    DCHECK(file_id_ != 0 && kFileHeaderBytes % format_.unit == 0);
    const int64_t took = clock_.monotonic_us() - start;
    if (took >= kSlowOpenUs)
        base::log::info("DR101 latency warning on journal file open {}ms", took / 1000);
}

void Journal::write_file_header(LogFile& file) {
    AlignedBuffer buffer(sizeof(FileHeader));
    buffer.resize(sizeof(FileHeader));
    FileHeader header{};
    const int64_t now_ms = clock_.wall_ms();
    const std::string created =
        fmt::format("{:%b %e %H:%M:%S}", fmt::localtime(static_cast<std::time_t>(now_ms / 1000)));
    file_id_ = new_file_id(now_ms);
    header.magic[0] = 'j';
    header.magic[1] = '\n';
    header.version = format_.version;
    header.lf1 = header.lf2 = header.lf3[0] = header.lf3[1] = header.lf4[0] = header.lf4[1] = '\n';
    created.copy(header.created, sizeof header.created - 1);
    file.path().copy(header.path, sizeof header.path - 1);
    header.file_id = file_id_;
    std::memcpy(buffer.data(), &header, sizeof header);
    file.append({buffer.data(), buffer.size()});
}

// Unlike the numbers of the old servers these are unique, so that the lsn can name the last section
// a flush has covered.
uint64_t Journal::next_sequence() {
    last_sequence_ = std::max(last_sequence_ + 1, static_cast<uint64_t>(elapsed_ms()));
    return last_sequence_;
}

void Journal::append(std::span<const uint8_t> section, uint64_t raw_bytes) {
    DCHECK(view_section(section, file_id_).state == SectionState::complete);
    DCHECK(section.size() % format_.unit == 0);
    try {
        file_->write(section);
    } catch (const os::IoError& e) {
        base::fatal(13515, fmt::format("writing the journal failed: {}", e.what()));
    }
    try {
        file_->sync();
    } catch (const os::IoError& e) {
        base::fatal(13514, fmt::format("syncing the journal failed: {}", e.what()));
    }
    written_ += section.size();
    counters_.record(Metric::journaled_bytes, section.size());
    counters_.record(Metric::uncompressed_bytes, raw_bytes);
}

void Journal::after_append() {
    DCHECK(file_ != nullptr && written_ != 0);
    bool stale = false;
    uint64_t lsn = 0;
    {
        const std::lock_guard lock(flush_mutex_);
        std::swap(stale, lsn_stale_);
        lsn = last_flush_.sequence;
    }
    if (stale) write_lsn(lsn);
    if (written_ >= pool_.file_bytes()) rotate();
}

void Journal::rotate() {
    DCHECK(closed_.empty() || closed_.back().last_sequence <= last_sequence_);
    file_->truncate_here();
    closed_.push_back({file_->path(), elapsed_ms(), last_sequence_});
    file_.reset();
    remove_unneeded();
    ensure_open();
}

void Journal::remove_unneeded() {
    FlushMark flushed;
    {
        const std::lock_guard lock(flush_mutex_);
        flushed = last_flush_;
    }
    while (!closed_.empty() && closed_.front().last_sequence <= flushed.sequence &&
           closed_.front().closed_ms + kExtraKeepMs < flushed.started_ms) {
        DCHECK(removal_allowed_);
        base::log::info("old journal file will be removed: {}", closed_.front().path);
        if (!pool_.retire(closed_.front().path)) return;
        closed_.pop_front();
        files_.sync_directory(settings_.directory);
    }
}

Journal::FlushMark Journal::flush_started() const {
    return {applied_sequence_.load(), elapsed_ms()};
}

void Journal::flush_finished(const FlushMark& mark) {
    DCHECK(mark.sequence <= applied_sequence_);
    const std::lock_guard lock(flush_mutex_);
    if (mark.started_ms < last_flush_.started_ms) return;
    last_flush_ = mark;
    lsn_stale_ = true;
}

void Journal::remove_files() {
    if (removal_allowed_ && files_.exists(settings_.directory)) {
        base::log::info("removeJournalFiles");
        mark_directory();  // also ends what the lsn file said of the files that go
        const std::vector<FoundFile> found = find_journal_files(files_, settings_.directory);
        for (size_t i = 0; i < found.size(); ++i) {
            DCHECK(i == 0 || found[i - 1].number < found[i].number);
            if (!remove_file(found[i]))
                keep({found.begin() + static_cast<ptrdiff_t>(i), found.end()});
        }
        base::log::debug(1, "removeJournalFiles end");
    }
    file_.reset();
    closed_.clear();
}

// Closes it if it is the one that is open.
bool Journal::remove_file(const FoundFile& found) {
    const bool open = file_ != nullptr && file_->path() == found.path;
    if (open) file_.reset();
    if (pool_.retire(found.path)) {
        files_.sync_directory(settings_.directory);
        return true;
    }
    if (open) cut_off(found.path);
    return false;
}

// It will not be the last one any more, so what lies behind its sections has to go.
void Journal::cut_off(const std::string& path) {
    DCHECK(file_ == nullptr && written_ % format_.unit == 0);
    try {
        const auto file = files_.open(path, {.access = os::Access::read_write});
        file->truncate(kFileHeaderBytes + written_);
        file->sync();
    } catch (const os::IoError& e) {
        base::fatal(15873, fmt::format("journal file {} can neither be removed nor cut: {}", path,
                                       e.what()));
    }
}

// What cannot be removed stays, with all behind it: a journal that goes on, and that says nothing
// else than the data files. Throws the error that the caller gets.
void Journal::keep(std::span<const FoundFile> rest) {
    DCHECK(removal_allowed_ && !rest.empty());
    if (file_) file_->truncate_here();
    file_.reset();
    closed_.clear();
    for (const FoundFile& found : rest)
        closed_.push_back({found.path, elapsed_ms(), last_sequence_});
    base::fail(base::kOperationFailed, "journal file {} cannot be removed; the log says why",
               rest.front().path);
}

}  // namespace journal
