#include "storage/mmapv1/engine.h"

#include <algorithm>

#include "base/damage.h"
#include "base/database_name.h"
#include "base/dcheck.h"
#include "base/log.h"
#include "bson/validate.h"
#include "bson/view.h"
#include "journal/format.h"
#include "journal/journal.h"
#include "os/confined_file_system.h"
#include "sched/interruption.h"
#include "storage/mmapv1/commit/journal_check.h"
#include "storage/mmapv1/mapping/data_file_name.h"
#include "storage/mmapv1/mapping/file_set.h"
#include "storage/mmapv1/salvage/directory_layout.h"

namespace mmapv1 {

namespace {

DurableOptions durable_options(const EngineOptions& options) {
    DurableOptions durable = options.durable;
    durable.dbpath = options.dbpath;
    if (options.files.small_files)
        durable.journal_file_bytes =
            std::min(durable.journal_file_bytes, journal::kSmallLimitBytes);
    durable.directory_per_db = options.files.directory_per_db;
    return durable;
}

}  // namespace

std::optional<bson::Object> read_storage_metadata(os::FileSystem& files,
                                                  const std::string& dbpath) {
    const std::string path = os::join(dbpath, kMetadataFile);
    if (!files.exists(path)) return std::nullopt;
    constexpr uint64_t kBytesMax = 1 << 20;
    std::vector<uint8_t> bytes(std::min(files.file_length(path), kBytesMax));
    const auto file = files.open(path, {.access = os::Access::read});
    bytes.resize(file->read_at(0, bytes));
    const std::string fault = bson::validate(bytes.data(), bytes.size());
    if (!fault.empty())
        base::fail(base::Damaged{base::kInvalidBSON}, "{} is damaged: {}", path, fault);
    return bson::Object(bson::Doc(bytes.data()));
}

void check_storage_metadata(os::FileSystem& files, const std::string& dbpath,
                            bool directory_per_db) {
    const std::optional<bson::Object> metadata = read_storage_metadata(files, dbpath);
    if (!metadata) return;
    const std::string path = os::join(dbpath, kMetadataFile);
    const bson::Element engine = metadata->doc().at_path("storage.engine");
    if (!engine.is_string() || engine.as_string() != "mmapv1")
        base::fail(
            base::kInvalidOptions,
            "{} says that the data files were written by storage engine '{}', not by mmapv1: "
            "start with that --storageEngine, or name another --dbpath",
            path, engine.is_string() ? engine.as_string() : "?");
    const bson::Element per_db = metadata->doc().at_path("storage.options.directoryPerDB");
    if (per_db && per_db.truthy() != directory_per_db)
        base::fail(base::kInvalidOptions,
                   "{} says that the data files were made with directoryPerDB {}: start with the "
                   "same setting",
                   path, per_db.truthy() ? "on" : "off");
}

std::unique_ptr<MmapEngine> open_engine(const EngineOptions& options, os::FileSystem& files,
                                        os::Clock& clock) {
    return std::make_unique<MmapEngine>(options, files, clock);
}

std::unique_ptr<MmapEngine> open_engine(const EngineOptions& options) {
    const std::string journal = os::join(options.dbpath, kJournalDirectory);
    std::vector<std::string> followed;
    if (os::real_file_system().is_link(journal)) {
        if (!options.follow_journal_link)
            base::fail(base::kInvalidOptions,
                       "{} is a symbolic link, and links in a dbpath are not followed: mount the "
                       "directory of the journal there (mount --bind), or, if the link is yours, "
                       "start with --setParameter followJournalLink=1",
                       journal);
        followed.push_back(journal);
    }
    return std::make_unique<MmapEngine>(options, os::confined_file_system(options.dbpath, followed),
                                        os::system_clock());
}

MmapEngine::MmapEngine(const EngineOptions& options, std::unique_ptr<os::FileSystem> files,
                       os::Clock& clock)
    : MmapEngine(options, std::move(files), nullptr, clock) {}

MmapEngine::MmapEngine(const EngineOptions& options, std::unique_ptr<os::FileSystem> owned,
                       os::FileSystem* files, os::Clock& clock)
    : owned_files_(std::move(owned)),
      options_(options),
      files_(owned_files_ ? *owned_files_ : *files),  // NOLINT: one of the two is there
      room_(files_, clock, options.dbpath),
      dbpath_lock_(files_, options.dbpath),
      durable_(durable_options(options), locks_, files_, clock) {
    options_.files.room = &room_;
    check_storage_metadata(files_, options_.dbpath, options_.files.directory_per_db);
    const std::vector<std::string> of_other_layout =
        check_directory_layout(files_, options_.dbpath, options_.files.directory_per_db);
    dbpath_lock_.check(options_.durable.journal, options_.repair);
    if (options_.durable.journal)
        check_journal(files_, os::join(options_.dbpath, kJournalDirectory));
    durable_.claim_journal();
    dbpath_lock_.mark_running();
    start();
    for (const std::string& sentence : of_other_layout)
        base::log::warning("{}", sentence);
}

MmapEngine::~MmapEngine() = default;

void MmapEngine::start() {
    durable_.recover();
    const DatabasesOnDisk found =
        databases_on_disk(files_, options_.dbpath, options_.files.directory_per_db);
    // A folder shows from now on what a killed process has changed in it and not synced, so the
    // change has to stay; also if nothing is left of the database. mark_running() sees to the
    // dbpath.
    for (const std::string& folder : found.folders)
        files_.sync_directory(os::join(options_.dbpath, folder));
    durable_.start();
    const storage::GlobalLock lock(locks_, storage::GlobalMode::W);
    for (const std::string& db : found.with_namespaces)
        open_database(db, true);
    // Its folder cannot be made durable, so it must not be shown; nor may it seem not to exist.
    for (const Refusal& each : found.refused)
        if (files_.exists(os::join(options_.dbpath, options_.files.path(each.path, "ns"))))
            note_unusable(each.path, {each.reason, true, true});
    warn_of_what_is_left_alone(found);
}

// Data files without a namespace file: their contents cannot be read, and a new database of that
// name removes them.
void MmapEngine::warn_of_what_is_left_alone(const DatabasesOnDisk& found) const {
    for (const std::string& path : found.foreign)
        base::log::warning("ignoring {}: not the name of a data file",
                           os::join(options_.dbpath, path));
    for (const std::string& db : found.without)
        base::log::warning(
            "database {} has data files and no namespace file {}: either dropping it was cut "
            "short, or that file is lost. In the latter case stop before a client creates a "
            "database of that name, which removes them{}",
            db, options_.files.path(db, "ns"), base::damage_advice());
    for (const Refusal& each : found.refused)
        if (!unusable_.contains(each.path))
            base::log::warning("{}; ignoring folder {}", each.reason, each.path);
}

// A database that cannot be opened does not affect the others. An error that ends the operation
// that opens it says nothing about the database.
void MmapEngine::open_database(const std::string& db, bool at_start) {
    try {
        auto opened = std::make_unique<MmapDatabase>(durable_.views(), db, options_.files,
                                                     samplers_, MmapDatabase::Mode::open);
        opened->upgrade();
        databases_.insert_or_assign(db, std::move(opened));
    } catch (const os::IoError& error) {
        note_unusable(db, {error.what(), true, at_start});
    } catch (const base::Error& error) {
        note_unusable(db, {error.what(), sched::is_interruption(error), at_start});
    } catch (const std::bad_alloc& error) {
        note_unusable(db, {error.what(), true, at_start});
    }
}

void MmapEngine::note_unusable(const std::string& db, Unusable reason) {
    base::log::error("cannot open database {}{}: {}", db,
                     reason.may_pass ? " now, its next use tries again" : "", reason.why);
    any_may_pass_ = any_may_pass_ || reason.may_pass;
    unusable_.insert_or_assign(db, std::move(reason));
}

bool MmapEngine::may_open_now(std::string_view db) const {
    if (!any_may_pass_.load(std::memory_order_relaxed)) return false;
    const std::shared_lock guard(mutex_);
    const auto found = unusable_.find(db);
    return found != unusable_.end() && found->second.may_pass;
}

bool MmapEngine::open_again(std::string_view db) {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    const std::unique_lock guard(mutex_);
    const auto found = unusable_.find(db);
    if (found == unusable_.end()) return false;
    const std::string name(db);
    const bool since_start = found->second.since_start;
    // It stays among them until it is open: as an unknown one it would be made anew.
    try {
        if (options_.files.directory_per_db) files_.sync_directory(directory_of(name));
        open_database(name, since_start);
    } catch (const os::IoError& error) {
        note_unusable(name, {error.what(), true, since_start});
    }
    if (databases_.contains(name)) unusable_.erase(name);
    any_may_pass_ =
        std::ranges::any_of(unusable_, [](const auto& each) { return each.second.may_pass; });
    if (!databases_.contains(name)) return false;
    base::log::info("database {} is open now", name);
    return since_start;
}

std::vector<std::string> MmapEngine::database_names() const {
    const std::shared_lock guard(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, database] : databases_)
        names.push_back(name);
    return names;
}

