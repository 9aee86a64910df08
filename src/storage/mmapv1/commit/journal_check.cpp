#include "storage/mmapv1/commit/journal_check.h"

#include <map>

#include "base/damage.h"
#include "base/dcheck.h"
#include "journal/file_reader.h"
#include "journal/journal.h"
#include "sched/operation.h"
#include "storage/mmapv1/mapping/data_file_name.h"

namespace mmapv1 {

namespace {

constexpr int kMalformed = 13546;
constexpr size_t kQuotedBytesMax = 140;

// What is wrong with an operation; empty if nothing is.
std::string fault_of(const journal::Op& op) {
    const auto quoted = [](std::string_view text) { return text.substr(0, kQuotedBytesMax); };
    switch (op.kind) {
        case journal::Op::Kind::basic_write: {
            const std::string name = journal::data_file_name(op.prefix, op.file_number);
            if (parse_data_file_name(name)) return {};
            return fmt::format("writes to '{}', which is not the name of a data file",
                               quoted(name));
        }
        case journal::Op::Kind::file_created:
            if (!parse_data_file_name(op.path))
                return fmt::format("creates '{}', which is not the name of a data file",
                                   quoted(op.path));
            if (op.length == 0 || op.length > kDataFileBytesMax)
                return fmt::format("creates '{}' with {} bytes, which no data file has", op.path,
                                   op.length);
            return {};
        case journal::Op::Kind::drop_db:
            if (valid_database_name(op.path, false)) return {};
            return fmt::format("drops '{}', which is not the name of a database", quoted(op.path));
    }
    return {};
}

// The files that the replay of a journal makes. Each was made before the journal said so, so most
// are there. A crafted one can name more of them than a disk holds in few bytes, or make and drop
// one for days.
class FilesMade {
  public:
    FilesMade(os::FileSystem& files, std::string dbpath)
        : files_(files), dbpath_(std::move(dbpath)) {}

    // What is wrong with making or dropping one more; empty if nothing is. Throws base::Error where
    // they do not fit the disk.
    std::string note(const journal::Op& op) {
        if (op.kind == journal::Op::Kind::basic_write) return {};
        if (++changes_ > kChangesMax)
            return fmt::format("is the one by which more than {} files are made or dropped",
                               kChangesMax);
        const std::string path(op.path);
        if (op.kind == journal::Op::Kind::drop_db) {
            forget(path + '.');
            forget(path + '/' + path + '.');
        } else {
            make(path, op.length);
        }
        return {};
    }

  private:
    static constexpr int kChangesMax = 2 * kDataFilesMax;

    void make(const std::string& path, uint64_t length) {
        const std::string there = os::join(dbpath_, path);
        if (files_.is_link(there)) return;  // which is refused when it is made
        const uint64_t before = files_.exists(there) ? files_.file_length(there) : 0;
        const uint64_t more = length > before ? length - before : 0;
        CreatedFile& file = created_[path];
        // An operator may have mounted another disk there.
        if (file.folder.empty())
            file.folder = files_.exists(os::parent(there)) ? os::parent(there) : dbpath_;
        uint64_t& wanted = wanted_[file.folder];
        DCHECK(wanted >= file.bytes);
        wanted += more - file.bytes;
        file.bytes = more;
        if (const uint64_t room = files_.free_bytes(file.folder); wanted > room)
            base::fail(base::kOutOfDiskSpace,
                       "the journal makes files of {} MB that are not in {}, and the disk has "
                       "{} MB left; nothing was applied or changed: make room, or restore the "
                       "whole dbpath from a backup",
                       wanted >> 20, file.folder, room >> 20);
    }
    void forget(const std::string& prefix) {
        for (auto at = created_.lower_bound(prefix);
             at != created_.end() && at->first.starts_with(prefix); at = created_.erase(at)) {
            DCHECK(wanted_[at->second.folder] >= at->second.bytes);
            wanted_[at->second.folder] -= at->second.bytes;
        }
    }

    os::FileSystem& files_;
    std::string dbpath_;
    int changes_ = 0;
    struct CreatedFile {
        std::string folder;
        uint64_t bytes = 0;  // more than are there
    };
    std::map<std::string, CreatedFile> created_;  // by path
    std::map<std::string, uint64_t> wanted_;      // the sums of their bytes, by folder
};

// Also of a stream that does not decode.
std::string fault_of(const std::vector<uint8_t>& operations, FilesMade& made) {
    try {
        journal::Op op, before;
        bool first = true;
        for (journal::OpReader ops(operations); ops.next(op); before = op, first = false) {
            // Most writes go where the one before them went.
            if (!first && op.kind == journal::Op::Kind::basic_write && op.kind == before.kind &&
                op.prefix == before.prefix && op.file_number == before.file_number)
                continue;
            std::string fault = fault_of(op);
            if (fault.empty()) fault = made.note(op);
            if (!fault.empty()) return fault;
        }
        return {};
    } catch (const base::Error& error) {
        if (error.code() == base::kOutOfDiskSpace) throw;
        return fmt::format("cannot be read: {}", error.what());
    }
}

}  // namespace

void check_journal(os::FileSystem& files, const std::string& directory) {
    if (!files.exists(directory)) return;
    for (const std::string& name : files.list(directory)) {
        const std::string path = os::join(directory, name);
        if (files.is_link(path))
            base::fail(kMalformed,
                       "{} is a symbolic link, and links in a dbpath are not followed: remove it",
                       path);
        // It is written before this server ends.
        if (name == "lsn") files.open(path, {.access = os::Access::read_write});
    }
    FilesMade made(files, os::parent(directory));
    const auto found = journal::find_journal_files(files, directory);
    for (const auto& file : found) {
        journal::FileReader reader(files, file.path, &file == &found.back());
        for (journal::FileReader::Section section; reader.next(section);) {
            sched::Operation::check();
            const std::string fault = fault_of(section.ops, made);
            if (!fault.empty())
                base::fail(
                    base::Damaged{kMalformed},
                    "journal file {}: the section at offset {} {}. No server writes this, so "
                    "nothing was applied or changed: restore the whole dbpath from a backup",
                    file.path, section.offset, fault);
        }
    }
}

}  // namespace mmapv1
