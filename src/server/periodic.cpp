#include "server/periodic.h"

#include <pthread.h>

#include <exception>

#include "base/log.h"
#include "base/signal_stack.h"

namespace server {

Periodic::Periodic(std::string name, std::chrono::milliseconds interval, std::function<void()> work)
    : name_(std::move(name)), interval_(interval), work_(std::move(work)) {
    thread_ = std::thread([this] { run(); });
}

Periodic::~Periodic() {
    {
        const std::lock_guard guard(mutex_);
        end_ = true;
        ended_.notify_all();
    }
    thread_.join();
}

void Periodic::run() {
    const base::SignalStack signal_stack;
    base::log::set_context(name_);
    ::pthread_setname_np(::pthread_self(), name_.substr(0, 15).c_str());
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, interval_, [this] { return end_; })) {
        lock.unlock();
        try {
            work_();
        } catch (const std::exception& error) {
            base::log::error("{}", error.what());
        }
        lock.lock();
    }
}

}  // namespace server
