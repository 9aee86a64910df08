#include "command/context/waits.h"

#include <utility>

#include "base/dcheck.h"
#include "base/milliseconds.h"
#include "catalog/collection.h"
#include "catalog/names.h"
#include "storage/lock.h"

namespace command {

void WakeOnce::wake() {
    const std::lock_guard guard(mutex_);
    if (waker_ != nullptr) waker_->wake();
    waker_ = nullptr;
}

void WakeOnce::disarm() {
    const std::lock_guard guard(mutex_);
    waker_ = nullptr;
}

CommitWait::CommitWait(wire::Waker& waker)
    : waker_(waker), waiter_(std::make_shared<WakingWaiter>()) {}

CommitWait::~CommitWait() {
    disarm();
}

void CommitWait::disarm() {
    if (wake_ != nullptr) wake_->disarm();
    wake_ = nullptr;
}

bool CommitWait::start(storage::Durability& durability) {
    DCHECK(waiter_->self == nullptr);
    wake_ = std::make_shared<WakeOnce>(waker_);
    waiter_->committed.store(false, std::memory_order_relaxed);
    waiter_->wake = wake_;
    waiter_->self = waiter_;
    waiter_->done = [](storage::CommitWaiter* base) {
        auto* waiter = static_cast<WakingWaiter*>(base);
        const std::shared_ptr<WakingWaiter> self = std::move(waiter->self);
        const std::shared_ptr<WakeOnce> wake = std::move(waiter->wake);
        waiter->committed.store(true, std::memory_order_release);
        wake->wake();
    };
    started_ = Clock::now();
    if (!durability.await_commit(waiter_.get())) return true;
    waiter_->self = nullptr;
    waiter_->wake = nullptr;
    wake_ = nullptr;
    return false;
}

void CommitWait::finish(bson::Buffer& reply) {
    DCHECK(done());
    disarm();
    const auto took = static_cast<int32_t>(base::ms_since(started_));
    for (const size_t offset : fields_) {
        DCHECK(offset + sizeof took <= reply.size());
        reply.store<int32_t>(offset, took);
    }
}

void DataWait::disarm() {
    notice_ = watch_ = nullptr;
    if (wake_ != nullptr) wake_->disarm();
    wake_ = nullptr;
}

void DataWait::reset() {
    disarm();
    retry_ = false;
    deadline_ = {};
}

void DataWait::retry() {
    disarm();
    retry_ = true;
}

void DataWait::wake_on_insert(catalog::Collection& collection) {
    DCHECK(storage::LockManager::may_read(catalog::split(collection.ns()).db));
    notice_ = collection.waiters().add(begin());
}

std::function<void()> DataWait::begin() {
    disarm();
    wake_ = std::make_shared<WakeOnce>(waker_);
    return [wake = wake_] { wake->wake(); };
}

}  // namespace command
