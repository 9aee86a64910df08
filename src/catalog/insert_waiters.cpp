#include "catalog/insert_waiters.h"

#include <algorithm>
#include <utility>

namespace catalog {

std::shared_ptr<void> InsertWaiters::add(std::function<void()> callback) {
    auto notice = std::make_shared<std::function<void()>>(std::move(callback));
    const std::lock_guard guard(mutex_);
    if (waiters_.size() >= swept_at_) {
        std::erase_if(waiters_, [](const auto& waiter) { return waiter.expired(); });
        swept_at_ = std::max(kFew, 2 * waiters_.size());
    }
    waiters_.push_back(notice);
    has_any_.store(true, std::memory_order_release);
    return notice;
}

size_t InsertWaiters::size() const {
    const std::lock_guard guard(mutex_);
    return waiters_.size();
}

void InsertWaiters::call_all() {
    std::vector<std::weak_ptr<std::function<void()>>> waiters;
    {
        const std::lock_guard guard(mutex_);
        waiters.swap(waiters_);
        has_any_.store(false, std::memory_order_release);
    }
    for (const auto& waiter : waiters)
        if (const auto notice = waiter.lock()) (*notice)();
}

}  // namespace catalog
