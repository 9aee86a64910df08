#include "storage/mmapv1/commit/prepare.h"

#include <algorithm>
#include <shared_mutex>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "storage/lock.h"

namespace mmapv1 {

void prepare_ops(const CommitJob& job, FileSet& files, std::vector<WriteIntent>& intents,
                 journal::OpBuffer& ops) {
    DCHECK(storage::LockManager::mode() != storage::GlobalMode::none);
    DCHECK(ops.empty());
    for (const CreatedFile& created : job.created)
        ops.file_created(created.path, static_cast<uint64_t>(created.length));
    intents.assign(job.intents.begin(), job.intents.end());
    merge_for_journal(intents);
    const std::shared_lock lock(files.mutex());
    DurableFile* file = nullptr;
    for (WriteIntent intent : intents) {
        while (intent.length > 0) {
            if (file == nullptr || intent.start < file->view() ||
                intent.start >= file->view() + file->length())
                file = files.find_locked(intent.start);
            if (file == nullptr) base::fatal(0, "a declared write lies outside of all data files");
            const auto offset = static_cast<uint64_t>(intent.start - file->view());
            const uint64_t room = static_cast<uint64_t>(file->length()) - offset;
            const auto length = static_cast<uint32_t>(std::min<uint64_t>(intent.length, room));
            if (length < intent.length)
                base::log::info("journal info splitting prepBasicWrite at boundary");
            ops.basic_write(file->prefix(), file->number(), static_cast<uint32_t>(offset),
                            intent.start, length);
            file->need_remap();
            intent.start += length;
            intent.length -= length;
        }
    }
}

}  // namespace mmapv1
