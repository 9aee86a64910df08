#include "command/fsync_lock.h"

#include "base/blocking.h"
#include "base/error.h"
#include "base/log.h"
#include "base/signal_stack.h"
#include "storage/lock.h"

namespace command {

void FsyncLock::hold(Holder& holder) {
    const base::SignalStack signal_stack;
    base::log::set_context("fsyncLockWorker");
    storage::Durability& durability = engine_.durability();
    durability.lock_commits();
    {
        const storage::GlobalLock global(engine_.locks(), storage::GlobalMode::W);
        try {
            durability.sync_and_truncate_journal();
            engine_.locks().downgrade_W_to_R();
            durability.flush_all(true);
        } catch (const base::Error& e) {
            holder.failure = e.what();
        }
        std::unique_lock guard(holder.mutex);
        holder.locked = true;
        holder.changed.notify_all();
        holder.changed.wait(guard, [&holder] { return holder.release || !holder.failure.empty(); });
    }
    durability.unlock_commits();
}

void FsyncLock::lock() {
    if (locked_.exchange(true)) base::fail(base::kIllegalOperation, "already locked");
    base::BlockingSection away;
    holder_ = std::make_unique<Holder>();
    Holder& holder = *holder_;
    holder.thread = std::thread([this, &holder] { hold(holder); });
    std::unique_lock guard(holder.mutex);
    holder.changed.wait(guard, [&holder] { return holder.locked; });
    if (holder.failure.empty()) return;
    guard.unlock();
    holder.thread.join();
    const std::string failure = holder.failure;
    holder_ = nullptr;
    locked_ = false;
    base::fail(base::kOperationFailed, "fsync with lock failed: {}", failure);
}

bool FsyncLock::unlock() {
    if (!locked_.load() || holder_ == nullptr) return false;
    {
        const std::lock_guard guard(holder_->mutex);
        holder_->release = true;
        holder_->changed.notify_all();
    }
    holder_->thread.join();
    holder_ = nullptr;
    locked_ = false;
    return true;
}

}  // namespace command
