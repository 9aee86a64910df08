#include "storage/reader_writer_lock.h"

#include "base/spin.h"

namespace storage {

bool ReaderWriterLock::free_for(bool exclusive) const {
    if (exclusive) return !writer_ && readers_ == 0;
    return !writer_ && waiting_writers_.load(std::memory_order_relaxed) == 0;
}

void ReaderWriterLock::take(bool exclusive) {
    if (exclusive) {
        writer_ = true;
    } else {
        ++readers_;
    }
}

bool ReaderWriterLock::try_lock(bool exclusive) {
    return base::spin([&] {
        const std::lock_guard lock(mutex_);
        if (!free_for(exclusive)) return false;
        take(exclusive);
        return true;
    });
}

bool ReaderWriterLock::available(bool exclusive) const {
    const std::lock_guard lock(mutex_);
    return free_for(exclusive);
}

void ReaderWriterLock::lock(bool exclusive, InterruptCheck interrupt_check) {
    std::unique_lock lock(mutex_);
    std::atomic<int>& waiting = exclusive ? waiting_writers_ : waiting_readers_;
    ++waiting;
    try {
        wait_until(
            exclusive ? writable_ : readable_, lock, [&] { return free_for(exclusive); },
            interrupt_check);
    } catch (...) {
        --waiting;
        // Others may have been held back, or passed over, for this one.
        readable_.notify_all();
        writable_.notify_one();
        throw;
    }
    --waiting;
    take(exclusive);
}

void ReaderWriterLock::unlock(bool exclusive) {
    const std::lock_guard lock(mutex_);
    if (exclusive) {
        writer_ = false;
    } else {
        --readers_;
    }
    if (readers_ > 0) return;
    if (waiting_writers_ > 0) {
        writable_.notify_one();
    } else if (waiting_readers_ > 0) {
        readable_.notify_all();
    }
}

}  // namespace storage
