#include "storage/mmapv1/commit/apply.h"

#include <shared_mutex>

#include "base/damage.h"
#include "base/dcheck.h"

namespace mmapv1 {

uint64_t store_op(DurableFile& file, const journal::Op& op) {
    DCHECK(op.kind == journal::Op::Kind::basic_write);
    DCHECK(op.prefix == file.prefix() && op.file_number == file.number());
    const auto length = static_cast<uint64_t>(file.length());
    if (op.offset + op.bytes.size() > length)
        base::fail(base::Damaged{13622},
                   "the journal has a write of {} bytes at {} of {}, which ends at "
                   "{}: the file was cut, or replaced by another one. Put the right one back, or "
                   "restore the whole dbpath from a backup",
                   op.bytes.size(), op.offset, file.full_path(), length);
    file.store(op.offset, op.bytes);
    return op.bytes.size();
}

uint64_t store_section(std::span<const uint8_t> ops, FileSet& files) {
    const std::shared_lock lock(files.mutex());
    journal::OpReader reader(ops);
    journal::Op op;
    DurableFile* file = nullptr;
    uint64_t bytes = 0;
    while (reader.next(op)) {
        if (op.kind != journal::Op::Kind::basic_write) continue;
        if (file == nullptr || op.file_number != file->number() || op.prefix != file->prefix())
            file = files.find_locked(op.prefix, op.file_number);
        if (file == nullptr)
            base::fail(base::kOperationFailed, "journal error applying writes, file {} is not open",
                       journal::data_file_name(op.prefix, op.file_number));
        bytes += store_op(*file, op);
    }
    return bytes;
}

}  // namespace mmapv1
