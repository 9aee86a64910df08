#include "wire/receiving.h"

#include <algorithm>
#include <vector>

namespace wire {

bool Receiving::may_go_on(Receiver& receiver, int64_t bytes, Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    begin(receiver, now);
    bool may = true;
    if (bytes <= kSmallBytes) {
        may = make_room_for_small(receiver, bytes, now);
        // Until it goes on it has little more than before.
        count(receiver, may ? bytes : receiver.bytes_, now);
    } else {
        count(receiver, bytes, now);
        may = make_room(receiver, now);
    }
    if (may == receiver.held_) {
        if (may) receiver.was_held_ += now - receiver.changed_;
        receiver.changed_ = now;
        receiver.held_ = !may;
    }
    return may;
}

void Receiving::goes_on(Receiver& receiver, int64_t bytes, Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    begin(receiver, now);
    count(receiver, bytes, now);
    if (bytes > kSmallBytes) make_room(receiver, now);
}

void Receiving::begin(Receiver& receiver, Clock::time_point now) {
    if (receiver.known_) return;
    receiver.known_ = true;
    receiver.held_ = false;
    receiver.was_held_ = {};
    receiver.since_ = receiver.changed_ = now;
}

void Receiving::count(Receiver& receiver, int64_t bytes, Clock::time_point now) {
    const int64_t more = bytes - receiver.bytes_;
    const bool was_small = receiver.bytes_ <= kSmallBytes;
    bytes_ += more;
    if (was_small) small_bytes_ -= receiver.bytes_;
    receiver.bytes_ = bytes;
    const bool is_small = bytes <= kSmallBytes;
    if (was_small != is_small) (was_small ? small_ : large_).erase(&receiver);
    (is_small ? small_ : large_).insert(&receiver);
    if (is_small) {
        small_bytes_ += bytes;
        return;
    }
    grown_ += more;
    if (grown_ < limits_.bytes / kMovingPart) return;
    grown_ = 0;
    moved_ = now;
}

// Whether there is room for so many bytes of it.
bool Receiving::make_room_for_small(const Receiver& receiver, int64_t bytes,
                                    Clock::time_point now) {
    const int64_t more = bytes - receiver.bytes_;
    const auto too_much = [&] { return small_bytes_ + more > limits_.bytes / 2; };
    for (auto it = small_.begin(); more > 0 && too_much() && it != small_.end();) {
        Receiver& oldest = **it++;
        if (&oldest == &receiver || oldest.bytes_ == 0) continue;
        if (now - oldest.changed_ <= kSmallPatience) return false;
        stop(oldest);
    }
    return true;
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
    const auto held = receiver.held_ ? now - receiver.changed_ : Clock::duration{};
    return now - receiver.since_ - receiver.was_held_ - held;
}

void Receiving::over(Receiver& receiver, Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    if (receiver.known_ && receiver.bytes_ > kSmallBytes) moved_ = now;
    forget(receiver);
}

void Receiving::forget(Receiver& receiver) {
    if (!receiver.known_) return;
    const bool is_small = receiver.bytes_ <= kSmallBytes;
    (is_small ? small_ : large_).erase(&receiver);
    if (is_small) small_bytes_ -= receiver.bytes_;
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
    for (const ByAge* ages : {&small_, &large_}) {
        for (Receiver* const receiver : *ages) {
            if (now - receiver->since_ <= limits_.time) break;
            if (took(*receiver, now) >
                limits_.time + std::chrono::seconds(receiver->bytes_ / kBytesPerSecond))
                late.push_back(receiver);
        }
    }
    for (Receiver* const receiver : late)
        stop(*receiver);
}

void Receiving::enforce(Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    while (bytes_ > limits_.bytes) {
        Receiver& oldest = **(large_.empty() ? small_ : large_).begin();
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
