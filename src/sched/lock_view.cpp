#include "sched/lock_view.h"

#include <chrono>

namespace sched {

namespace {
void add(std::atomic<int64_t>& sum, int64_t value) {
    sum.store(sum.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}
}  // namespace

void LockView::reset() {
    show(0, 0);
    set_waiting(false);
    for (std::atomic<int64_t>* time :
         {&since_us_, &locked_read_, &locked_write_, &acquiring_read_, &acquiring_write_})
        time->store(0, std::memory_order_relaxed);
}

void LockView::show(char global, char database) {
    global_.store(global, std::memory_order_relaxed);
    database_.store(database, std::memory_order_relaxed);
}

void LockView::add_acquiring(bool write, int64_t us) {
    add(write ? acquiring_write_ : acquiring_read_, us);
}

void LockView::hold(bool write, int64_t since_us) {
    writing_.store(write, std::memory_order_relaxed);
    since_us_.store(since_us, std::memory_order_relaxed);
}

void LockView::release(int64_t now_us) {
    const int64_t since = since_us_.load(std::memory_order_relaxed);
    if (since == 0) return;
    since_us_.store(0, std::memory_order_relaxed);
    add(writing_.load(std::memory_order_relaxed) ? locked_write_ : locked_read_, now_us - since);
}

LockTimes LockView::times() const {
    LockTimes times{locked_read_.load(std::memory_order_relaxed),
                    locked_write_.load(std::memory_order_relaxed),
                    acquiring_read_.load(std::memory_order_relaxed),
                    acquiring_write_.load(std::memory_order_relaxed)};
    if (const int64_t since = since_us_.load(std::memory_order_relaxed); since != 0) {
        const int64_t held = std::chrono::duration_cast<std::chrono::microseconds>(
                                 std::chrono::steady_clock::now().time_since_epoch())
                                 .count() -
                             since;
        (writing_.load(std::memory_order_relaxed) ? times.locked_write : times.locked_read) += held;
    }
    return times;
}

}  // namespace sched
