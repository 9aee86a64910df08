#include "storage/mmapv1/mapping/dbpath_lock.h"

#include <algorithm>

#include "base/damage.h"
#include "base/log.h"
#include "journal/journal.h"
#include "os/process.h"
#include "storage/mmapv1/mapping/data_file_name.h"

namespace mmapv1 {

namespace {

constexpr int kOldLockFile = 12596;

bool has_database(os::FileSystem& files, const std::string& dbpath) {
    const std::vector<std::string> names = files.list(dbpath);
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return (name.ends_with(".ns") && name.size() > 3) ||
               (valid_database_name(name, true) &&
                files.exists(os::join(os::join(dbpath, name), name + ".ns")));
    });
}

}  // namespace

DbpathLock::DbpathLock(os::FileSystem& files, const std::string& dbpath)
    : files_(files), dbpath_(dbpath) {
    if (!files_.is_directory(dbpath))
        base::fail(10296,
                   "dbpath ({}) does not exist. Create this directory or give existing directory "
                   "in --dbpath.",
                   dbpath);
    const std::string path = os::join(dbpath, kLockFile);
    try {
        file_ = files_.open(path, {.access = os::Access::read_write, .create = true, .mode = 0644});
    } catch (const os::IoError& e) {
        base::fail(10309,
                   "Unable to create/open lock file: {}. Is the dbpath writable for this "
                   "user?",
                   e.what());
    }
    if (!file_->try_lock())
        base::fail(
            10310,
            "Unable to lock file: {}. Is a mongod instance already running? Stop it, or give "
            "another --dbpath",
            path);
    unclean_ = file_->length() > 0;
}

void DbpathLock::check(bool journaling, bool repair) {
    const std::string directory = os::join(dbpath_, "journal");
    const bool dirty_journal = journal::has_journal_files(files_, directory);
    if (dirty_journal && unclean_ && repair)
        base::fail(base::Damaged{kOldLockFile},
                   "old lock file {}: the last shutdown was unclean and there are journal files to "
                   "recover. Restart without --repair, then repair if that is still needed",
                   os::join(dbpath_, kLockFile));
    if (dirty_journal && !journaling)
        base::fail(13597,
                   "can't start without --journal enabled when journal/ files are present: {}. "
                   "Start with --journal so that they are recovered",
                   directory);
    if (!unclean_ || dirty_journal) return;
    if (!journaling) {
        if (repair) return;
        base::fail(base::Damaged{kOldLockFile},
                   "old lock file {}: Unclean shutdown detected. The data files may be damaged: "
                   "start with --repair, or restore from a backup. Start with --journal from then "
                   "on",
                   os::join(dbpath_, kLockFile));
    }
    // Files made in advance say nothing: a server without a journal leaves them there.
    if (!journal::was_in_use(files_, directory) && has_database(files_, dbpath_))
        base::fail(base::Damaged{kOldLockFile},
                   "old lock file {}: probably an unclean shutdown, but there are no journal files "
                   "to recover. Is the directory {} mounted? If it is lost, or the last server had "
                   "no journal, start once with --nojournal --repair",
                   os::join(dbpath_, kLockFile), directory);
}

// Never empty in between: that would say that all is well with what an unclean end has left.
void DbpathLock::mark_running() {
    const std::string text = fmt::format("{}\n", os::process_id());
    file_->write_at(0, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    file_->truncate(text.size());
    file_->sync();
    files_.sync_directory(dbpath_);
}

void DbpathLock::clear() {
    file_->truncate(0);
    file_->sync();
}

}  // namespace mmapv1
