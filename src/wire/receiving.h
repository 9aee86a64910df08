// wire/receiving.h - messages that have begun to arrive and are not complete yet, on all
// connections of a listener: how long they may take, and how much memory they may hold together
// with large messages that are complete and being served.
//
// Inside wire/ only; thread-safe. A message counts from its first byte on, a TLS handshake from its
// beginning; connections that just wait for their client's next request do not count. If memory is
// short, small messages go on, and large ones one after the other, the oldest first. The oldest
// large ones are evicted when none makes progress, or when they did not use their time. Small ones
// may have half of the memory; if they want more, those that are not complete a second after they
// could go on end, the longest first, and new ones wait until then. The time for which a message is
// held back is not counted against it.
//
// A large message that is complete keeps its memory until it has been served, however long that
// takes, and is never evicted. While such ones hold as much again as incomplete ones may, large
// ones are held back, and none of them is evicted for that.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <tuple>
#include <type_traits>

namespace wire {

struct ReceiveLimits {
    // The limit of all incomplete messages together, and of them with those that are being served;
    // 0: twice as much. The oldest one may exceed both if nothing large is being served.
    int64_t bytes = 256 * 1024 * 1024;
    int64_t with_served_bytes = 0;
    // The time for one of them, and a second more for each kBytesPerSecond of it.
    std::chrono::seconds time{30};

    int64_t with_served() const { return with_served_bytes != 0 ? with_served_bytes : 2 * bytes; }
};

class Receiving {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr int64_t kBytesPerSecond = 64 * 1024;
    // Messages that hold no more are small.
    static constexpr int64_t kSmallBytes = 64 * 1024;
    // The time in which small ones have to complete, if they want more than half of the memory.
    static constexpr std::chrono::seconds kSmallMessageTimeout{1};
    // If memory is short, two kinds of large messages end: those older than this, if in this time
    // no large one came to its end and all together grew by less than a kMovingPart of the memory;
    // and those that took longer than this by themselves, and a second more for each
    // kBytesPerSecondAtLeast they hold.
    static constexpr std::chrono::seconds kLargeStallTimeout{5};
    static constexpr int64_t kMovingPart = 16;
    static constexpr int64_t kBytesPerSecondAtLeast = 512 * 1024;

    // A connection, as Receiving sees it.
    class Receiver {
      public:
        // Evicts it: its connection is closed, and what arrives is discarded. Any thread; does not
        // wait. Its memory is counted until over().
        virtual void evict() = 0;

      protected:
        ~Receiver() = default;

      private:
        friend class Receiving;
        // Guarded by mutex_.
        Clock::time_point since_;
        Clock::time_point changed_;  // when it was last held back, or let go on
        Clock::duration was_held_{};
        int64_t bytes_ = 0;
        bool known_ = false;
        bool held_ = false;
        bool evicted_ = false;  // then it is in no set
        bool served_ = false;   // the same
    };

    // Asks whether a receiver may go on: more of its message is to arrive, for which it holds so
    // many bytes. False: not now, ask again soon.
    bool may_go_on(Receiver& receiver, int64_t bytes, Clock::time_point now = Clock::now());
    // Notes that it holds so many bytes and goes on in any case.
    void goes_on(Receiver& receiver, int64_t bytes, Clock::time_point now = Clock::now());
    // Notes that it is complete, and is going to be served. A small message holds nothing any more.
    void complete(Receiver& receiver, Clock::time_point now = Clock::now());
    // Notes that it has been served, or that its connection ends: it holds nothing any more.
    void over(Receiver& receiver, Clock::time_point now = Clock::now());
    // Evicts those that take too long. Called every sweep_interval().
    void sweep(Clock::time_point now);
    // Evicts the oldest ones whose time is over, until the others fit into the budget.
    void enforce(Clock::time_point now);
    std::chrono::milliseconds sweep_interval() const;

    void set_limits(const ReceiveLimits& limits);
    ReceiveLimits limits() const;
    int64_t bytes() const;         // held at this moment by what is incomplete
    int64_t served_bytes() const;  // by what is being served

  private:
    struct OldestFirst {
        bool operator()(const Receiver* a, const Receiver* b) const {
            return std::tuple(a->since_, a) < std::tuple(b->since_, b);
        }
    };
    // The order in which small ones are stopped to free memory. Held back ones have waited for
    // others.
    struct StopOrder {
        bool operator()(const Receiver* a, const Receiver* b) const {
            return std::tuple(rank(*a), a->changed_, a) < std::tuple(rank(*b), b->changed_, b);
        }
        static int rank(const Receiver& receiver) {
            return receiver.bytes_ == 0 ? 2 : receiver.held_ ? 1 : 0;
        }
    };

    using Small = std::set<Receiver*, StopOrder>;
    using Large = std::set<Receiver*, OldestFirst>;
    using Node = Small::node_type;
    static_assert(std::is_same_v<Node, Large::node_type>);

    void begin(Receiver& receiver, Clock::time_point now);
    void count(Receiver& receiver, int64_t bytes, Clock::time_point now);
    void hold(Receiver& receiver, bool held, Clock::time_point now);
    bool evict_for_small(const Receiver& receiver, int64_t bytes, Clock::time_point now);
    bool evict_for(const Receiver& receiver, Clock::time_point now);
    bool has_room(int64_t bytes) const;
    void end_service(Receiver& receiver, Clock::time_point now);
    void leave(Receiver& receiver, Clock::time_point now);
    bool took_too_long(const Receiver& receiver, Clock::time_point now) const;
    static Clock::duration took(const Receiver& receiver, Clock::time_point now);
    // Out of the others of its size, while what they are ordered by changes, and back.
    Node take(Receiver& receiver);
    void put(Node node);
    void stop(Receiver& receiver);

    mutable std::mutex mutex_;
    ReceiveLimits limits_;
    Small small_;
    Large large_;
    int64_t served_bytes_ = 0;
    int64_t bytes_ = 0;
    int64_t small_bytes_ = 0;          // of it
    int64_t evicted_bytes_ = 0;        // of it, of connections that have not closed yet
    int64_t evicted_small_bytes_ = 0;  // of small_bytes_
    Clock::time_point moved_;          // when large ones last moved
    int64_t grown_ = 0;                // by how much they grew since
};

}  // namespace wire
