// createBackup: a copy of the data directory while clients go on, as a directory that a server can
// be started with. Its name and field are those that others have given to such a command.
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "command/admin/admin.h"
#include "command/request/bind.h"
#include "command/request/invocation.h"
#include "os/copy_tree.h"
#include "sched/operation.h"
#include "storage/lock.h"

namespace command {

namespace {

struct BackupRequest {
    std::string_view directory;
};

constexpr Reader<std::string_view> kDirectory{
    types::string, [](const bson::Element& e, dialect::Dialect) {
        return e.is_string() ? e.as_string() : std::string_view();
    }};
constexpr Row<BackupRequest> kRows[] = {
    row<kDirectory, &BackupRequest::directory>(required("backupDir", types::string)),
};
constexpr RequestTable kBackup(kRows);

// Its name until it is complete.
constexpr std::string_view kUnfinished = ".unfinished";

void check_target(os::FileSystem& files, const std::string& data, const std::string& target) {
    if (data.empty())
        base::fail(base::kIllegalOperation, "createBackup: the data of this server has no files");
    if (!std::filesystem::path(target).is_absolute())
        base::fail(base::kBadValue, "createBackup: backupDir must be an absolute path, not '{}'",
                   target);
    if (target.ends_with("/") || target.find("//") != std::string::npos ||
        (target + "/").find("/../") != std::string::npos ||
        (target + "/").find("/./") != std::string::npos)
        base::fail(base::kBadValue, "createBackup: backupDir must be a plain path, not '{}'",
                   target);
    if ((target + "/").starts_with(data + "/"))
        base::fail(base::kBadValue, "createBackup: {} lies in the data directory {}", target, data);
    for (const std::string& path : {target, target + std::string(kUnfinished)})
        if (files.exists(path))
            base::fail(base::kBadValue,
                       "createBackup: {} is there already; give a directory that is not, or remove "
                       "it",
                       path);
    if (!files.exists(os::parent(target)))
        base::fail(base::kBadValue, "createBackup: there is no directory {}", os::parent(target));
}

// Shows currentOp how much is copied.
class Progress {
  public:
    explicit Progress(uint64_t total) { show({kText, 0, static_cast<int64_t>(total)}); }
    ~Progress() { show({}); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

  private:
    static constexpr const char* kText = "createBackup: bytes";

    static void show(const sched::Operation::Progress& progress) {
        sched::Operation::current()->set_progress(progress);
    }
};

uint64_t bytes_of_databases(Service& service) {
    int64_t bytes = 0;
    for (const std::string& name : service.catalog().database_names()) {
        const storage::DatabaseLock lock(service.locks(), name, false);
        bytes += service.engine().database_bytes(name);
    }
    return static_cast<uint64_t>(bytes);
}

// Leaves room for the server to go on where the copy is to be on the disk of its data. There
// rocksdb's files are linked.
void refuse_full_disk(Service& service, os::FileSystem& files, const std::string& to,
                      uint64_t bytes) {
    constexpr uint64_t kLeftToServer = uint64_t{256} << 20;
    const bool is_on_disk_of_data =
        files.device_of(to) == files.device_of(service.context().data_directory);
    if (is_on_disk_of_data && service.engine().name() == "rocksdb") return;
    const uint64_t needed = bytes + (is_on_disk_of_data ? kLeftToServer : 0);
    const uint64_t free = files.free_bytes(to);
    if (free >= needed) return;
    base::fail(base::kOutOfDiskSpace,
               "createBackup: the disk of {} has {} MB left, and the copy needs {} MB, of which {} "
               "MB stay free",
               to, free >> 20, needed >> 20, (needed - bytes) >> 20);
}

// No client changes anything while it is there; from the beginning of it all is in the files.
class Locked {
  public:
    explicit Locked(storage::FsyncLock& lock) : lock_(lock) { lock_.lock(); }
    ~Locked() { lock_.unlock(); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

  private:
    storage::FsyncLock& lock_;
};

std::chrono::microseconds lock_time() {
    const sched::LockTimes times = sched::Operation::current()->locks().times();
    return std::chrono::microseconds(times.acquiring_read + times.locked_read);
}

// The files of an engine that cannot copy them itself are copied while they change, and under the
// lock what differs; for the flush before and the sync behind it no client waits. Returns how long
// none could write.
std::chrono::microseconds copy_data(Service& service, os::FileSystem& files,
                                    const std::string& to) {
    using Clock = std::chrono::steady_clock;
    const uint64_t bytes = bytes_of_databases(service);
    refuse_full_disk(service, files, to, bytes);
    const Progress progress(bytes);
    const std::chrono::microseconds before = lock_time();
    const std::string own =
        service.engine().copy_data(to) ? std::string(service.engine().name()) : std::string();
    std::chrono::microseconds blocked = lock_time() - before;
    const os::TreeToCopy tree{
        .from = service.context().data_directory,
        .to = to,
        .leaves_out =
            [&](const std::string& path) {
                return path == own || path == "mongod.lock" || path == "_tmp" ||
                       path.starts_with("journal/prealloc.");
            },
        .before_piece = sched::Operation::note_copied,
    };
    os::copy_tree(files, tree);
    if (own.empty()) {
        service.durability().flush_all(true);
        const Clock::time_point begun = Clock::now();
        {
            const Locked locked(service.fsync_lock());
            os::copy_rest_of_tree(files, tree);
        }
        blocked = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begun);
    }
    os::sync_tree(files, to);
    return blocked;
}

std::chrono::microseconds make_copy(Service& service, os::FileSystem& files,
                                    const std::string& target) {
    const std::string unfinished = target + std::string(kUnfinished);
    files.create_directory(unfinished);
    try {
        os::mark_unfinished(files, unfinished);
        const std::chrono::microseconds blocked = copy_data(service, files, unfinished);
        os::mark_finished(files, unfinished);
        os::rename_synced(files, unfinished, target);
        return blocked;
    } catch (const std::exception&) {
        files.remove_all(unfinished);
        throw;
    }
}

void run_create_backup(Invocation& invocation) {
    Service& service = invocation.service;
    os::FileSystem& files = os::real_file_system();
    BackupRequest request;
    kBackup.bind(invocation.given, invocation.dialect(), request);
    const std::string target(request.directory);
    check_target(files, service.context().data_directory, target);
    base::log::info("createBackup {}", target);
    try {
        const auto blocked = std::chrono::duration_cast<std::chrono::milliseconds>(
            make_copy(service, files, target));
        base::log::info("createBackup {}: complete; writes waited {} ms", target, blocked.count());
        invocation.reply->append("blockedMillis", int64_t{blocked.count()});
    } catch (const os::IoError& error) {
        base::log::warning("createBackup {}: {}", target, error.what());
        if (error.reason() == std::errc::no_space_on_device)
            base::fail(base::kOutOfDiskSpace, "createBackup: {}", error.what());
        throw;
    } catch (const std::exception& error) {
        base::log::warning("createBackup {}: {}", target, error.what());
        throw;
    }
}

constexpr Command kCommands[] = {
    {"createBackup", "", kAdminOnly | kOnAnyMember, LockKind::none,
     "{ createBackup: 1, backupDir: <new directory of the server's machine> }", run_create_backup,
     needs::on_cluster(auth::action::fsync), kBackup.fields()},
};

}  // namespace

Family backup_commands() {
    return kCommands;
}

}  // namespace command
