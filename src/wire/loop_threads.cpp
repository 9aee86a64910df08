#include "wire/loop_threads.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/log.h"
#include "base/signal_stack.h"
#include "sched/fault_point.h"

namespace wire {

namespace {

constexpr int kIdleSpares = 4;
constexpr int kIdleSparesWithoutPages = 64;
// A thread looks how many pages it has waited for after so many handlers: a call to the system.
constexpr int kHandlersPerLook = 64;
// So many of these are frequent, and so few no more.
constexpr int64_t kManyPageWaits = 8;
constexpr int64_t kFewPageWaits = 2;
// The keeper looks so often after the last call that it saw, then slows down until nudged.
constexpr int kQuietLooks = 50;

// What the calling thread runs.
struct Seat {
    LoopThreads* threads = nullptr;  // null: it is none of theirs
    EventLoop* loop = nullptr;       // null: none
    uint64_t call = 0;               // the number of the one under way, 0: none
    bool is_relieved = false;        // the loop is given away
    // Of the last look at what the thread has waited for.
    int handlers = 0;  // since
    int64_t page_waits = 0;
};
constinit thread_local Seat t_seat;

int64_t page_waits_of_thread() {
    rusage usage{};
    return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_majflt : 0;
}

}  // namespace

LoopThreads::LoopThreads() : page_waits_(page_waits_of_thread) {}

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
    t_seat.threads = this;
    while (loop != nullptr) {
        run_loop(*loop);
        loop = next_loop();
    }
}

// Runs the loop until it stops or is given to another thread.
void LoopThreads::run_loop(EventLoop& loop) {
    DCHECK(t_seat.loop == nullptr && t_seat.call == 0);
    t_seat.loop = &loop;
    t_seat.is_relieved = false;
    loop.seat();
    do {
        review_page_waits();
    } while (run_one(loop) && settle());
    sched::FaultPoint::set_hook(nullptr);
    t_seat.loop = nullptr;
    t_seat.call = 0;
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

bool LoopThreads::settle() {
    Seat& seat = t_seat;
    if (seat.call != 0) seat.is_relieved = !seat.loop->end_call(std::exchange(seat.call, 0));
    return !seat.is_relieved;
}

void LoopThreads::begin_call() {
    Seat& seat = t_seat;
    if (seat.loop == nullptr || seat.call != 0 || seat.is_relieved) return;
    seat.call = seat.loop->begin_call();
    const Pace pace = seat.loop->is_shared() ? Pace::fast : Pace::slow;
    // Sequentially consistent with the keeper: either it still sees the call before it slows down,
    // or this sees that it has.
    if (seat.threads->pace_.load(std::memory_order_seq_cst) < pace) seat.threads->nudge(pace);
}

// Where others wait for the loop: a lone client would gain nothing.
void LoopThreads::about_to_wait_for_pages() {
    const Seat& seat = t_seat;
    if (seat.call != 0 && seat.loop->is_shared() && seat.loop->take_away(seat.call))
        seat.threads->give_away(*seat.loop);
}

void LoopThreads::review_page_waits() {
    Seat& seat = t_seat;
    if (++seat.handlers >= kHandlersPerLook) {
        const int64_t waits = page_waits_();
        const int64_t fresh = waits - std::exchange(seat.page_waits, waits);
        seat.handlers = 0;
        if (fresh >= kManyPageWaits) pages_are_missing_.store(true, std::memory_order_relaxed);
        if (fresh <= kFewPageWaits) pages_are_missing_.store(false, std::memory_order_relaxed);
    }
    const bool missing = pages_are_missing_.load(std::memory_order_relaxed);
    sched::FaultPoint::set_hook(missing ? &about_to_wait_for_pages : nullptr);
}

void LoopThreads::nudge(Pace pace) {
    const std::lock_guard guard(mutex_);
    if (pace_.load() < pace) pace_.store(pace);
    keeper_wakes_.notify_one();
}

// A spare thread waits here for a loop; null: the thread may end.
EventLoop* LoopThreads::next_loop() {
    std::unique_lock lock(mutex_);
    const int spares_wanted =
        pages_are_missing_.load(std::memory_order_relaxed) ? kIdleSparesWithoutPages : kIdleSpares;
    if (unattended_.empty() && (spares_ >= spares_wanted || stopping_)) {
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
        base::log::warning("no thread for {} long operations: {}", threads_.size(), error.what());
    }
}

LoopThreads::Pace LoopThreads::wanted_pace() const {
    Pace pace = Pace::asleep;
    for (const EventLoop* loop : loops_) {
        if (loop->call() != 0) pace = std::max(pace, loop->is_shared() ? Pace::fast : Pace::slow);
    }
    return pace;
}

// Gives those away that are still inside the call of the last look.
void LoopThreads::look_at_loops(std::vector<uint64_t>& seen) {
    for (size_t i = 0; i < loops_.size(); ++i) {
        const uint64_t call = loops_[i]->call();
        if (call != 0 && call == seen[i] && loops_[i]->take_away(call)) give_away(*loops_[i]);
        seen[i] = call;
    }
}

void LoopThreads::keep() {
    const base::SignalStack signal_stack;
    pthread_setname_np(pthread_self(), "loop-keeper");
    std::vector<uint64_t> seen(loops_.size(), 0);
    int looks = 0;
    int quiet = 0;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        const Pace pace = pace_.load();
        const auto is_faster = [this, pace] { return stopping_ || pace_.load() > pace; };
        if (pace == Pace::asleep)
            keeper_wakes_.wait(lock, is_faster);
        else
            keeper_wakes_.wait_for(lock, pace == Pace::fast ? kLongCallTimeout : kLoneLoopTimeout,
                                   is_faster);
        lock.unlock();
        quiet = wanted_pace() >= pace_.load() ? 0 : quiet + 1;
        look_at_loops(seen);
        if (++looks % kQuietLooks == 0) {
            for (EventLoop* loop : loops_)
                loop->review_sharing();
        }
        lock.lock();
        if (quiet < kQuietLooks) continue;
        quiet = 0;
        const Pace slower = pace_.load() == Pace::fast ? Pace::slow : Pace::asleep;
        pace_.store(slower, std::memory_order_seq_cst);
        pace_.store(std::max(slower, wanted_pace()));
    }
}

}  // namespace wire
