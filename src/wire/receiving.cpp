#include "wire/receiving.h"

#include <algorithm>
#include <vector>

namespace wire {

bool Receiving::may_go_on(Receiver& receiver, int64_t bytes, Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    count(receiver, bytes, now);
    const bool may = bytes <= kSmallBytes || make_room(receiver, now);
    if (may == receiver.held_) {
        if (may) receiver.was_held_ += now - receiver.held_since_;
        receiver.held_since_ = now;
        receiver.held_ = !may;
    }
    return may;
}

void Receiving::goes_on(Receiver& receiver, int64_t bytes, Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    count(receiver, bytes, now);
    if (bytes > kSmallBytes) make_room(receiver, now);
}

void Receiving::count(Receiver& receiver, int64_t bytes, Clock::time_point now) {
    if (!receiver.known_) {
        receiver.known_ = true;
        receiver.held_ = false;
        receiver.was_held_ = {};
        receiver.since_ = now;
        all_.insert(&receiver);
    }
    const int64_t more = bytes - receiver.bytes_;
    bytes_ += more;
    receiver.bytes_ = bytes;
    if (bytes <= kSmallBytes) {
        large_.erase(&receiver);  // it may have been large
        return;
    }
    large_.insert(&receiver);
    grown_ += more;
    if (grown_ < limits_.bytes / kMovingPart) return;
    grown_ = 0;
    moved_ = now;
}

// Whether there is room for it, or it is its turn.
bool Receiving::make_room(const Receiver& receiver, Clock::time_point now) {
    while (bytes_ > limits_.bytes) {
        Receiver& oldest = **large_.begin();
        if (&oldest == &receiver) return true;
        if (!took_too_long(oldest, now)) return false;
        stop(oldest);
    }
    return true;
}

bool Receiving::took_too_long(const Receiver& receiver, Clock::time_point now) const {
    using std::chrono::seconds;
    return now - std::max(receiver.since_, moved_) > kPatience ||
           took(receiver, now) > kPatience + seconds(receiver.bytes_ / kBytesPerSecondAtLeast);
}

Receiving::Clock::duration Receiving::took(const Receiver& receiver, Clock::time_point now) {
    const auto held = receiver.held_ ? now - receiver.held_since_ : Clock::duration{};
    return now - receiver.since_ - receiver.was_held_ - held;
}

void Receiving::over(Receiver& receiver, Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    if (receiver.known_ && receiver.bytes_ > kSmallBytes) moved_ = now;
    forget(receiver);
}

void Receiving::forget(Receiver& receiver) {
    if (!receiver.known_) return;
    all_.erase(&receiver);
    if (receiver.bytes_ > kSmallBytes) large_.erase(&receiver);
    bytes_ -= receiver.bytes_;
    receiver.bytes_ = 0;
    receiver.known_ = false;
}

void Receiving::stop(Receiver& receiver) {
    forget(receiver);
    receiver.stop_receiving();
}

void Receiving::sweep(Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    std::vector<Receiver*> late;
    for (Receiver* const receiver : all_) {
        if (now - receiver->since_ <= limits_.time) break;
        if (took(*receiver, now) >
            limits_.time + std::chrono::seconds(receiver->bytes_ / kBytesPerSecond))
            late.push_back(receiver);
    }
    for (Receiver* const receiver : late)
        stop(*receiver);
}

void Receiving::enforce(Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    while (bytes_ > limits_.bytes && !large_.empty()) {
        Receiver& oldest = **large_.begin();
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

}  // namespace wire
