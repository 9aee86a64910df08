// storage/mmapv1/mapping/data_file_name.h - what a file of a database may be called (mmapv1 spec
// 1.1), whatever the name comes from: a client's database, an entry of the directory, a record of
// the journal.
//
//   test.ns  test.0  test.15999           or, with directoryperdb,    test/test.ns  test/test.0
//
// Whatever opens, creates, replaces or removes a data file asks here first, so that no name leads
// to another place than the database's own in the dbpath.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mmapv1 {

constexpr int32_t kDataFilesMax = 16000;
constexpr uint64_t kDataFileBytesMax = 0x7fffffff;

// The folder, below the dbpath, and below each database's folder with directoryperdb, of files on
// their way to their final name (mmapv1 spec 1.4) and runs of large index builds. Removed at each
// start.
inline constexpr std::string_view kScratchDirectory = "_tmp";
inline constexpr std::string_view kJournalDirectory = "journal";
// A dbpath that is a file system of its own keeps this for root: a server of another user must not
// even look into it.
inline constexpr std::string_view kFileSystemDirectory = "lost+found";
// The files beside them in the dbpath: whose it is, and which engine wrote it (a later server's
// note).
inline constexpr std::string_view kLockFile = "mongod.lock";
inline constexpr std::string_view kMetadataFile = "storage.bson";

struct DataFileName {
    std::string_view db;
    uint32_t number = 0;            // journal::kNsFile for the .ns file
    bool in_own_directory = false;  // "test/test.0"
};

// Whether there can be such a database. With directoryperdb its folder must not be one of the
// three folders above.
bool valid_database_name(std::string_view db, bool directory_per_db);

// A path relative to the dbpath; nothing if it is not the name of a data file.
std::optional<DataFileName> parse_data_file_name(std::string_view relative_path);
// Throws base::Error 73 instead.
DataFileName data_file_name(std::string_view relative_path);

}  // namespace mmapv1
