#include "storage/mmapv1/commit/journaled_views.h"

#include "base/dcheck.h"
#include "storage/lock.h"

namespace mmapv1 {

bool JournaledViews::exists(const std::string& relative_path) const {
    return os_files_.exists(files_.full_path(relative_path));
}

int64_t JournaledViews::unused_bytes(const std::string& relative_path) const {
    const auto file = os_files_.open(files_.full_path(relative_path), {});
    uint64_t head = 0;
    file->read_at(0, {reinterpret_cast<uint8_t*>(&head), sizeof head});
    return head == 0 ? static_cast<int64_t>(file->length()) : 0;
}

void JournaledViews::remove(const std::string& relative_path) {
    files_.remove_on_disk(relative_path);
}

MappedFile& JournaledViews::open(const std::string& relative_path) {
    return files_.open(relative_path, journal_);
}

MappedFile& JournaledViews::adopt(const std::string& relative_path) {
    const std::string path = files_.full_path(relative_path);
    os_files_.open(path, {.access = os::Access::read_write})->sync();
    os_files_.sync_directory(os::parent(path));
    return open(relative_path);
}

MappedFile& JournaledViews::create(const std::string& relative_path, int64_t length) {
    DCHECK(length > 0 && static_cast<uint64_t>(length) <= kDataFileBytesMax);
    files_.create_on_disk(relative_path, length);
    return files_.open(relative_path, journal_);
}

void JournaledViews::note_created(const MappedFile& file) {
    if (journal_) collector_.note_created(file.path(), file.length());
}

inline void JournaledViews::note(void* p, uint32_t bytes) {
    journal_ ? collector_.declare(p, bytes) : collector_.copy_for_undo(p, bytes);
}

void JournaledViews::declare(void* p, size_t bytes) {
    DCHECK(storage::LockManager::may_write());
    DCHECK(bytes <= UINT32_MAX);
    if (wanted_.load(std::memory_order_relaxed) != 0) note(p, static_cast<uint32_t>(bytes));
}

void JournaledViews::declare_for_good(void* p, size_t bytes) {
    DCHECK(storage::LockManager::may_write());
    if (journal_) collector_.declare_for_good(p, static_cast<uint32_t>(bytes));
}

void JournaledViews::close(MappedFile& file) {
    durability_.commit_now();  // also waits for a commit that is still copying into this file
    const std::string path = file.path();
    // Later flushes no longer see the file, and they are what lets journal files go.
    static_cast<DurableFile&>(file).flush(true);
    files_.close(path);
}

}  // namespace mmapv1
