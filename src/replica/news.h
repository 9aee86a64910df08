// replica/news.h - wakes those who wait for a change of what clients and members see.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace replica {

// Any thread may call its methods.
class News {
  public:
    // How often there was any.
    int64_t count() const;
    void add() {
        change([] {});
    }
    // `make` is the change itself, for all who have seen it then find it in count().
    template <typename Make>
    void change(Make&& make) {
        const std::lock_guard guard(mutex_);
        make();
        ++count_;
        wake_all();
    }
    // Calls `wake` with the next one, while the result lives; it must be short, and call nothing
    // here. Null: there was some since `known`, the count that the caller has seen.
    std::shared_ptr<void> watch(int64_t known, std::function<void()> wake);

  private:
    using Wake = std::function<void()>;

    void wake_all();

    mutable std::mutex mutex_;
    // Guarded by it, all that follow.
    int64_t count_ = 0;
    std::vector<std::weak_ptr<Wake>> watchers_;
    size_t sweep_at_ = 0;  // the size at which those that are gone are taken out
};

}  // namespace replica
