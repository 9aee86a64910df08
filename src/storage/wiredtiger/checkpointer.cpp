#include "storage/wiredtiger/checkpointer.h"

#include <exception>
#include <utility>

#include "storage/wiredtiger/status.h"

namespace wt {

Checkpointer::Checkpointer(const Connection& connection, Tables& tables, const ordered::Host& host,
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
    changed_.wait(lock, [this] { return !is_working_; });
}

void Checkpointer::resume() {
    {
        const std::lock_guard lock(mutex_);
        is_paused_ = false;
    }
    changed_.notify_all();
}

void Checkpointer::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(
            lock, [this] { return stopping_ || (!is_paused_ && (asked_ > done_ || has_drops_)); });
        if (stopping_) return;
        const uint64_t asked = asked_;
        is_working_ = true;
        has_drops_ = false;
        lock.unlock();
        try {
            work(asked > done_);
        } catch (const std::exception& error) {
            end_process(host_, error.what());
        }
        lock.lock();
        is_working_ = false;
        done_ = asked;
        changed_.notify_all();
    }
}

// Before the file of a table goes, that it is dropped has to last. Without a log only a checkpoint
// makes it so; it does not come when the next is due, but before files of many are left.
void Checkpointer::work(bool with_checkpoint) {
    const std::vector<ordered::Table> dropped = tables_.dropped();
    if (with_checkpoint || (!sync_log_ && dropped.size() >= kDroppedFilesMax))
        check(host_, session_->checkpoint(session_.get(), nullptr));
    else if (sync_log_)
        sync_log_();
    else
        return;
    tables_.remove_files_of(dropped);
}

}  // namespace wt
