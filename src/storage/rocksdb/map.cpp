#include "storage/rocksdb/map.h"

#include <rocksdb/convenience.h>
#include <rocksdb/file_system.h>
#include <rocksdb/utilities/checkpoint.h>

#include <algorithm>
#include <limits>

#include "base/dcheck.h"
#include "base/error_codes.h"
#include "storage/kv/bytes.h"
#include "storage/rocksdb/configuration.h"
#include "storage/rocksdb/open.h"
#include "storage/rocksdb/session.h"
#include "storage/rocksdb/status.h"
#include "storage/rocksdb/table_key.h"

namespace rocks {

using kv::Table;
using rocksdb::Slice;
using rocksdb::Status;

namespace {

constexpr Table kDroppedTable{0xffff'fff0};
constexpr std::string_view kMarker = "FORMAT";
const std::string kFormat = "mongod-dur 1\n";

std::string dropped_key(Table table) {
    return table_key(kDroppedTable, kv::big_endian(static_cast<uint32_t>(table)));
}

// Its name until the database is there.
std::string unfinished(const std::string& marker) {
    return marker + ".new";
}

void sync_directory(const kv::Host& host, rocksdb::Env& env, const std::string& path) {
    std::unique_ptr<rocksdb::Directory> directory;
    check(host, env.NewDirectory(path, &directory));
    check(host, directory->Fsync());
}

}  // namespace

std::unique_ptr<kv::Map> open_map(const kv::MapSettings& settings,
                                  std::shared_ptr<rocksdb::FileSystem> files) {
    return std::make_unique<Map>(
        settings, files == nullptr ? nullptr : rocksdb::NewCompositeEnv(std::move(files)));
}

Map::Map(const kv::MapSettings& settings, std::unique_ptr<rocksdb::Env> env)
    : host_(*settings.host),
      directory_(settings.directory),
      has_log_(settings.log),
      commit_bytes_max_(commit_bytes_of_memory(settings.memory_bytes)),
      env_(std::move(env)),
      watch_(std::make_shared<Watch>(host_, iterators_)),
      read_turns_(settings.memory_bytes) {
    const rocksdb::Options options =
        configuration(settings, env_ != nullptr ? env_.get() : rocksdb::Env::Default(), watch_);
    // Two memtables on their way into files, and what the library writes beside them.
    constexpr uint64_t kBesideBytes = uint64_t{64} << 20;
    reserved_bytes_ = 2 * options.write_buffer_size + kBesideBytes;
    open(options);
    compactor_ = std::make_unique<Compactor>(*db_, host_);
    drops_ = dropped_tables();
    if (!drops_.empty()) checkpoint(true);  // before a new table can have such a number
}

Map::~Map() {
    compactor_.reset();
    iterators_->clear();
    const Status status = db_->Close();
    if (!status.ok())
        host_.log(kv::Host::Severity::error, "RocksDB at its end: " + status.ToString());
}

// The library would change what it opens, so a file beside its own is looked at first. This file
// has its name once the database is there: no start after that makes an empty one.
void Map::open(rocksdb::Options options) {
    rocksdb::Env& env = *options.env;
    const std::string marker = directory_ + "/" + std::string(kMarker);
    const Status there = env.FileExists(marker);
    const bool is_new = there.IsNotFound();
    if (is_new)
        begin(env, unfinished(marker));
    else
        check(host_, there);
    std::string format;
    check(host_, rocksdb::ReadFileToString(&env, is_new ? unfinished(marker) : marker, &format));
    if (format != kFormat)
        fail(host_, base::kInvalidOptions,
             marker + " says \"" + format.substr(0, format.find('\n')) +
                 "\": another version has made this directory, and this one cannot read it");
    options.create_if_missing = is_new;
    const std::string current = directory_ + "/CURRENT";
    if (!is_new && env.FileExists(current).IsNotFound())
        host_.fail_damaged("there is no " + current + ": files of RocksDB are missing");
    if (!is_new && has_log_ && !has_log_file(env, directory_))
        host_.fail_damaged("there is no log of RocksDB, a file that ends in .log, in " +
                           directory_ +
                           ", so that what was written last may be missing. To go on without it "
                           "start once with --nojournal");
    rocksdb::DB* db = nullptr;
    const Status opened = rocksdb::DB::Open(options, directory_, &db);
    if (opened.IsInvalidArgument())
        fail(host_, base::kInvalidOptions, "RocksDB: " + opened.ToString());
    check(host_, opened);
    DCHECK(db != nullptr);
    db_.reset(db);
    if (!is_new) return;
    check(host_, env.RenameFile(unfinished(marker), marker));
    sync_directory(host_, env, directory_);
}

// The library keeps one at all times, and takes a missing one for an empty one.
bool Map::has_log_file(rocksdb::Env& env, const std::string& directory) const {
    std::vector<std::string> files;
    check(host_, env.GetChildren(directory, &files));
    return std::ranges::any_of(files,
                               [](const std::string& name) { return name.ends_with(".log"); });
}

// Leaves the directory with the unfinished marker in it, whole, and at most what a start cut short
// has made beside it.
void Map::begin(rocksdb::Env& env, const std::string& unfinished) {
    check(host_, env.CreateDirIfMissing(directory_));
    std::vector<std::string> files;
    check(host_, env.GetChildren(directory_, &files));
    std::string other;
    bool is_begun = false;
    for (const std::string& name : files) {
        if (directory_ + "/" + name == unfinished)
            is_begun = true;
        else if (name != "." && name != "..")
            other = name;
    }
    if (!is_begun && !other.empty())
        fail(host_, base::kInvalidOptions,
             directory_ + " was not made by this server: it has " + other + " and no " +
                 std::string(kMarker));
    check(host_, rocksdb::WriteStringToFile(&env, kFormat, unfinished, true));
    sync_directory(host_, env, directory_);
}

rocksdb::WriteOptions Map::write_options() const {
    rocksdb::WriteOptions options;
    options.disableWAL = !has_log_;
    return options;
}

std::unique_ptr<kv::Session> Map::session() {
    return std::make_unique<Session>(
        *db_, host_, [this](rocksdb::WriteBatch& batch) { write(batch); }, *iterators_, read_turns_,
        walks_far_);
}

// The locks above are given up whatever happens, and the batch can then neither be kept nor undone.
// Where a flush has found no room, the library refuses the batch before its log has any of it.
void Map::write(rocksdb::WriteBatch& batch) {
    Status status = db_->Write(write_options(), &batch);
    if (status.IsNoSpace() && !watch_->has_log_failed() && go_on_after_error().ok())
        status = db_->Write(write_options(), &batch);
    if (!status.ok()) end_process(host_, "RocksDB cannot write its log: " + status.ToString());
    if (walks_far_.load(std::memory_order_relaxed) && walks_far_.exchange(false))
        flush_removed_rows();
}

// Removed rows in memory stay there until it is full; a compaction takes them away in files alone.
void Map::flush_removed_rows() {
    uint64_t removed = 0;
    if (db_->GetIntProperty(rocksdb::DB::Properties::kNumDeletesActiveMemTable, &removed) &&
        removed >= kRemovedRowsMany)
        flush(false);  // what keeps it from that keeps the next commit or checkpoint too
}

// Rows of a small table are removed one by one: a range that is removed costs all readers
// something until a compaction has come by. The space of rows is given back by that alone.
void Map::drop(Table table) {
    constexpr int kSmallRows = 1000;
    constexpr size_t kSmallBytes = size_t{1} << 20;
    DCHECK(table != kDroppedTable);
    const std::string begin = table_key(table), end = end_of(table);
    rocksdb::WriteBatch batch;
    {
        const Slice bound(end);
        rocksdb::ReadOptions options;
        options.iterate_upper_bound = &bound;
        options.fill_cache = false;
        const std::unique_ptr<rocksdb::Iterator> rows(db_->NewIterator(options));
        int count = 0;
        size_t bytes = 0;
        const auto is_small = [&] { return count <= kSmallRows && bytes <= kSmallBytes; };
        for (rows->Seek(begin); rows->Valid() && is_small(); rows->Next(), ++count) {
            bytes += rows->value().size();
            check(host_, batch.Delete(rows->key()));
        }
        // A table that cannot be read can be dropped.
        if (rows->status().ok() && is_small()) return write(batch);
    }
    batch.Clear();
    check(host_, batch.DeleteRange(begin, end));
    check(host_, batch.Put(dropped_key(table), {}));
    write(batch);
    const std::lock_guard lock(drops_mutex_);
    drops_.push_back(table);
}

std::vector<Table> Map::dropped_tables() {
    std::vector<Table> dropped;
    const std::string end = end_of(kDroppedTable);
    const std::unique_ptr<rocksdb::Iterator> rows(db_->NewIterator({}));
    for (rows->Seek(table_key(kDroppedTable)); rows->Valid() && rows->key().compare(end) < 0;
         rows->Next())
        dropped.push_back(
            Table{kv::from_big_endian<uint32_t>(as_bytes(rows->key()).subspan(kTableBytes))});
    check(host_, rows->status());
    return dropped;
}

// Removes files that hold nothing else at once. If anything fails, the next start does it again;
// but never once the row has gone, since the number may have been given again by then.
void Map::remove_files_of(const std::vector<Table>& dropped) {
    if (dropped.empty()) return;
    rocksdb::WriteBatch batch;
    for (const Table table : dropped) {
        const std::string begin = table_key(table), end = end_of(table);
        const Slice from(begin), to(end);
        if (!rocksdb::DeleteFilesInRange(db_.get(), db_->DefaultColumnFamily(), &from, &to, false)
                 .ok())
            return;
        check(host_, batch.Delete(dropped_key(table)));
    }
    iterators_->clear();
    write(batch);
    compactor_->add(dropped);
}

// The library could do that by itself, but a thread of it which ends a recovery may use a database
// that has been closed before, and every later try waits for that thread.
Status Map::go_on_after_error() const {
    const std::lock_guard lock(recovery_mutex_);  // the library refuses a second one beside it
    return db_->Resume();
}

void Map::sync_log() {
    const Status status = db_->SyncWAL();
    if (!status.ok()) end_process(host_, "RocksDB cannot sync its log: " + status.ToString());
}

Status Map::flush(bool wait) {
    rocksdb::FlushOptions options;
    options.wait = wait;
    options.allow_write_stall = true;  // else it waits for compactions before it begins
    uint64_t left = 0;
    Status status;
    // Once the library has recovered from an error, a flush may answer before it has ended.
    do {
        status = db_->Flush(options);
    } while (wait && !has_log_ && status.ok() &&
             db_->GetIntProperty(rocksdb::DB::Properties::kNumImmutableMemTable, &left) &&
             left > 0);
    return status;
}

void Map::checkpoint(bool wait) {
    std::vector<Table> dropped;
    {
        const std::lock_guard lock(drops_mutex_);
        dropped.swap(drops_);
    }
    // The drops must be on disk before the files of the tables go.
    const bool must_last = wait || !dropped.empty();
    if (must_last && has_log_) sync_log();
    if (watch_->has_error()) go_on_after_error();  // the flush says whether it has helped
    const Status status = flush(must_last);
    if (status.ok()) return remove_files_of(dropped);
    {
        const std::lock_guard lock(drops_mutex_);
        drops_.insert(drops_.end(), dropped.begin(), dropped.end());
    }
    if (wait) fail(host_, status);
    // The library has stopped writes until it has flushed what there is: that is this checkpoint.
    if (status.IsTryAgain()) return;
    host_.log(kv::Host::Severity::error, "RocksDB cannot write a checkpoint: " + status.ToString());
}

// The library links its tables' files, which nothing changes, and copies those of its log that have
// something. A start asks for a log: this one has no later number than any, and nothing.
void Map::copy_to(const kv::Copy& copy) {
    constexpr uint64_t kNoFlush = std::numeric_limits<uint64_t>::max();
    if (!has_log_) check(host_, flush(true));
    rocksdb::Checkpoint* made = nullptr;
    check(host_, rocksdb::Checkpoint::Create(db_.get(), &made));
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
    check(host_, checkpoint->CreateCheckpoint(copy.directory, kNoFlush));
    rocksdb::Env& env = *db_->GetEnv();
    const auto write = [&](std::string_view text, std::string_view name) {
        check(host_, rocksdb::WriteStringToFile(&env, std::string(text),
                                                copy.directory + "/" + std::string(name), true));
    };
    if (!has_log_file(env, copy.directory)) write("", "000001.log");
    write(kFormat, kMarker);
}

void Map::pause() {
    check(host_, db_->PauseBackgroundWork());
}

void Map::resume() {
    check(host_, db_->ContinueBackgroundWork());
}

void Map::check_space(uint64_t) {
    constexpr std::chrono::seconds kLookAgain{1};
    const std::lock_guard lock(space_mutex_);
    const Clock::time_point now = Clock::now();
    if (looked_at_ == Clock::time_point{} || now - looked_at_ >= kLookAgain ||
        (fault_.empty() && watch_->has_error())) {
        looked_at_ = now;
        fault_ = space_fault();
    }
    if (!fault_.empty()) fail(host_, base::kOutOfDiskSpace, fault_);
}

std::string Map::space_fault() const {
    rocksdb::FileSystem& files = *db_->GetFileSystem();
    uint64_t free_bytes = 0;
    if (files.GetFreeSpace(directory_, {}, &free_bytes, nullptr).ok() &&
        free_bytes < reserved_bytes_)
        return "the disk of " + directory_ + " has " + std::to_string(free_bytes >> 20) +
               " MB left, and RocksDB needs " + std::to_string(reserved_bytes_ >> 20) + " MB";
    if (!watch_->has_error()) return "";
    const Status status = go_on_after_error();
    if (status.IsCorruption()) fail(host_, status);
    if (!status.ok())
        return "RocksDB cannot go on writing (" + watch_->error() + ")" +
               (status.severity() >= Status::kFatalError ? " until the server is started again"
                                                         : "");
    watch_->clear_error();
    return "";
}

std::optional<int64_t> Map::disk_bytes(Table table) const {
    rocksdb::SizeApproximationOptions options;
    options.include_memtables = true;
    const std::string begin = table_key(table), end = end_of(table);
    const rocksdb::Range range(begin, end);
    uint64_t bytes = 0;
    if (!db_->GetApproximateSizes(options, db_->DefaultColumnFamily(), &range, 1, &bytes).ok())
        return std::nullopt;
    return static_cast<int64_t>(bytes);
}

void Map::report(const AddMetric& add) const {
    using Properties = rocksdb::DB::Properties;
    const auto add_property = [&](const char* name, const std::string& property) {
        uint64_t value = 0;
        if (db_->GetIntProperty(property, &value)) add(name, static_cast<int64_t>(value));
    };
    add_property("cacheCapacityBytes", Properties::kBlockCacheCapacity);
    add_property("cacheBytes", Properties::kBlockCacheUsage);
    add_property("cachePinnedBytes", Properties::kBlockCachePinnedUsage);
    add_property("memtableBytes", Properties::kSizeAllMemTables);
    add_property("tableReadersBytes", Properties::kEstimateTableReadersMem);
    add_property("fileBytes", Properties::kTotalSstFilesSize);
    add_property("liveFileBytes", Properties::kLiveSstFilesSize);
    add_property("largeRowFileBytes", Properties::kTotalBlobFileSize);
    add_property("pendingCompactionBytes", Properties::kEstimatePendingCompactionBytes);
    add_property("runningCompactions", Properties::kNumRunningCompactions);
    add_property("runningFlushes", Properties::kNumRunningFlushes);
    add_property("backgroundErrors", Properties::kBackgroundErrors);
    add_property("delayedWriteBytesPerSecond", Properties::kActualDelayedWriteRate);
    add_property("writesStopped", Properties::kIsWriteStopped);
}

}  // namespace rocks
