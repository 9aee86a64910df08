#include "storage/mmapv1/commit/recovery.h"

#include "base/damage.h"
#include "base/dcheck.h"
#include "base/log.h"
#include "journal/file_reader.h"
#include "sched/operation.h"
#include "storage/mmapv1/commit/apply.h"

namespace mmapv1 {

namespace {

constexpr size_t kDumpedBytes = 32;

}  // namespace

void Recovery::run() {
    DCHECK(files_.snapshot().empty());
    found_ = journal::find_journal_files(os_files_, journal_.directory());
    if (found_.empty()) {
        base::log::info("recover : no journal files present, no recovery needed");
        journal_.allow_removal();
        return;
    }
    base::log::info("recover begin");
    base::log::info("recover lsn: {}", journal::read_lsn(os_files_, journal_.directory()));
    for (const auto& file : found_)
        replay_file(file.path, &file == &found_.back());
    flush_and_close();
    if (options_.scan_only)
        base::fail(13545,
                   "--durOptions {} specified (scan only): the journal was read and nothing "
                   "was applied",
                   2);
    base::log::info("recover cleaning up");
    DCHECK(files_.snapshot().empty());  // each of them was flushed when it was closed
    journal_.allow_removal();
    journal_.remove_files();
    base::log::info("recover done");
}

void Recovery::replay_file(const std::string& path, bool is_last) {
    base::log::info("recover {}", path);
    journal::FileReader reader(os_files_, path, is_last);
    if (options_.dump) base::log::info("recover file id {:x}", reader.file_id());
    journal::FileReader::Section section;
    int64_t sections = 0;
    for (; reader.next(section); ++sections) {
        sched::Operation::check();
        if (options_.dump) base::log::info("BEGIN section seq:{}", section.header.sequence);
        // All of it is examined before any of it is applied.
        journal::Op op;
        for (journal::OpReader ops(section.ops); ops.next(op);) {
            if (options_.dump) log_op(op);
        }
        if (options_.dump) base::log::info("END section");
        if (options_.scan_only) continue;
        sync_journal();
        for (journal::OpReader ops(section.ops); ops.next(op);)
            apply(op);
    }
    base::log::info("recover {}: {} sections, up to offset {}", path, sections, reader.offset());
    if (reader.end_reason().empty()) return;
    base::log::info("recover {} ends at offset {}: {}", path, reader.offset(), reader.end_reason());
    if (options_.dump) base::log::info("ABRUPT END {}", reader.end_reason());
}

void Recovery::sync_journal() {
    if (journal_synced_) return;
    write_last_section_again();
    for (const journal::FoundFile& file : found_)
        os_files_.open(file.path, {.access = os::Access::read_write})->sync();
    os_files_.sync_directory(journal_.directory());
    journal_synced_ = true;
}

void Recovery::write_last_section_again() {
    DCHECK(!found_.empty());
    const std::string& path = found_.back().path;
    uint64_t begin = 0;
    uint64_t end = 0;
    {
        journal::FileReader reader(os_files_, path, true);
        journal::FileReader::Section section;
        while (reader.next(section)) {
            sched::Operation::check();
            begin = section.offset;
            end = reader.offset();
        }
    }
    DCHECK(begin <= end);
    std::vector<uint8_t> bytes(end - begin);
    if (bytes.empty()) return;
    const auto file = os_files_.open(path, {.access = os::Access::read_write});
    file->read_at(begin, bytes);
    file->write_at(begin, bytes);
}

void Recovery::apply(const journal::Op& op) {
    DCHECK(journal_synced_ && !options_.scan_only);
    switch (op.kind) {
        case journal::Op::Kind::basic_write:
            return apply_write(op);
        case journal::Op::Kind::file_created:
            return apply_file_created(op);
        case journal::Op::Kind::drop_db:
            return apply_drop(op);
    }
}

void Recovery::apply_write(const journal::Op& op) {
    if (last_file_ == nullptr || last_file_->number() != op.file_number ||
        last_file_->prefix() != op.prefix) {
        const std::string name = journal::data_file_name(op.prefix, op.file_number);
        if (!os_files_.exists(files_.full_path(name)))
            base::fail(base::Damaged{15923},
                       "recovery needs the data file {}, which does not exist. Put it back, or "
                       "restore the whole dbpath from a backup",
                       files_.full_path(name));
        last_file_ = &files_.open(name, false);
    }
    counters_.record(journal::Metric::data_file_bytes, store_op(*last_file_, op));
}

// What the journal says about the file begins here, so whatever is there now is replaced.
void Recovery::apply_file_created(const journal::Op& op) {
    const std::string name(op.path);
    data_file_name(name);
    flush_and_close();
    base::log::info("recover create file {} {}MB", name, op.length >> 20);
    files_.remove_on_disk(name);
    try {
        files_.create_on_disk(name, static_cast<int64_t>(op.length));
    } catch (const os::IoError& e) {
        base::fail(13547, "recover couldn't create file {}: {}", name, e.what());
    }
}

void Recovery::apply_drop(const journal::Op& op) {
    const std::string name(op.path);
    if (!valid_database_name(name, options_.directory_per_db))
        base::fail(13546, "journal: '{}' is not the name of a database", name);
    base::log::info("recover replay drop db {}", name);
    flush_and_close();
    const std::string directory =
        options_.directory_per_db ? files_.full_path(name) : os::parent(files_.full_path(name));
    if (!os_files_.exists(directory)) return;
    for (const std::string& entry : os_files_.list(directory)) {
        if (!entry.starts_with(name + ".")) continue;
        const std::string suffix = entry.substr(name.size() + 1);
        if (suffix == "ns" || suffix.find_first_not_of("0123456789") == std::string::npos)
            os_files_.remove(os::join(directory, entry));
    }
    os_files_.sync_directory(directory);
    if (!options_.directory_per_db) return;
    os_files_.remove_all(directory);
    os_files_.sync_directory(os::parent(directory));
}

void Recovery::flush_and_close() {
    last_file_ = nullptr;
    for (const auto& file : files_.snapshot())
        file->flush(true);
    files_.close_all();
}

void Recovery::log_op(const journal::Op& op) const {
    switch (op.kind) {
        case journal::Op::Kind::basic_write: {
            std::string hex;
            for (const uint8_t byte : op.bytes.first(std::min(op.bytes.size(), kDumpedBytes)))
                hex += fmt::format("{:02x} ", byte);
            base::log::info("BASICWRITE {:>20} {:>7} {}",
                            journal::data_file_name(op.prefix, op.file_number), op.bytes.size(),
                            hex);
            return;
        }
        case journal::Op::Kind::file_created:
            base::log::info("OP FileCreatedOp {} {}MB", op.path, op.length >> 20);
            return;
        case journal::Op::Kind::drop_db:
            base::log::info("OP DropDbOp {}", op.path);
            return;
    }
}

}  // namespace mmapv1
