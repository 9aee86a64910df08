// command/request/database_opener.h - what opening a database takes beside its files: what an
// earlier run left in it is removed or completed.
#pragma once

#include <string_view>

#include "catalog/catalog.h"
#include "command/request/server_context.h"
#include "storage/fsync_lock.h"

namespace command {

class DatabaseOpener {
  public:
    DatabaseOpener(catalog::Catalog& catalog, const storage::FsyncLock& fsync_lock,
                   const ServerContext& context)
        : catalog_(catalog), fsync_lock_(fsync_lock), context_(context) {}

    // global W. Does the rest of opening a database for the first time. Throws base::Error where it
    // is damaged.
    void finish_opening(catalog::Database& database);
    // No lock. Called before a database is used: if it could not be opened for a reason that may
    // have passed, that is tried again.
    void open_again(std::string_view db);

  private:
    catalog::Catalog& catalog_;
    const storage::FsyncLock& fsync_lock_;
    const ServerContext& context_;
};

}  // namespace command
