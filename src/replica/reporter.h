// replica/reporter.h - has the journal of a secondary take what it has applied, and tells the
// primary so, by a thread and a connection of its own: those of the log wait for entries then. The
// thread reports what has been applied over that connection (SyncSource::report).
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "peer/connection.h"
#include "replica/member.h"

namespace replica {

class Reporter {
  public:
    // The member outlives this.
    explicit Reporter(Member& member, peer::Identity identity = {})
        : member_(member), identity_(std::move(identity)) {}
    ~Reporter() { stop(); }
    Reporter(const Reporter&) = delete;
    Reporter& operator=(const Reporter&) = delete;

    void start();
    // Waits for the thread.
    void stop();

  private:
    void run();
    void report();

    Member& member_;
    const peer::Identity identity_;
    peer::Interrupt end_;
    std::shared_ptr<const peer::Interrupt> source_end_;  // of the thread, as the next two
    std::unique_ptr<peer::Connection> connection_;
    oplog::Position told_;
    std::string last_error_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool has_news_ = false;  // guarded by mutex_, as the next
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace replica
