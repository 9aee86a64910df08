// wire/loop_threads.h - the threads that run the event loops.
//
// Each loop has one thread, which numbers its calls of sessions. When it is still inside the same
// call a moment later, because it waits or computes, the keeper gives the loop to a spare thread;
// the old one finishes its operation beside the loop and becomes a spare itself. Short calls thus
// cost no change of threads, and long ones delay other connections by at most twice
// kLongCallTimeout. While a loop has served one connection only, the keeper looks far less often: a
// lone client must not wake it all the time. There are as many threads as long operations plus
// loops, plus some idle spares.
//
// A wait for a page of a mapped file is shorter. While threads meet many of them, an operation
// gives its loop away before it comes to the data (sched::FaultPoint), at once: the page comes
// before the keeper would look.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "wire/event_loop.h"

namespace wire {

class LoopThreads {
  public:
    static constexpr std::chrono::milliseconds kLongCallTimeout{1};
    // The timeout of a loop that served no other connection of late.
    static constexpr std::chrono::milliseconds kLoneLoopTimeout{50};

    LoopThreads();
    ~LoopThreads();
    LoopThreads(const LoopThreads&) = delete;
    LoopThreads& operator=(const LoopThreads&) = delete;

    // The loops live longer than the threads.
    void start(std::vector<EventLoop*> loops);
    // Stops the loops; waits for the threads, also for those inside an operation. Idempotent.
    void stop();

    // How many pages the calling thread has waited for since it began.
    using PageWaits = int64_t (*)();
    // Before start(), for tests.
    void count_page_waits(PageWaits count) { page_waits_ = count; }

    // How often the keeper looks at the loops, for tests.
    enum class Pace : int { asleep, slow, fast };
    Pace pace() const { return pace_.load(); }

    // Code that runs in a handler calls this before it calls a session: from here until settle()
    // the loop may go to another thread.
    static void begin_call();
    // Tells code that runs in a handler whether this thread still runs the loop. If it does, it
    // goes on doing so until the next begin_call(); if not, the work that remains to be done for
    // the connection must be posted to the loop.
    static bool settle();

  private:
    void run(EventLoop* loop);
    void run_loop(EventLoop& loop);
    static bool run_one(EventLoop& loop);
    EventLoop* next_loop();
    void keep();
    void give_away(EventLoop& loop);
    void nudge(Pace pace);
    Pace wanted_pace() const;
    void look_at_loops(std::vector<uint64_t>& seen);
    static void about_to_wait_for_pages();
    void review_page_waits();

    std::vector<EventLoop*> loops_;  // fixed after start
    std::atomic<Pace> pace_{Pace::asleep};
    PageWaits page_waits_;
    std::atomic<bool> pages_are_missing_{false};  // as a thread has seen last

    std::mutex mutex_;
    std::condition_variable keeper_wakes_;  // with mutex_
    std::condition_variable loop_to_run_;   // with mutex_
    bool stopping_ = false;                 // guarded by mutex_
    std::deque<EventLoop*> unattended_;     // guarded by mutex_
    int spares_ = 0;                        // waiting in next_loop(); guarded by mutex_
    std::vector<std::thread> threads_;      // guarded by mutex_ until stop()
    std::vector<std::thread::id> ended_;    // of threads_, to be joined; guarded by mutex_
};

}  // namespace wire