std::vector<std::string> MmapEngine::unusable_databases() const {
    const std::shared_lock guard(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, reason] : unusable_)
        names.push_back(name);
    return names;
}

int64_t MmapEngine::database_bytes(std::string_view db) const {
    const std::shared_lock guard(mutex_);
    const auto it = databases_.find(db);
    if (it == databases_.end()) return unusable_.contains(db) ? length_of_files(db) : 0;
    const storage::DatabaseStats stats = it->second->stats();
    return stats.file_bytes + stats.ns_bytes;
}

// A length that the device does not tell is left out.
int64_t MmapEngine::length_of_files(std::string_view db) const {
    int64_t sum = 0;
    try {
        std::vector<std::string> paths = data_files_of(std::string(db));
        paths.push_back(options_.files.path(db, "ns"));
        for (const std::string& path : paths) {
            const std::string file = os::join(options_.dbpath, path);
            if (files_.exists(file)) sum += static_cast<int64_t>(files_.file_length(file));
        }
    } catch (const os::IoError& error) {
        base::log::warning("the size of database {} is not known: {}", db, error.what());
    }
    return sum;
}

storage::DatabaseStore* MmapEngine::database(std::string_view db) {
    DCHECK(storage::LockManager::may_read(db));
    const std::shared_lock guard(mutex_);
    if (const auto it = databases_.find(db); it != databases_.end()) return it->second.get();
    if (const auto it = unusable_.find(db); it != unusable_.end())
        base::fail(base::kInternalError, "database {} cannot be opened: {}", db, it->second.why);
    return nullptr;
}

