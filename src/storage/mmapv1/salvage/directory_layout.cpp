#include "storage/mmapv1/salvage/directory_layout.h"

#include "base/error.h"
#include "storage/mmapv1/salvage/raw_files.h"

namespace mmapv1 {

namespace {

constexpr std::string_view kLocal = "local";

std::string_view with_or_without(bool directory_per_db) {
    return directory_per_db ? "with" : "without";
}

std::string namespace_file(const std::string& db, bool directory_per_db) {
    return directory_per_db ? fmt::format("{0}/{0}.ns", db) : db + ".ns";
}

std::vector<std::string> namespaces(const DatabasesOnDisk& databases, bool directory_per_db) {
    std::vector<std::string> found;
    for (const std::string& db : databases.with_namespaces)
        if (db != kLocal) found.push_back(namespace_file(db, directory_per_db));
    return found;
}

[[noreturn]] void refuse(os::FileSystem& files, const std::string& dbpath, bool directory_per_db,
                         const std::vector<std::string>& others) {
    const std::vector<std::string> own =
        namespaces(databases_on_disk(files, dbpath, directory_per_db), directory_per_db);
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

}  // namespace

std::vector<std::string> check_directory_layout(os::FileSystem& files, const std::string& dbpath,
                                                bool directory_per_db) {
    const bool other = !directory_per_db;
    const DatabasesOnDisk found = databases_on_disk(files, dbpath, other);
    if (const std::vector<std::string> others = namespaces(found, other); !others.empty())
        refuse(files, dbpath, directory_per_db, others);
    std::vector<std::string> sentences;
    for (const std::string& db : found.with_namespaces)
        sentences.push_back(fmt::format(
            "{} was made {} --directoryperdb: nothing of what is in that database is shown",
            os::join(dbpath, namespace_file(db, other)), with_or_without(other)));
    for (const std::string& db : found.without)
        sentences.push_back(
            fmt::format("{} has data files of a database {} that was made {} --directoryperdb, and "
                        "no namespace file {}: they are left alone",
                        dbpath, db, with_or_without(other), namespace_file(db, other)));
    for (const Refusal& each : found.refused)
        sentences.push_back(fmt::format(
            "{}; if {} is the folder of a database that was made with --directoryperdb, it is not "
            "shown",
            each.reason, each.path));
    return sentences;
}

}  // namespace mmapv1
