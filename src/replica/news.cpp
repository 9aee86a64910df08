#include "replica/news.h"

#include <utility>

#include "base/dcheck.h"

namespace replica {

int64_t News::count() const {
    const std::lock_guard guard(mutex_);
    return count_;
}

void News::wake_all() {
    for (const std::weak_ptr<Wake>& each : std::exchange(watchers_, {}))
        if (const std::shared_ptr<Wake> wake = each.lock()) (*wake)();
}

std::shared_ptr<void> News::watch(int64_t known, std::function<void()> wake) {
    DCHECK(wake != nullptr);
    constexpr size_t kFew = 16;
    const std::lock_guard guard(mutex_);
    if (known != count_) return nullptr;
    if (watchers_.size() >= sweep_at_) {
        std::erase_if(watchers_, [](const auto& each) { return each.expired(); });
        sweep_at_ = 2 * watchers_.size() + kFew;
    }
    auto watcher = std::make_shared<Wake>(std::move(wake));
    watchers_.push_back(watcher);
    return watcher;
}

}  // namespace replica