storage::DatabaseStore& MmapEngine::create_database(std::string_view db) {
    DCHECK(storage::LockManager::may_write(db));
    if (storage::DatabaseStore* found = database(db)) return *found;
    const std::string name(db);
    if (!valid_database_name(name, options_.files.directory_per_db))
        base::fail(base::kInvalidNamespace, "a database cannot be called '{}'{}", name,
                   base::valid_database_name(name)
                       ? ": the server has a folder of that name beside those of the databases"
                       : "");
    Views& views = durable_.views();
    // Another program put it there, or the file system takes two names for one: it is not ours.
    const std::string names = options_.files.path(name, "ns");
    if (views.exists(names))
        base::fail(base::kOperationFailed,
                   "database {} cannot be made: its namespace file {} is there, but the server has "
                   "not opened it. Files that were put there while it ran are opened by the next "
                   "start; else move them away",
                   name, names);
    remove_remnants(name);
    std::unique_ptr<MmapDatabase> created;
    try {
        created = std::make_unique<MmapDatabase>(views, name, options_.files, samplers_,
                                                 MmapDatabase::Mode::create);
    } catch (...) {
        take_back_namespace_file(name);
        throw;
    }
    const std::unique_lock guard(mutex_);
    half_dropped_.erase(name);
    return *databases_.emplace(name, std::move(created)).first->second;
}

// Takes back the namespace file of a database that could not be made: neither a start nor a power
// cut is to show it.
void MmapEngine::take_back_namespace_file(const std::string& db) {
    const std::string path = options_.files.path(db, "ns");
    try {
        if (!durable_.views().exists(path)) return;
        durable_.views().remove(path);
        files_.sync_directory(directory_of(db));
    } catch (const os::IoError& error) {
        base::log::warning("database {} could not be made, and may be there after a crash: {}", db,
                           error.what());
    }
}

