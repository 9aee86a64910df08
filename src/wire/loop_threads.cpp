#include "wire/loop_threads.h"

#include <pthread.h>

#include <algorithm>

#include "base/dcheck.h"
#include "base/log.h"
#include "base/signal_stack.h"
#include "sched/blocking.h"

namespace wire {

namespace {

constexpr int kIdleSpares = 4;
// The keeper ticks for so long after the last blocked operation, then sleeps until nudged.
constexpr int kQuietTicks = 50;

// What the calling thread runs. Null outside LoopThreads.
thread_local LoopThreads* t_threads = nullptr;
thread_local EventLoop* t_loop = nullptr;

}  // namespace

LoopThreads::~LoopThreads() {
    stop();
}

void LoopThreads::start(std::vector<EventLoop*> loops) {
    DCHECK(loops_.empty() && !loops.empty());
    loops_ = std::move(loops);
    const std::lock_guard guard(mutex_);
    for (EventLoop* loop : loops_)
        threads_.emplace_back([this, loop] { run(loop); });
    threads_.emplace_back([this] { keep(); });
}

void LoopThreads::stop() {
    std::vector<std::thread> threads;
    {
        const std::lock_guard guard(mutex_);
        stopping_ = true;
        threads.swap(threads_);
        keeper_wakes_.notify_all();
        loop_to_run_.notify_all();
    }
    for (EventLoop* loop : loops_)
        loop->stop();
    for (std::thread& thread : threads)
        thread.join();
}

void LoopThreads::run(EventLoop* loop) {
    const base::SignalStack signal_stack;
    pthread_setname_np(pthread_self(), "conn-loop");
    t_threads = this;
    while (loop != nullptr) {
        run_loop(*loop);
        loop = next_loop();
    }
}

// Until the loop stops or is given to another thread.
void LoopThreads::run_loop(EventLoop& loop) {
    DCHECK(t_loop == nullptr && t_ticket_ == 0);
    t_loop = &loop;
    t_relieved_ = false;
    loop.seat();
    sched::BlockingSection::set_hook(&about_to_block);
    while (run_one(loop) && settle()) {
    }
    sched::BlockingSection::set_hook(nullptr);
    t_loop = nullptr;
    t_ticket_ = 0;
}

// Handlers catch what they throw; what gets past them costs a log line, not the process.
bool LoopThreads::run_one(EventLoop& loop) {
    try {
        return loop.run_one();
    } catch (const std::exception& error) {
        base::log::warning("an event handler failed: {}", error.what());
        return true;
    }
}

bool LoopThreads::settle_mark() {
    if (t_relieved_) return false;
    DCHECK(t_ticket_ != 0);
    t_relieved_ = !t_loop->settle(t_ticket_);
    t_ticket_ = 0;
    return !t_relieved_;
}

void LoopThreads::about_to_block() {
    if (t_relieved_ || t_ticket_ != 0) return;
    t_ticket_ = t_loop->mark_blocked();
    t_threads->nudge();
}

void LoopThreads::nudge() {
    // Sequentially consistent with the keeper: either it still sees the mark before it sleeps, or
    // this sees that it went to sleep.
    if (keeping_.load(std::memory_order_seq_cst)) return;
    const std::lock_guard guard(mutex_);
    keeping_.store(true);
    keeper_wakes_.notify_one();
}

// A spare thread waits here for a loop; null: the thread may end.
EventLoop* LoopThreads::next_loop() {
    std::unique_lock lock(mutex_);
    if (unattended_.empty() && (spares_ >= kIdleSpares || stopping_)) {
        ended_.push_back(std::this_thread::get_id());
        return nullptr;
    }
    ++spares_;
    loop_to_run_.wait(lock, [this] { return stopping_ || !unattended_.empty(); });
    --spares_;
    DCHECK(spares_ >= 0);
    if (stopping_) return nullptr;
    EventLoop* loop = unattended_.front();
    unattended_.pop_front();
    return loop;
}

void LoopThreads::give_away(EventLoop& loop) {
    const std::lock_guard guard(mutex_);
    if (stopping_) return;
    for (const std::thread::id id : ended_) {
        const auto it = std::find_if(threads_.begin(), threads_.end(),
                                     [id](const std::thread& t) { return t.get_id() == id; });
        if (it == threads_.end()) continue;
        it->join();
        threads_.erase(it);
    }
    ended_.clear();
    if (static_cast<size_t>(spares_) > unattended_.size()) {
        unattended_.push_back(&loop);
        loop_to_run_.notify_one();
        return;
    }
    try {
        threads_.emplace_back([this, &loop] { run(&loop); });
    } catch (const std::exception& error) {
        // A thread that finishes an operation takes the loop.
        unattended_.push_back(&loop);
        base::log::warning("no thread for {} blocked operations: {}", threads_.size(),
                           error.what());
    }
}

bool LoopThreads::any_blocked() const {
    return std::any_of(loops_.begin(), loops_.end(),
                       [](const EventLoop* loop) { return loop->blocked() != 0; });
}

// Checks every kBlockedLoopTimeout whether a loop is still inside the blocking operation of the
// last check.
void LoopThreads::keep() {
    const base::SignalStack signal_stack;
    pthread_setname_np(pthread_self(), "loop-keeper");
    std::vector<uint64_t> seen(loops_.size(), 0);
    int quiet = 0;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        if (quiet == kQuietTicks) {
            quiet = 0;
            keeping_.store(false, std::memory_order_seq_cst);
            keeper_wakes_.wait(lock,
                               [this] { return stopping_ || keeping_.load() || any_blocked(); });
            keeping_.store(true);
        }
        keeper_wakes_.wait_for(lock, kBlockedLoopTimeout, [this] { return stopping_; });
        lock.unlock();
        ++quiet;
        for (size_t i = 0; i < loops_.size(); ++i) {
            const uint64_t ticket = loops_[i]->blocked();
            if (ticket != 0) quiet = 0;
            if (ticket != 0 && ticket == seen[i] && loops_[i]->take_away(ticket))
                give_away(*loops_[i]);
            seen[i] = ticket;
        }
        lock.lock();
    }
}

}  // namespace wire
