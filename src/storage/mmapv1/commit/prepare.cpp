#include "storage/mmapv1/commit/prepare.h"

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
    for (const WriteIntent& intent : intents) {
        const auto write = [&](DurableFile& to, uint64_t offset, std::span<const uint8_t> part) {
            if (part.data() + part.size() < intent.end())
                base::log::info("journal info splitting prepBasicWrite at boundary");
            ops.basic_write(to.prefix(), to.number(), static_cast<uint32_t>(offset), part.data(),
                            static_cast<uint32_t>(part.size()));
            to.need_remap();
        };
        if (!files.each_part_locked({intent.start, intent.length}, file, write))
            base::fatal(0, "a declared write lies outside of all data files");
    }
}

}  // namespace mmapv1
