#include "storage/mmapv1/commit/journal_check.h"

#include "base/error.h"
#include "base/operation.h"
#include "journal/file_reader.h"
#include "journal/journal.h"
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
            if (op.length == 0 || op.length > kMaxDataFileBytes)
                return fmt::format("creates '{}' with {} bytes, which no data file has", op.path,
                                   op.length);
            return {};
        case journal::Op::Kind::drop_db:
            if (valid_database_name(op.path, false)) return {};
            return fmt::format("drops '{}', which is not the name of a database", quoted(op.path));
    }
    return {};
}

// Also of a stream that does not decode.
std::string fault_of(const std::vector<uint8_t>& operations) {
    try {
        journal::Op op, before;
        bool first = true;
        for (journal::OpReader ops(operations); ops.next(op); before = op, first = false) {
            // Most writes go where the one before them went.
            if (!first && op.kind == journal::Op::Kind::basic_write && op.kind == before.kind &&
                op.prefix == before.prefix && op.file_number == before.file_number)
                continue;
            std::string fault = fault_of(op);
            if (!fault.empty()) return fault;
        }
        return {};
    } catch (const base::Error& error) {
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
    const auto found = journal::find_journal_files(files, directory);
    for (const auto& file : found) {
        journal::FileReader reader(files, file.path, &file == &found.back());
        for (journal::FileReader::Section section; reader.next(section);) {
            base::Operation::check();
            const std::string fault = fault_of(section.ops);
            if (!fault.empty())
                base::fail(
                    kMalformed,
                    "journal file {}: the section at offset {} {}. No server writes this, so "
                    "nothing was applied or changed: restore the whole dbpath from a backup",
                    file.path, section.offset, fault);
        }
    }
}

}  // namespace mmapv1
