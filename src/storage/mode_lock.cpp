#include "storage/mode_lock.h"

#include "base/error.h"
#include "base/spin.h"

namespace storage {

bool ModeLock::free_for(GlobalMode mode) const {
    if (W_ || X_) return false;
    switch (mode) {
        case GlobalMode::r:
            return waiting_W_ == 0 && upgrading_ == 0 && !R_to_W_;
        case GlobalMode::w:
            return R_ == 0 && waiting_W_ == 0 && waiting_R_ == 0 && upgrading_ == 0;
        case GlobalMode::R:
            return w_ == 0 && waiting_W_ == 0 && !R_to_W_;
        case GlobalMode::W:
            return r_ == 0 && w_ == 0 && R_ == 0;
        default:
            return false;
    }
}

void ModeLock::take(GlobalMode mode) {
    switch (mode) {
        case GlobalMode::r:
            ++r_;
            break;
        case GlobalMode::w:
            ++w_;
            break;
        case GlobalMode::R:
            ++R_;
            break;
        default:
            W_ = true;
    }
    ++(is_write(mode) ? writers_ : readers_);
}

std::atomic<int>& ModeLock::waiting_for(GlobalMode mode) {
    switch (mode) {
        case GlobalMode::r:
            return waiting_r_;
        case GlobalMode::w:
            return waiting_w_;
        case GlobalMode::R:
            return waiting_R_;
        default:
            return waiting_W_;
    }
}

bool ModeLock::has_waiters() const {
    return waiting_r_ + waiting_w_ + waiting_R_ + waiting_W_ + upgrading_ > 0 || R_to_W_;
}

bool ModeLock::try_lock(GlobalMode mode) {
    return base::spin([&] {
        const std::lock_guard lock(mutex_);
        if (!free_for(mode)) return false;
        take(mode);
        return true;
    });
}

bool ModeLock::available(GlobalMode mode) const {
    const std::lock_guard lock(mutex_);
    return free_for(mode);
}

void ModeLock::wait_and_take(GlobalMode mode, std::unique_lock<std::mutex>& lock,
                             InterruptCheck interrupt_check) {
    std::atomic<int>& waiting = waiting_for(mode);
    ++waiting;
    try {
        wait_until(
            changed_, lock, [&] { return free_for(mode); }, interrupt_check);
    } catch (...) {
        --waiting;
        changed_.notify_all();
        throw;
    }
    --waiting;
    take(mode);
}

void ModeLock::lock(GlobalMode mode, InterruptCheck interrupt_check) {
    std::unique_lock lock(mutex_);
    wait_and_take(mode, lock, interrupt_check);
    // A writer that stopped waiting may be what others were held back by.
    changed_.notify_all();
}

void ModeLock::unlock(GlobalMode mode) {
    const std::lock_guard lock(mutex_);
    switch (mode) {
        case GlobalMode::r:
            --r_;
            break;
        case GlobalMode::w:
            --w_;
            break;
        case GlobalMode::R:
            --R_;
            break;
        case GlobalMode::W:
            W_ = false;
            break;
        default:
            base::fatal(0, "X is left by X_to_w");
    }
    --(is_write(mode) ? writers_ : readers_);
    if (has_waiters()) changed_.notify_all();
}

void ModeLock::W_to_R() {
    const std::lock_guard lock(mutex_);
    W_ = false;
    ++R_;
    --writers_;
    ++readers_;
    changed_.notify_all();
}

void ModeLock::R_to_W() {
    std::unique_lock lock(mutex_);
    if (R_to_W_) {
        // Two upgrades would wait for each other: this one starts over from nothing.
        --R_;
        --readers_;
        changed_.notify_all();
        wait_and_take(GlobalMode::W, lock, nullptr);
        return;
    }
    R_to_W_ = true;
    changed_.wait(lock, [&] { return r_ == 0 && R_ == 1; });
    R_to_W_ = false;
    R_ = 0;
    W_ = true;
    --readers_;
    ++writers_;
}

bool ModeLock::w_to_X() {
    std::unique_lock lock(mutex_);
    const uint64_t before = upgrades_done_;
    ++upgrading_;
    changed_.notify_all();
    const auto done = [&] { return upgrades_done_ != before; };
    const auto alone = [&] {
        return !X_ && w_ == upgrading_ + parked_w_ && r_ == parked_r_ && R_ == 0;
    };
    changed_.wait(lock, [&] { return done() || alone(); });
    if (done()) return false;
    X_ = true;
    return true;
}

void ModeLock::X_to_w() {
    const std::lock_guard lock(mutex_);
    X_ = false;
    upgrading_ = 0;
    ++upgrades_done_;
    changed_.notify_all();
}

void ModeLock::park(GlobalMode mode) {
    const std::lock_guard lock(mutex_);
    ++(mode == GlobalMode::w ? parked_w_ : parked_r_);
    if (upgrading_ > 0) changed_.notify_all();
}

void ModeLock::unpark(GlobalMode mode) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !X_; });
    --(mode == GlobalMode::w ? parked_w_ : parked_r_);
}

bool ModeLock::contended(GlobalMode mode) const {
    switch (mode) {
        case GlobalMode::r:
            return waiting_W_ > 0 || upgrading_ > 0 || R_to_W_;
        case GlobalMode::w:
            return waiting_R_ > 0 || waiting_W_ > 0 || upgrading_ > 0;
        case GlobalMode::R:
            return waiting_w_ > 0 || waiting_W_ > 0 || R_to_W_;
        case GlobalMode::W:
        case GlobalMode::X:
            return has_waiters();
        case GlobalMode::none:
            break;
    }
    return false;
}

}  // namespace storage
