// storage/mmapv1/salvage/raw_files.h - the files of a database that may be damaged in any way:
// plain reads, no mapping, nothing believed.
//
// The room salvage/ reads what can be reached without opening the database (mmapv1 spec 8.1) and
// writes it down. It changes nothing in the dbpath. One thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "os/file_system.h"

namespace mmapv1 {

class RawFile {
  public:
    // `name` is relative to the dbpath. Throws os::IoError when it cannot be opened.
    RawFile(os::FileSystem& files, const std::string& dbpath, std::string name);

    const std::string& name() const { return name_; }
    int64_t length() const { return length_; }
    // The bytes from `offset` on, good until the next call. Null where the file does not reach so
    // far, or the device does not give them.
    const uint8_t* bytes(int64_t offset, int64_t n);
    template <typename T>
    bool load(int64_t offset, T* value) {
        const uint8_t* from = bytes(offset, sizeof(T));
        if (from != nullptr) std::memcpy(static_cast<void*>(value), from, sizeof(T));
        return from != nullptr;
    }
    // Pages of 4 KB that the device did not give.
    const std::set<int64_t>& unreadable_pages() const { return unreadable_; }

  private:
    bool fill(int64_t from, int64_t to);

    std::string name_;
    std::unique_ptr<os::File> file_;
    int64_t length_;
    std::vector<uint8_t> window_;
    int64_t window_at_ = 0;
    std::set<int64_t> unreadable_;
};

// A file or folder that is there and cannot be examined.
struct Refusal {
    std::string path;  // below the dbpath: of a file, or of the folder of a database
    std::string reason;
};

// The files in a dbpath of one database. Files that cannot be opened count as missing.
class RawFiles {
  public:
    RawFiles(os::FileSystem& files, const std::string& dbpath, const std::string& db,
             bool directory_per_db);

    RawFile* data(int number) const;  // null if there is none
    RawFile* namespaces() const { return namespaces_.get(); }
    const std::map<int, std::unique_ptr<RawFile>>& all_data() const { return data_; }
    // "test.3" or "test/test.3".
    std::string name_of(int number) const;
    std::string name_of_namespaces() const { return prefix_ + "ns"; }
    // Files that cannot be opened; the folder, if it cannot be read.
    const std::vector<Refusal>& refused() const { return refused_; }

  private:
    std::string prefix_;
    std::map<int, std::unique_ptr<RawFile>> data_;
    std::unique_ptr<RawFile> namespaces_;
    std::vector<Refusal> refused_;
};

// The names of databases that a dbpath shows. Everything is sorted.
struct DatabasesOnDisk {
    std::vector<std::string> with_namespaces;  // mmapv1 spec 1.1 rule 1
    std::vector<std::string> without;          // of these there are data files only
    std::vector<std::string> folders;          // with directoryperdb: which may be a database's
    std::vector<std::string> foreign;          // end in .ns, and are no name of a data file
    std::vector<Refusal> refused;              // folders that may be a database's, unread
};

// Lists the dbpath once and each of its folders once at most. Throws os::IoError when the dbpath
// cannot be listed.
DatabasesOnDisk databases_on_disk(os::FileSystem& files, const std::string& dbpath,
                                  bool directory_per_db);
// Names of the databases of which a data file or the namespace file is there, sorted. Folders that
// may hold one and cannot be read come to `refused`.
std::vector<std::string> databases_with_files(os::FileSystem& files, const std::string& dbpath,
                                              bool directory_per_db, std::vector<Refusal>& refused);

}  // namespace mmapv1
