// catalog/insert_waiters.h - the requests that wait for the next insert into a capped collection:
// cursors at its end (awaitData, the old tailable ones).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace catalog {

// Any thread may use it.
class InsertWaiters {
  public:
    // `callback` is called once, by wake(), on its thread; it must be cheap and not throw.
    // Destroying the result ends the wait.
    [[nodiscard]] std::shared_ptr<void> add(std::function<void()> callback);
    // Called after an insert, and before the collection goes.
    void wake() {
        if (has_any_.load(std::memory_order_acquire)) call_all();
    }
    // Returns the number of requests that wait, and of ended waits that add() has not removed yet.
    size_t size() const;

  private:
    void call_all();

    static constexpr size_t kFew = 32;
    std::atomic<bool> has_any_{false};
    mutable std::mutex mutex_;
    std::vector<std::weak_ptr<std::function<void()>>> waiters_;  // guarded by mutex_
    size_t swept_at_ = kFew;                                     // guarded by mutex_
};

}  // namespace catalog
