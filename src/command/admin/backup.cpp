// createBackup: a copy of the data directory while clients go on, as a directory that a server can
// be started with. Its name and field are those that others have given to such a command.
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "command/admin/admin.h"
#include "command/request/bind.h"
#include "command/request/invocation.h"
#include "os/copy_tree.h"
#include "sched/tick.h"
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

void copy_data(Service& service, os::FileSystem& files, const std::string& to) {
    const std::string own =
        service.engine().copy_data(to) ? std::string(service.engine().name()) : std::string();
    std::optional<Locked> locked;
    if (own.empty()) locked.emplace(service.fsync_lock());
    const os::TreeToCopy tree{
        .from = service.context().data_directory,
        .to = to,
        .leaves_out =
            [&](const std::string& path) {
                return path == own || path == "mongod.lock" || path == "_tmp" ||
                       path.starts_with("journal/prealloc.");
            },
        .before_piece = [](uint64_t bytes) { sched::tick_bytes(bytes, sched::PerTick::copied); },
    };
    os::copy_tree(files, tree);
}

void run_create_backup(Invocation& invocation) {
    Service& service = invocation.service;
    os::FileSystem& files = os::real_file_system();
    BackupRequest request;
    kBackup.bind(invocation.given, invocation.dialect(), request);
    const std::string target(request.directory);
    check_target(files, service.context().data_directory, target);
    const std::string unfinished = target + std::string(kUnfinished);
    base::log::info("createBackup {}", target);
    files.create_directory(unfinished);
    try {
        copy_data(service, files, unfinished);
        os::rename_synced(files, unfinished, target);
    } catch (const std::exception& error) {
        base::log::warning("createBackup {}: {}", target, error.what());
        files.remove_all(unfinished);
        throw;
    }
    base::log::info("createBackup {}: complete", target);
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
