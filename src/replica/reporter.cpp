#include "replica/reporter.h"

#include <pthread.h>

#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/signal_stack.h"

namespace replica {

namespace {

using namespace std::chrono_literals;

constexpr auto kLimit = 5s;         // to connect, and to answer
constexpr auto kPause = 500ms;      // after a failure
constexpr auto kShortPause = 50ms;  // where the next primary may not have begun its term

}  // namespace

void Reporter::start() {
    DCHECK(!thread_.joinable());
    thread_ = std::thread([this] { run(); });
    member_.following().watch([this] {
        {
            const std::lock_guard guard(mutex_);
            has_news_ = true;
        }
        changed_.notify_one();
    });
}

void Reporter::stop() {
    member_.following().watch(nullptr);
    {
        const std::lock_guard guard(mutex_);
        stopping_ = true;
    }
    changed_.notify_one();
    end_.set();
    member_.following().leave_source();
    if (thread_.joinable()) thread_.join();
}

void Reporter::run() {
    const base::SignalStack signal_stack;
    base::log::set_context("rsReporter");
    ::pthread_setname_np(::pthread_self(), "rsReporter");
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return has_news_ || stopping_; });
            if (stopping_) return;
            has_news_ = false;
        }
        try {
            report();
            last_error_.clear();
        } catch (const std::exception& error) {
            connection_ = nullptr;
            told_ = {};
            if (end_.is_set()) return;
            if (source_end_->is_set()) continue;  // the next one brings news
            if (std::exchange(last_error_, error.what()) != error.what())
                base::log::warning("cannot report to the primary: {}", error.what());
            if (end_.wait_for(member_.elections() == nullptr ? kPause : kShortPause)) return;
            const std::lock_guard guard(mutex_);
            has_news_ = true;
        }
    }
}

// Reports only while the member follows: the primary may have lost what a member has that does not.
void Reporter::report() {
    if (source_end_ == nullptr || source_end_->is_set()) {
        connection_ = nullptr;
        told_ = {};
        source_end_ = member_.following().source_end();
    }
    const std::string host = member_.following().syncing_to();
    if (host.empty() || member_.role().state() != State::secondary) return;
    if (!member_.want_durable()) return;  // when that is so, there is news again
    const oplog::Position durable = member_.durable();
    if (durable == std::exchange(told_, durable)) return;
    if (connection_ == nullptr)
        connection_ = std::make_unique<peer::Connection>(host, *source_end_, kLimit, identity_);
    connection_->run("admin", member_.report({durable, durable}), kLimit);
}

}  // namespace replica
