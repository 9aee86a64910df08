#include "storage/fsync_lock.h"

#include <chrono>
#include <system_error>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/signal_stack.h"
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
            count_ = 1;
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

int64_t FsyncLock::lock() {
    std::unique_lock guard(mutex_);
    const sched::Operation* const request = sched::Operation::current();
    const auto interrupted = [request] { return request != nullptr && request->interrupted(); };
    constexpr std::chrono::milliseconds kBetweenLooks{50};
    // Another one may be under way, or its end.
    while (!changed_.wait_for(guard, kBetweenLooks, [this] {
        return ended_ || state_ == State::open || state_ == State::locked;
    }))
        if (interrupted()) request->check_interrupt();
    if (ended_) base::fail(base::kInterruptedAtShutdown, "the server is shutting down");
    if (state_ == State::locked) return ++count_;
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
    while (!changed_.wait_for(guard, kBetweenLooks,
                              [&] { return attempt_ != mine || state_ != State::locking; }))
        if (interrupted()) wait_.kill(wait_.id());
    if (attempt_ != mine) return 1;
    if (interrupted()) {
        if (state_ == State::locked) unlock_once(guard);
        request->check_interrupt();
    }
    if (!failure_.empty())
        base::fail(base::kOperationFailed, "fsync with lock failed: {}", failure_);
    return 1;
}

void FsyncLock::start_unlocking(std::unique_lock<std::mutex>& guard) {
    const uint64_t current = attempt_;
    state_ = State::unlocking;
    changed_.notify_all();
    changed_.wait(guard, [&] { return attempt_ != current || state_ == State::open; });
}

int64_t FsyncLock::unlock_once(std::unique_lock<std::mutex>& guard) {
    DCHECK(state_ == State::locked && count_ > 0);
    if (--count_ > 0) return count_;
    start_unlocking(guard);
    return 0;
}

std::optional<int64_t> FsyncLock::unlock() {
    std::unique_lock guard(mutex_);
    if (state_ != State::locked) return std::nullopt;
    return unlock_once(guard);
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
