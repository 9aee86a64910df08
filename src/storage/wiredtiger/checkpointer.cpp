#include "storage/wiredtiger/checkpointer.h"

#include <exception>
#include <utility>

#include "base/dcheck.h"
#include "storage/wiredtiger/status.h"

namespace wt {

Checkpointer::Checkpointer(const Connection& connection, Tables& tables, const kv::Host& host,
                           std::function<void()> sync_log)
    : tables_(tables),
      host_(host),
      sync_log_(std::move(sync_log)),
      session_(connection.open_session()),
      thread_([this] { run(); }) {}

Checkpointer::~Checkpointer() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Checkpointer::begin() {
    {
        const std::lock_guard lock(mutex_);
        if (is_paused_) return;
        ++asked_;
    }
    changed_.notify_all();
}

void Checkpointer::write() {
    std::unique_lock lock(mutex_);
    if (is_paused_) return;
    const uint64_t mine = ++asked_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return done_ >= mine; });
}

void Checkpointer::table_dropped() {
    {
        const std::lock_guard lock(mutex_);
        has_drops_ = true;
    }
    changed_.notify_all();
}

void Checkpointer::pause() {
    write();
    std::unique_lock lock(mutex_);
    is_paused_ = true;
    DCHECK(done_ <= asked_);
    changed_.wait(lock, [this] { return !is_working_; });
}

void Checkpointer::resume() {
    {
        const std::lock_guard lock(mutex_);
        DCHECK(is_paused_);
        is_paused_ = false;
    }
    changed_.notify_all();
}

void Checkpointer::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return stopping_ || (!is_paused_ && has_work()); });
        if (stopping_) return;
        const uint64_t asked = asked_;
        const bool with_checkpoint = asked > done_;
        is_working_ = true;
        has_drops_ = false;
        lock.unlock();
        try {
            work(with_checkpoint);
        } catch (const std::exception& error) {
            end_process(host_, error.what());
        }
        lock.lock();
        DCHECK(is_working_ && done_ <= asked);
        is_working_ = false;
        done_ = asked;
        changed_.notify_all();
    }
}

// The drop of a table has to be on the device, by the log or by a checkpoint, before the table's
// file goes.
void Checkpointer::work(bool with_checkpoint) {
    const std::vector<kv::Table> dropped = tables_.dropped();
    if (with_checkpoint)
        check(host_, session_->checkpoint(session_.get(), nullptr));
    else
        sync_log_();
    tables_.remove_files_of(dropped);
}

}  // namespace wt
