#include "wire/receiving.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/dcheck.h"

namespace wire {

bool Receiving::may_go_on(Receiver& receiver, int64_t bytes, Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    if (receiver.evicted_) return false;
    begin(receiver, now);
    bool may = true;
    if (bytes <= kSmallBytes) {
        may = evict_for_small(receiver, bytes, now);
        if (may) count(receiver, bytes, now);  // until then it has little more than before
    } else {
        count(receiver, bytes, now);
        may = evict_for(receiver, now);
    }
    if (may == receiver.held_) hold(receiver, !may, now);
    return may;
}

void Receiving::goes_on(Receiver& receiver, int64_t bytes, Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    if (receiver.evicted_) return;
    begin(receiver, now);
    count(receiver, bytes, now);
    if (bytes > kSmallBytes) evict_for(receiver, now);
}

void Receiving::begin(Receiver& receiver, Clock::time_point now) {
    end_service(receiver, now);  // the next message has come behind it
    if (receiver.known_) return;
    receiver.held_ = false;
    receiver.was_held_ = {};
    receiver.since_ = receiver.changed_ = now;
    small_.insert(&receiver);
    receiver.known_ = true;
}

void Receiving::count(Receiver& receiver, int64_t bytes, Clock::time_point now) {
    DCHECK(bytes >= 0);
    const int64_t more = bytes - receiver.bytes_;
    Node node = take(receiver);
    receiver.bytes_ = bytes;
    put(std::move(node));
    if (bytes <= kSmallBytes) return;
    grown_ += more;
    if (grown_ < limits_.bytes / kMovingPart) return;
    grown_ = 0;
    moved_ = now;
}

// It is held back from now on, or goes on.
void Receiving::hold(Receiver& receiver, bool held, Clock::time_point now) {
    DCHECK(held != receiver.held_);
    Node node = take(receiver);
    if (!held) receiver.was_held_ += now - receiver.changed_;
    receiver.changed_ = now;
    receiver.held_ = held;
    put(std::move(node));
}

// Whether there is room for so many bytes of the receiver. If room comes from evicted ones, it
// waits until they have closed: their threads may be late.
bool Receiving::evict_for_small(const Receiver& receiver, int64_t bytes, Clock::time_point now) {
    const int64_t more = bytes - receiver.bytes_;
    const int64_t most = limits_.bytes / 2;
    if (more <= 0) return true;
    for (auto it = small_.begin();
         small_bytes_ - evicted_small_bytes_ + more > most && it != small_.end();) {
        Receiver& next = **it++;
        if (&next == &receiver) continue;
        if (next.bytes_ == 0) break;
        if (now - next.changed_ <= kSmallMessageTimeout) return false;
        stop(next);
    }
    return evicted_small_bytes_ == 0 || small_bytes_ + more <= most;
}

// Whether there is room if what is incomplete holds so much.
bool Receiving::has_room(int64_t bytes) const {
    return bytes <= limits_.bytes && bytes + served_bytes_ <= limits_.with_served();
}

// Whether there is room for it, or it is the next one.
bool Receiving::evict_for(const Receiver& receiver, Clock::time_point now) {
    DCHECK(!large_.empty());  // that one is in it
    if (served_bytes_ > 0 && !has_room(bytes_))
        return *large_.begin() == &receiver && has_room(receiver.bytes_);
    while (bytes_ - evicted_bytes_ > limits_.bytes) {
        Receiver& oldest = **large_.begin();
        if (&oldest == &receiver) return true;
        if (!took_too_long(oldest, now)) return false;
        stop(oldest);
    }
    return bytes_ <= limits_.bytes || *large_.begin() == &receiver;
}

bool Receiving::took_too_long(const Receiver& receiver, Clock::time_point now) const {
    using std::chrono::seconds;
    return now - std::max(receiver.since_, moved_) > kLargeStallTimeout ||
           took(receiver, now) >
               kLargeStallTimeout + seconds(receiver.bytes_ / kBytesPerSecondAtLeast);
}

Receiving::Clock::duration Receiving::took(const Receiver& receiver, Clock::time_point now) {
    const auto held = receiver.held_ ? now - receiver.changed_ : Clock::duration{};
    return now - receiver.since_ - receiver.was_held_ - held;
}

void Receiving::complete(Receiver& receiver, Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    const int64_t bytes = receiver.evicted_ ? 0 : receiver.bytes_;
    leave(receiver, now);
    if (bytes <= kSmallBytes) return;
    receiver.bytes_ = bytes;
    receiver.served_ = true;
    served_bytes_ += bytes;
}

// Ends a service; messages that have waited for it have their time from now on.
void Receiving::end_service(Receiver& receiver, Clock::time_point now) {
    if (!std::exchange(receiver.served_, false)) return;
    DCHECK(!receiver.known_ && served_bytes_ >= receiver.bytes_);
    served_bytes_ -= std::exchange(receiver.bytes_, 0);
    moved_ = now;
}

void Receiving::over(Receiver& receiver, Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    end_service(receiver, now);
    leave(receiver, now);
}

// It is not incomplete any more.
void Receiving::leave(Receiver& receiver, Clock::time_point now) {
    if (!receiver.known_) return;
    const bool is_small = receiver.bytes_ <= kSmallBytes;
    if (receiver.evicted_) {
        evicted_bytes_ -= receiver.bytes_;
        bytes_ -= receiver.bytes_;
        if (is_small) {
            evicted_small_bytes_ -= receiver.bytes_;
            small_bytes_ -= receiver.bytes_;
        }
    } else {
        if (!is_small) moved_ = now;
        take(receiver);
    }
    receiver.bytes_ = 0;
    receiver.known_ = receiver.evicted_ = false;
    DCHECK(!(small_.empty() && large_.empty()) ||
           (bytes_ == evicted_bytes_ && small_bytes_ == evicted_small_bytes_));
}

Receiving::Node Receiving::take(Receiver& receiver) {
    DCHECK(receiver.known_ && bytes_ >= receiver.bytes_);
    bytes_ -= receiver.bytes_;
    if (receiver.bytes_ > kSmallBytes) return large_.extract(&receiver);
    small_bytes_ -= receiver.bytes_;
    return small_.extract(&receiver);
}

void Receiving::put(Node node) {
    DCHECK(!node.empty());  // it was among those of its size
    const int64_t bytes = node.value()->bytes_;
    bytes_ += bytes;
    if (bytes > kSmallBytes) {
        large_.insert(std::move(node));
    } else {
        small_bytes_ += bytes;
        small_.insert(std::move(node));
    }
    DCHECK(small_bytes_ >= 0 && small_bytes_ <= bytes_);
}

void Receiving::stop(Receiver& receiver) {
    DCHECK(receiver.known_ && !receiver.evicted_);
    if (receiver.bytes_ > kSmallBytes) {
        large_.erase(&receiver);
    } else {
        small_.erase(&receiver);
        evicted_small_bytes_ += receiver.bytes_;
    }
    evicted_bytes_ += receiver.bytes_;
    receiver.evicted_ = true;
    receiver.evict();
}

void Receiving::sweep(Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    std::vector<Receiver*> late;
    const auto look = [&](const auto& receivers) {
        for (Receiver* const receiver : receivers) {
            if (took(*receiver, now) >
                limits_.time + std::chrono::seconds(receiver->bytes_ / kBytesPerSecond))
                late.push_back(receiver);
        }
    };
    look(small_);
    look(large_);
    for (Receiver* const receiver : late)
        stop(*receiver);
}

void Receiving::enforce(Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    if (served_bytes_ > 0) return;  // what is large may be held back for those
    while (bytes_ - evicted_bytes_ > limits_.bytes) {
        DCHECK(!(small_.empty() && large_.empty()));
        Receiver& oldest = **(large_.empty() ? small_.begin() : large_.begin());
        if (!took_too_long(oldest, now)) return;
        stop(oldest);
    }
}

std::chrono::milliseconds Receiving::sweep_interval() const {
    using std::chrono::milliseconds;
    const milliseconds limit = limits().time;
    return std::clamp(limit / 4, milliseconds(100), milliseconds(5000));
}

void Receiving::set_limits(const ReceiveLimits& limits) {
    const std::lock_guard guard(mutex_);
    limits_ = limits;
}

ReceiveLimits Receiving::limits() const {
    const std::lock_guard guard(mutex_);
    return limits_;
}

int64_t Receiving::bytes() const {
    const std::lock_guard guard(mutex_);
    return bytes_;
}

int64_t Receiving::served_bytes() const {
    const std::lock_guard guard(mutex_);
    return served_bytes_;
}

}  // namespace wire
