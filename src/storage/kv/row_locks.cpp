#include "storage/kv/row_locks.h"

#include <utility>

#include "base/dcheck.h"
#include "base/spin.h"
#include "sched/operation.h"
#include "sched/tick.h"
#include "storage/kv/bytes.h"
#include "storage/waiting.h"

namespace kv {

namespace {

std::string row_of(Table table, Bytes key) {
    const auto number = big_endian(static_cast<uint32_t>(table));
    std::string row(as_text(number));
    return row.append(as_text(key));
}

}  // namespace

bool RowLocks::take(Held& held, Table table, Bytes key) {
    std::string row = row_of(table, key);
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = rows_.try_emplace(std::move(row), &held);
    if (is_new) held.rows_.push_back(at);
    if (at->second == &held) return true;
    held.refused_ = at->first;
    return false;
}

bool RowLocks::has(const Held& held, Table table, Bytes key) {
    const std::lock_guard lock(mutex_);
    const auto found = rows_.find(row_of(table, key));
    return found != rows_.end() && found->second == &held;
}

void RowLocks::release(Held& held) {
    if (held.empty()) return;
    const std::lock_guard lock(mutex_);
    for (const Rows::iterator row : held.rows_) {
        DCHECK(row->second == &held);
        rows_.erase(row);
    }
    held.rows_.clear();
    if (waiting_ > 0) released_.notify_all();
}

void RowLocks::await_refused(Held& held) {
    DCHECK(held.empty());
    const std::string row = std::exchange(held.refused_, {});
    const auto is_free = [&] { return !rows_.contains(row); };
    const bool is_free_soon = base::spin([&] {
        const std::lock_guard lock(mutex_);
        return is_free();
    });
    if (is_free_soon) return;
    std::unique_lock lock(mutex_);
    ++waiting_;
    try {
        storage::wait_until(released_, lock, is_free,
                            sched::is_uninterruptible() ? nullptr : sched::Operation::check);
    } catch (...) {
        --waiting_;
        throw;
    }
    --waiting_;
    DCHECK(waiting_ >= 0 && is_free());
}

}  // namespace kv