// Keeps dropped files open. If a file lies in many pieces, the system takes long to free them, and
// does so when its last descriptor is closed.
class MmapEngine::OpenFiles final : public storage::Remains {
  public:
    void hold(os::FileSystem& files, const std::string& path) {
        try {
            held_.push_back(files.open(path, {.leaves_spare = true}));
        } catch (const os::IoError& error) {
            if (!error.not_found())
                base::log::info("the space of {} is freed under the lock: {}", path, error.what());
        }
    }

  private:
    std::vector<std::unique_ptr<os::File>> held_;
};

std::unique_ptr<storage::Remains> MmapEngine::drop_database(std::string_view db) {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    const std::unique_lock guard(mutex_);
    const auto it = databases_.find(db);
    if (it == databases_.end()) base::fail(base::kNamespaceNotFound, "no database {}", db);
    // The journal must not bring back what is removed here.
    durable_.sync_and_truncate_journal();
    const std::string name(db);
    // The namespace file first, for good: without it the database does not exist any more. Should
    // it not go, nothing has changed.
    const std::string names = options_.files.path(name, "ns");
    auto remains = std::make_unique<OpenFiles>();
    remains->hold(files_, os::join(options_.dbpath, names));
    durable_.views().remove(names);
    it->second->close();
    databases_.erase(it);
    remove_dropped(name, *remains);
    return remains;
}

std::unique_ptr<storage::Remains> MmapEngine::finish_drop(std::string_view db) {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    const std::unique_lock guard(mutex_);
    auto remains = std::make_unique<OpenFiles>();
    if (half_dropped_.contains(db)) remove_dropped(std::string(db), *remains);
    return remains;
}

// Its namespace file is unlinked.
void MmapEngine::remove_dropped(const std::string& db, OpenFiles& remains) {
    half_dropped_.insert(db);
    const std::string directory = directory_of(db);
    try {
        if (files_.exists(directory)) {
            files_.sync_directory(directory);
            for (const std::string& path : data_files_of(db)) {
                remains.hold(files_, os::join(options_.dbpath, path));
                durable_.views().remove(path);
            }
            files_.sync_directory(directory);
        }
        if (options_.files.directory_per_db) {
            files_.remove_all(directory);
            files_.sync_directory(options_.dbpath);
        }
    } catch (const os::IoError& e) {
        base::fail(base::kOperationFailed,
                   "database {} is dropped, but not all of its files are gone: {}; drop it again",
                   db, e.what());
    }
    half_dropped_.erase(db);
}

std::string MmapEngine::directory_of(const std::string& db) const {
    return options_.files.directory_per_db ? os::join(options_.dbpath, db) : options_.dbpath;
}

// A drop that was cut short may have left data files. The removal of their namespace file may not
// be on the device yet; the file must not reappear without them, nor may they appear beside the
// next one.
void MmapEngine::remove_remnants(const std::string& db) {
    const std::vector<std::string> left = data_files_of(db);
    if (left.empty()) return;
    files_.sync_directory(directory_of(db));
    for (const std::string& path : left)
        durable_.views().remove(path);
    files_.sync_directory(directory_of(db));
}

// Returns every data file of the database, whatever is missing between them.
std::vector<std::string> MmapEngine::data_files_of(const std::string& db) const {
    std::vector<std::string> found;
    const std::string directory = directory_of(db);
    if (!files_.exists(directory)) return found;
    for (const std::string& entry : files_.list(directory)) {
        const std::string path = options_.files.directory_per_db ? os::join(db, entry) : entry;
        const auto name = parse_data_file_name(path);
        if (name && name->db == db && name->number != journal::kNsFile) found.push_back(path);
    }
    return found;
}

void MmapEngine::close_database(std::string_view db) {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    const std::unique_lock guard(mutex_);
    const auto it = databases_.find(db);
    if (it == databases_.end()) return;
    it->second->close();
    databases_.erase(it);
    open_database(std::string(db), false);
}

std::string MmapEngine::scratch_directory() const {
    return os::join(options_.dbpath, kScratchDirectory);
}

void MmapEngine::shutdown() {
    durable_.shutdown();  // waits for operations, which may want the mutex
    const std::unique_lock guard(mutex_);
    databases_.clear();
    dbpath_lock_.clear();
    durable_.release_journal();
}

}  // namespace mmapv1
