// wire/receiving.h - what has begun to arrive and is not complete yet, on all connections of a
// listener: how long it may take, and how much memory it may hold together.
//
// Inside wire/ only; thread-safe. A message counts from its first byte on, a TLS handshake from its
// beginning; connections that just wait for their client's next request do not count. Where memory
// is short, small messages go on; of the large ones those end that have taken longest, if that is
// long, and the others take turns, the oldest first.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>

namespace wire {

struct ReceiveLimits {
    // Of all messages that are incomplete, together. The oldest one may exceed it.
    int64_t bytes = 256 * 1024 * 1024;
    // For one of them, and a second more for each kBytesPerSecond of it.
    std::chrono::seconds time{30};
};

class Receiving {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr int64_t kBytesPerSecond = 64 * 1024;
    // Messages that hold no more are small.
    static constexpr int64_t kSmallBytes = 64 * 1024;
    // Large ones that have taken longer may be ended for want of memory. They get a second more for
    // each kBytesPerSecondAtLeast they hold: what takes long is as often ours, who write what the
    // others sent, as the client's.
    static constexpr std::chrono::seconds kPatience{5};
    static constexpr int64_t kBytesPerSecondAtLeast = 512 * 1024;

    // What a connection is to Receiving.
    class Receiver {
      public:
        // What arrives there is to be given up. Any thread; does not wait.
        virtual void stop_receiving() = 0;

      protected:
        ~Receiver() = default;

      private:
        friend class Receiving;
        // Guarded by mutex_.
        Clock::time_point since_;
        int64_t bytes_ = 0;
        bool known_ = false;
    };

    // More of it is to arrive, for which it holds so many bytes. False: not now, ask again soon.
    bool may_go_on(Receiver& receiver, int64_t bytes);
    // It is complete, or its connection ends.
    void over(Receiver& receiver);
    // Stops those that take too long. Called every sweep_interval().
    void sweep(Clock::time_point now);
    // Stops the oldest ones, beyond kPatience, until the others fit into the budget.
    void enforce(Clock::time_point now);
    std::chrono::milliseconds sweep_interval() const;

    void set_limits(const ReceiveLimits& limits);
    ReceiveLimits limits() const;
    int64_t bytes() const;  // held at this moment

  private:
    struct Older {
        bool operator()(const Receiver* a, const Receiver* b) const {
            return a->since_ != b->since_ ? a->since_ < b->since_ : a < b;
        }
    };
    using ByAge = std::set<Receiver*, Older>;

    static bool took_too_long(const Receiver& receiver, Clock::time_point now);
    void forget(Receiver& receiver);
    void stop(Receiver& receiver);

    mutable std::mutex mutex_;
    ReceiveLimits limits_;
    ByAge all_;
    ByAge large_;
    int64_t bytes_ = 0;
};

}  // namespace wire
