// storage/wiredtiger/checkpointer.h - a thread that writes checkpoints: all that is committed goes
// from the cache into files, and what the log has of it is needed no more.
//
// It removes the files of dropped tables too.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "storage/wiredtiger/connection.h"
#include "storage/wiredtiger/tables.h"

namespace wt {

class Checkpointer {
  public:
    Checkpointer(const Connection& connection, Tables& tables, const kv::Host& host,
                 std::function<void()> sync_log);
    // Ends what is under way.
    ~Checkpointer();

    void begin();
    // Returns when one has ended that began later.
    void write();
    void table_dropped();

    // None is under way until resume(), and what asks for one is answered at once: nothing is to be
    // committed in between.
    void pause();
    void resume();

  private:
    void run();
    bool has_work() const { return asked_ > done_ || has_drops_; }
    void work(bool with_checkpoint);

    Tables& tables_;
    const kv::Host& host_;
    const std::function<void()> sync_log_;
    const SessionHandle session_;  // of the thread
    std::mutex mutex_;
    std::condition_variable changed_;
    // Guarded by mutex_:
    uint64_t asked_ = 0, done_ = 0;  // checkpoints
    bool has_drops_ = false;         // since files were removed
    bool is_working_ = false;
    bool is_paused_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace wt
