#include "storage/wiredtiger/copy.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/error_codes.h"
#include "storage/wiredtiger/cursor_handle.h"
#include "storage/wiredtiger/disk.h"
#include "storage/wiredtiger/status.h"

namespace wt {

namespace {

void copy_file(const kv::Host& host, const std::string& from, const std::string& to) {
    std::error_code error;
    std::filesystem::copy_file(from, to, error);
    if (error)
        fail(host,
             error == std::errc::no_space_on_device ? base::kOutOfDiskSpace : base::kInternalError,
             to + ": " + error.message());
    sync_path(host, to);
}

}  // namespace

// Tables that are made later have their rows in the log and no file in the copy, so the log is
// copied before anything may be committed.
void copy_files(const kv::Host& host, const Connection& connection, const std::string& from,
                const std::string& to, const std::function<void()>& may_commit) {
    const SessionHandle session = connection.open_session();
    const CursorHandle files = open_cursor(host, session.get(), "backup:");
    std::vector<std::string> names;
    int status = 0;
    while ((status = files->next(files.get())) == 0) {
        const char* name = nullptr;
        check(host, files->get_key(files.get(), &name));
        names.emplace_back(name);
    }
    if (status != WT_NOTFOUND) fail_status(host, status);
    make_directory(host, to);
    const auto tables = std::ranges::partition(
        names, [](const std::string& name) { return name.starts_with("WiredTigerLog."); });
    for (auto name = names.begin(); name != names.end(); ++name) {
        if (name == tables.begin()) may_commit();
        copy_file(host, from + "/" + *name, to + "/" + *name);
    }
    sync_path(host, to);
}

}  // namespace wt
