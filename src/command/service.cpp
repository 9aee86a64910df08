#include "command/service.h"

#include <condition_variable>
#include <thread>

#include "base/blocking.h"
#include "base/error.h"
#include "base/log.h"
#include "base/signal_stack.h"
#include "command/session.h"
#include "storage/lock.h"

namespace command {

namespace {

constexpr std::chrono::minutes kCursorTimeout{10};

}  // namespace

// The thread that holds the global lock while the server is locked against writes: locks belong to
// threads, and no connection has one of its own.
struct Service::FsyncLock {
    std::mutex mutex;
    std::condition_variable changed;
    bool locked = false;
    bool release = false;
    std::string failure;
    std::thread thread;
};

Service::Service(catalog::Catalog& catalog, ServerContext& context)
    : catalog_(catalog), context_(context), profiler_(catalog) {}

Service::~Service() {
    fsync_unlock();
}

std::unique_ptr<wire::Session> Service::open(const wire::ConnectionInfo& info, wire::Waker& waker) {
    return std::make_unique<ClientSession>(*this, info, waker);
}

void Service::fsync_lock() {
    if (fsync_locked_.exchange(true)) base::fail(base::kIllegalOperation, "already locked");
    base::BlockingSection away;
    fsync_lock_ = std::make_unique<FsyncLock>();
    FsyncLock& lock = *fsync_lock_;
    lock.thread = std::thread([this, &lock] {
        const base::SignalStack signal_stack;
        base::log::set_context("fsyncLockWorker");
        durability().lock_commits();
        {
            const storage::GlobalLock global(locks(), storage::GlobalMode::W);
            try {
                durability().sync_and_truncate_journal();
                locks().downgrade_W_to_R();
                durability().flush_all(true);
            } catch (const base::Error& e) {
                lock.failure = e.what();
            }
            std::unique_lock guard(lock.mutex);
            lock.locked = true;
            lock.changed.notify_all();
            lock.changed.wait(guard, [&lock] { return lock.release || !lock.failure.empty(); });
        }
        durability().unlock_commits();
    });
    std::unique_lock guard(lock.mutex);
    lock.changed.wait(guard, [&lock] { return lock.locked; });
    if (lock.failure.empty()) return;
    guard.unlock();
    lock.thread.join();
    const std::string failure = lock.failure;
    fsync_lock_ = nullptr;
    fsync_locked_ = false;
    base::fail(base::kOperationFailed, "fsync with lock failed: {}", failure);
}

bool Service::fsync_unlock() {
    if (!fsync_locked_.load() || fsync_lock_ == nullptr) return false;
    {
        const std::lock_guard guard(fsync_lock_->mutex);
        fsync_lock_->release = true;
        fsync_lock_->changed.notify_all();
    }
    fsync_lock_->thread.join();
    fsync_lock_ = nullptr;
    fsync_locked_ = false;
    return true;
}

void Service::expire_cursors() {
    const size_t count = cursors_.expire(kCursorTimeout);
    if (count > 0) base::log::info("killed {} idle cursors", count);
}

}  // namespace command
