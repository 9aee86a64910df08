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

RowLocks::Taken RowLocks::take(Held& held, Table table, Bytes key) {
    std::string row = row_of(table, key);
    const std::lock_guard lock(mutex_);
    if (held.is_wounded()) return Taken::refused;
    const auto [at, is_new] = rows_.try_emplace(std::move(row), &held);
    if (is_new) held.rows_.push_back(at);
    if (at->second == &held) return is_new ? Taken::now : Taken::before;
    held.refused_ = at->first;
    return Taken::refused;
}

bool RowLocks::has(const Held& held, Table table, Bytes key) {
    const std::lock_guard lock(mutex_);
    const auto found = rows_.find(row_of(table, key));
    return held.is_wounded() || (found != rows_.end() && found->second == &held);
}

void RowLocks::release(Held& held) {
    if (held.empty()) return;
    DCHECK(!held.is_wounded());
    end(held);
}

// Some at a time: others need the mutex.
void RowLocks::end(Held& held) {
    constexpr size_t kTogether = 1000;
    for (bool is_over = false; !is_over;) {
        const std::lock_guard lock(mutex_);
        for (size_t i = 0; i < kTogether && !held.empty(); ++i) {
            DCHECK(held.rows_.back()->second == &held);
            rows_.erase(held.rows_.back());
            held.rows_.pop_back();
        }
        is_over = held.empty();
        if (is_over) {
            held.is_parked_ = false;
            held.is_wounded_.store(false, std::memory_order_release);
        }
        if (waiting_ > 0) released_.notify_all();
    }
}

void RowLocks::set_parked(Held& held, bool is_parked) {
    const std::lock_guard lock(mutex_);
    held.is_parked_ = is_parked;
    if (is_parked && waiting_ > 0) released_.notify_all();
}

void RowLocks::wound(Table table, Bytes key) {
    const std::string row = row_of(table, key);
    const std::lock_guard lock(mutex_);
    const auto found = rows_.find(row);
    if (found != rows_.end()) wound_locked(*found->second);
}

void RowLocks::wound_all() {
    const std::lock_guard lock(mutex_);
    while (!rows_.empty())
        wound_locked(*rows_.begin()->second);
}

void RowLocks::wound_locked(Held& held) {
    held.is_wounded_.store(true, std::memory_order_release);
    for (const Rows::iterator row : held.rows_)
        rows_.erase(row);
    held.rows_.clear();
    if (waiting_ > 0) released_.notify_all();
}

bool RowLocks::await_refused(Held& held, bool may_defer) {
    DCHECK(held.empty());
    const std::string row = std::exchange(held.refused_, {});
    const auto is_over = [&] {
        const auto found = rows_.find(row);
        return found == rows_.end() || found->second->is_parked_;
    };
    const bool is_over_soon = base::spin([&] {
        const std::lock_guard lock(mutex_);
        return is_over();
    });
    std::unique_lock lock(mutex_);
    if (!is_over_soon) {
        ++waiting_;
        try {
            storage::wait_until(released_, lock, is_over,
                                sched::is_uninterruptible() ? nullptr : sched::Operation::check);
        } catch (...) {
            --waiting_;
            throw;
        }
        --waiting_;
        DCHECK(waiting_ >= 0 && is_over());
    }
    const auto found = rows_.find(row);
    if (found == rows_.end() || !found->second->is_parked_) return true;
    if (!may_defer) wound_locked(*found->second);
    return !may_defer;
}

}  // namespace kv
