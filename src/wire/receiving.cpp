#include "wire/receiving.h"

#include <algorithm>
#include <vector>

namespace wire {

bool Receiving::took_too_long(const Receiver& receiver, Clock::time_point now) {
    return now - receiver.since_ >
           kPatience + std::chrono::seconds(receiver.bytes_ / kBytesPerSecondAtLeast);
}

bool Receiving::may_go_on(Receiver& receiver, int64_t bytes) {
    const std::lock_guard guard(mutex_);
    if (!receiver.known_) {
        receiver.known_ = true;
        receiver.since_ = Clock::now();
        all_.insert(&receiver);
    }
    bytes_ += bytes - receiver.bytes_;
    receiver.bytes_ = bytes;
    if (bytes <= kSmallBytes) return true;
    large_.insert(&receiver);
    if (bytes_ <= limits_.bytes) return true;
    const auto now = Clock::now();
    while (bytes_ > limits_.bytes) {
        Receiver& oldest = **large_.begin();
        if (&oldest == &receiver) return true;
        if (!took_too_long(oldest, now)) return false;
        stop(oldest);
    }
    return true;
}

void Receiving::over(Receiver& receiver) {
    const std::lock_guard guard(mutex_);
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
        const auto took = now - receiver->since_;
        if (took <= limits_.time) break;
        if (took > limits_.time + std::chrono::seconds(receiver->bytes_ / kBytesPerSecond))
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
