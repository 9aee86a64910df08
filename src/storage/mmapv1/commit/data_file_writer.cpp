#include "storage/mmapv1/commit/data_file_writer.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/process_memory.h"
#include "journal/waiting_writes.h"
#include "storage/mmapv1/commit/apply.h"
#include "storage/mmapv1/commit/stage_timer.h"

namespace mmapv1 {

namespace {

constexpr uint64_t kPieceBytes = 256 << 10;

class AfterEachCommit final : public DataFileWriter {
  public:
    using DataFileWriter::DataFileWriter;

    void write(std::span<const uint8_t> ops, std::span<const WriteIntent> /*intents*/,
               uint64_t sequence) override {
        const StageTimer timer(parts_.counters, journal::Metric::write_to_data_files_us,
                               parts_.clock);
        parts_.counters.record(journal::Metric::data_file_bytes, store_section(ops, parts_.files));
        parts_.journal.note_applied(sequence);
        base::log::debug(2, "journal WRITETODATAFILES {}ms", timer.elapsed_us() / 1000);
    }
};

}  // namespace

void DataFileWriter::store_beside_commits(storage::LockManager& locks, CommitLatch& latch,
                                          const std::function<void()>& commit) try {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::none);
    const auto copy_under_R = [&] {
        const storage::GlobalLock no_writer(locks, storage::GlobalMode::R);
        return copy_some();
    };
    const auto begin = [&] {
        const std::lock_guard no_commit(latch);
        return begin_batches();
    };
    for (bool more = begin(); more; more = store_batch()) {
        while (copy_under_R()) {
        }
        commit();
    }
} catch (const std::exception& e) {
    base::fatal(0, fmt::format("exception while data files are written, causing immediate "
                               "shutdown: {}",
                               e.what()));
}

void DataFileWriter::store(DurableFile& file, uint64_t offset, std::span<const uint8_t> bytes) {
    DCHECK(!bytes.empty());
    file.store(offset, bytes);
    parts_.counters.record(journal::Metric::data_file_bytes, bytes.size());
    journal::waiting_writes.stored_bytes += static_cast<int64_t>(bytes.size());
    const std::lock_guard lock(stored_mutex_);
    std::set<uint64_t>& pieces = stored_[file.opening()];
    for (uint64_t at = offset / kPieceBytes; at <= (offset + bytes.size() - 1) / kPieceBytes; ++at)
        pieces.insert(at);
}

// Taken before it is written: what is stored into it during that is written by the next call.
std::optional<uint64_t> DataFileWriter::take_piece(const DurableFile& file, uint64_t from) {
    const std::lock_guard lock(stored_mutex_);
    const auto pieces = stored_.find(file.opening());
    if (pieces == stored_.end()) return {};
    const auto next = pieces->second.lower_bound(from);
    if (next == pieces->second.end()) return {};
    return pieces->second.extract(next).value();
}

void DataFileWriter::write_stored(const std::function<void()>& between) {
    for (const auto& file : parts_.files.snapshot()) {
        uint64_t from = 0;
        while (const auto piece = take_piece(*file, from)) {
            between();
            file->write_part(*piece * kPieceBytes, kPieceBytes);
            from = *piece + 1;
        }
    }
}

void DataFileWriter::note_private(uint64_t bytes) {
    private_bytes_ += bytes;
    journal::waiting_writes.private_bytes = static_cast<int64_t>(private_bytes());
}

void DataFileWriter::note_dropped() {
    private_bytes_ = 0;
    looked_at_ = 0;
    journal::waiting_writes.private_bytes = 0;
}

// A look costs some microseconds, so one comes after each 64th of the memory.
bool DataFileWriter::is_memory_short() {
    const uint64_t most = parts_.process_bytes;
    const uint64_t held = private_bytes();
    if (most == 0 || held < looked_at_ + most / 64) return false;
    looked_at_ = held;
    return base::process_memory().own() > most / 4 * 3;
}

bool DataFileWriter::wants_flush() {
    if (!defers() || (private_bytes() < private_bytes_max() / 4 * 3 && !is_memory_short()))
        return false;
    if (flush_wanted_.exchange(true)) return false;
    ++journal::waiting_writes.early_flushes;
    return true;
}

std::unique_ptr<DataFileWriter> make_data_file_writer(const DataFileWriter::Parts& parts) {
    return std::make_unique<AfterEachCommit>(parts);
}

}  // namespace mmapv1
