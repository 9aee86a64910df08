#include "storage/mmapv1/salvage/directory_layout.h"

#include "base/error.h"
#include "storage/mmapv1/salvage/raw_files.h"

namespace mmapv1 {

namespace {

constexpr std::string_view kLocal = "local";

std::string namespace_file(const std::string& db, bool directory_per_db) {
    return directory_per_db ? fmt::format("{0}/{0}.ns", db) : db + ".ns";
}

}  // namespace

std::vector<std::string> namespaces_of_other_layout(os::FileSystem& files,
                                                    const std::string& dbpath,
                                                    bool directory_per_db) {
    std::vector<std::string> found;
    for (const std::string& db :
         databases_on_disk(files, dbpath, !directory_per_db).with_namespaces)
        if (db != kLocal) found.push_back(namespace_file(db, !directory_per_db));
    return found;
}

void check_directory_layout(os::FileSystem& files, const std::string& dbpath,
                            bool directory_per_db) {
    const std::vector<std::string> others =
        namespaces_of_other_layout(files, dbpath, directory_per_db);
    if (others.empty()) return;
    std::vector<std::string> own;
    for (const std::string& db : databases_on_disk(files, dbpath, directory_per_db).with_namespaces)
        if (db != kLocal) own.push_back(namespace_file(db, directory_per_db));
    if (!own.empty())
        base::fail(
            base::kInvalidOptions,
            "{} has databases that were made with --directoryperdb and others that were made "
            "without it ({} and {}), and a server shows only the ones or the others: move "
            "one kind into a dbpath of its own",
            dbpath, own.front(), others.front());
    if (directory_per_db)
        base::fail(base::kInvalidOptions,
                   "{} was made without --directoryperdb, it has {}: leave that option "
                   "(storage.directoryPerDB) out",
                   dbpath, others.front());
    base::fail(base::kInvalidOptions,
               "{} was made with --directoryperdb, it has {}: give that option "
               "(storage.directoryPerDB: true)",
               dbpath, others.front());
}

}  // namespace mmapv1
