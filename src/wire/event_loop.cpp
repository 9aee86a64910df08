#include "wire/event_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <system_error>

#include "base/dcheck.h"
#include "sched/tick.h"

namespace wire {

namespace asio = boost::asio;

struct EventLoop::Io {
    // Two threads for moments: the one that was relieved, and the one that took over.
    asio::io_context context{2};
    asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
    asio::steady_timer timer{context};
};

EventLoop::EventLoop() {
    errno = 0;
    io_ = std::make_unique<Io>();
    // Asio does not look at what epoll says of the descriptors that wake a loop and tell it the
    // time: such a loop would never end.
    if (errno == ENOSPC || errno == ENOMEM)
        throw std::system_error(errno, std::generic_category(), "epoll");
}

EventLoop::~EventLoop() {
    // Woken connections and pending handlers own connections. These have timers of the context, and
    // while they go they may wake one another.
    closed_ = true;
    Wakeable* wakeable = woken_.exchange(nullptr);
    while (wakeable != nullptr) {
        Wakeable* const next = wakeable->next_;
        const std::shared_ptr<Wakeable> last = std::move(wakeable->self_);
        wakeable = next;
    }
    io_.reset();
    DCHECK(woken_.load() == nullptr);
}

asio::io_context& EventLoop::io() {
    return io_->context;
}

void EventLoop::wake(Wakeable& wakeable) {
    // The waking thread may have used up its memory; a wake that is lost is for good.
    const sched::Uninterruptible whole;
    if (closed_) return;
    if (wakeable.queued_.exchange(true, std::memory_order_acq_rel)) return;
    DCHECK(wakeable.self_ == nullptr);  // it is not in the list
    wakeable.self_ = wakeable.shared_from_this();
    Wakeable* head = woken_.load(std::memory_order_relaxed);
    do {
        wakeable.next_ = head;
    } while (!woken_.compare_exchange_weak(head, &wakeable, std::memory_order_release,
                                           std::memory_order_relaxed));
    // Only the first of a group calls the loop: the others are in the list when it comes.
    if (head == nullptr) asio::post(io_->context, kept(handler_memory_, [this] { tell_woken(); }));
}

void EventLoop::tell_woken() {
    Wakeable* last = woken_.exchange(nullptr, std::memory_order_acquire);
    Wakeable* first = nullptr;
    while (last != nullptr) {
        Wakeable* before = last->next_;
        last->next_ = first;
        first = last;
        last = before;
    }
    while (first != nullptr) {
        Wakeable& wakeable = *first;
        first = first->next_;
        const std::shared_ptr<Wakeable> keep = std::move(wakeable.self_);
        // An exchange, not a store: it sees what a waker wrote before a wake() that found it
        // queued.
        wakeable.queued_.exchange(false, std::memory_order_acq_rel);
        wakeable.on_wake();
    }
}

void EventLoop::set_deadline(Wakeable& wakeable, Clock::time_point deadline) {
    bool first = false;
    {
        const std::lock_guard guard(deadline_mutex_);
        DCHECK(!wakeable.deadline_);
        first = deadlines_.empty() || deadline < deadlines_.begin()->first;
        deadlines_.emplace(deadline, &wakeable);
        wakeable.deadline_ = deadline;
    }
    if (!first) return;
    try {
        asio::post(io_->context, kept(handler_memory_, [this] { arm_timer(); }));
    } catch (...) {
        drop_deadline(wakeable);
        throw;
    }
}

void EventLoop::drop_deadline(Wakeable& wakeable) {
    const std::lock_guard guard(deadline_mutex_);
    if (!wakeable.deadline_) return;
    auto [it, end] = deadlines_.equal_range(*wakeable.deadline_);
    wakeable.deadline_.reset();
    for (; it != end; ++it) {
        if (it->second != &wakeable) continue;
        deadlines_.erase(it);
        return;
    }
    DCHECK(false);  // it has a deadline and is not among those that have
}

void EventLoop::arm_timer() {
    const std::lock_guard guard(deadline_mutex_);
    if (deadlines_.empty()) return;
    io_->timer.expires_at(deadlines_.begin()->first);
    io_->timer.async_wait(kept(handler_memory_, [this](const boost::system::error_code& error) {
        if (!error) on_timer();
    }));
}

void EventLoop::on_timer() {
    {
        const std::lock_guard guard(deadline_mutex_);
        const Clock::time_point now = Clock::now();
        while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
            Wakeable* wakeable = deadlines_.begin()->second;
            DCHECK(wakeable->deadline_ == deadlines_.begin()->first);
            deadlines_.erase(deadlines_.begin());
            wakeable->deadline_.reset();
            wake(*wakeable);  // alive: it drops its deadline, under this mutex, before it goes
        }
    }
    arm_timer();
}

bool EventLoop::run_one() {
    return io_->context.run_one() != 0;
}

void EventLoop::stop() {
    io_->context.stop();
}

bool EventLoop::take_away(uint64_t number) {
    return number != kTaken &&
           call_.compare_exchange_strong(number, kTaken, std::memory_order_acq_rel);
}

}  // namespace wire
