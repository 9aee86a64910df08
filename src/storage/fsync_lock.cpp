#include "storage/fsync_lock.h"

#include <chrono>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "base/signal_stack.h"
#include "sched/blocking.h"
#include "sched/operation.h"
#include "storage/lock.h"

namespace storage {

void FsyncLock::hold() try {
    const base::SignalStack signal_stack;
    base::log::set_context("fsyncLockWorker");
    Durability& durability = engine_.durability();
    {
        const sched::Operation::Scope ends_with_its_request(&wait_);
        durability.lock_commits();
    }
    {
        std::optional<GlobalLock> global;
        std::string failure;
        try {
            {
                const sched::Operation::Scope ends_with_its_request(&wait_);
                global.emplace(engine_.locks(), GlobalMode::W);
            }
            durability.sync_and_truncate_journal();
            engine_.locks().downgrade_W_to_R();
            durability.flush_all(true);
        } catch (const std::exception& e) {
            failure = e.what();
        }
        std::unique_lock guard(mutex_);
        failure_ = failure;
        if (failure.empty()) {
            state_ = State::locked;
            changed_.notify_all();
            changed_.wait(guard, [this] { return state_ == State::unlocking; });
        }
    }
    durability.unlock_commits();
    const std::lock_guard guard(mutex_);
    state_ = State::open;
    changed_.notify_all();
} catch (const std::exception& e) {
    // Before anything was locked: for want of memory, or because the request ends.
    const std::lock_guard guard(mutex_);
    failure_ = e.what();
    state_ = State::open;
    changed_.notify_all();
}

bool FsyncLock::locked() const {
    const std::lock_guard guard(mutex_);
    return state_ == State::locked;
}

bool FsyncLock::busy() const {
    const std::lock_guard guard(mutex_);
    return state_ != State::open;
}

void FsyncLock::lock() {
    const sched::BlockingSection away;
    std::unique_lock guard(mutex_);
    if (ended_) base::fail(base::kInterruptedAtShutdown, "the server is shutting down");
    if (state_ != State::open) base::fail(base::kIllegalOperation, "already locked");
    if (thread_.joinable()) thread_.join();  // it has nothing left to do but to end
    wait_.start();
    try {
        thread_ = std::thread([this] { hold(); });
    } catch (const std::system_error& e) {
        base::fail(base::kOperationFailed, "fsync with lock failed: {}", e.what());
    }
    state_ = State::locking;
    failure_.clear();
    const uint64_t mine = ++attempt_;
    const sched::Operation* const request = sched::Operation::current();
    const auto interrupted = [request] { return request != nullptr && request->interrupted(); };
    constexpr std::chrono::milliseconds kBetweenLooks{50};
    while (!changed_.wait_for(guard, kBetweenLooks,
                              [&] { return attempt_ != mine || state_ != State::locking; }))
        if (interrupted()) wait_.kill(wait_.id());
    if (attempt_ != mine) return;
    if (interrupted()) {
        if (state_ == State::locked) start_unlocking(guard);
        request->check_interrupt();
    }
    if (!failure_.empty())
        base::fail(base::kOperationFailed, "fsync with lock failed: {}", failure_);
}

void FsyncLock::start_unlocking(std::unique_lock<std::mutex>& guard) {
    const uint64_t current = attempt_;
    state_ = State::unlocking;
    changed_.notify_all();
    changed_.wait(guard, [&] { return attempt_ != current || state_ == State::open; });
}

bool FsyncLock::unlock() {
    const sched::BlockingSection away;
    std::unique_lock guard(mutex_);
    if (state_ != State::locked) return false;
    start_unlocking(guard);
    return true;
}

void FsyncLock::end() {
    std::unique_lock guard(mutex_);
    ended_ = true;
    changed_.wait(guard, [this] { return state_ == State::open || state_ == State::locked; });
    if (state_ == State::locked) start_unlocking(guard);
    std::thread last = std::move(thread_);
    guard.unlock();
    if (last.joinable()) last.join();
}

}  // namespace storage
