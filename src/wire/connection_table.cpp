#include "wire/connection_table.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"

namespace wire {

int64_t ConnectionTable::admit() {
    if (open_.fetch_add(1) >= max_) {
        open_.fetch_sub(1);
        return 0;
    }
    return ever_.fetch_add(1) + 1;
}

void ConnectionTable::add(int64_t number, const std::shared_ptr<Entry>& connection) {
    const std::lock_guard guard(mutex_);
    const bool is_new = entries_.emplace(number, connection).second;
    DCHECK(is_new && number > 0);
    DCHECK(std::cmp_less_equal(entries_.size(), open_.load()));  // it was admitted
    if (ending_) connection->end_soon();
}

void ConnectionTable::remove(int64_t number) {
    std::shared_ptr<Entry> last;  // lets go outside the mutex
    const std::lock_guard guard(mutex_);
    const auto it = entries_.find(number);
    if (it == entries_.end()) return;
    last = std::move(it->second);
    entries_.erase(it);
    open_.fetch_sub(1);
    DCHECK(std::cmp_less_equal(entries_.size(), open_.load()));
    if (entries_.empty()) gone_.notify_all();
}

bool ConnectionTable::end_all(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    ending_ = true;
    for (const auto& [number, connection] : entries_)
        connection->end_soon();
    const auto end = std::chrono::steady_clock::now() + limit;
    const auto all_gone = [this] { return entries_.empty(); };
    for (;;) {
        const auto next = std::chrono::steady_clock::now() + kTakingTime;
        if (gone_.wait_until(lock, std::min(next, end), all_gone)) return true;
        if (next >= end) return false;
        for (const auto& [number, connection] : entries_)
            connection->evict_reply();
    }
}

void ConnectionTable::clear() {
    entries_.clear();
}

}  // namespace wire
