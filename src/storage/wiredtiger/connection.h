// storage/wiredtiger/connection.h - a database of the library: its directory, how it is set up, and
// what it tells of.
//
// The file FORMAT in the directory says that it is ours.
#pragma once

#include <wiredtiger.h>

#include <memory>
#include <mutex>
#include <string>

#include "storage/kv/host.h"

namespace wt {

// The rows that a session of the library sees outside of a transaction, and in one that says
// nothing of it. No two sessions change one row, so at read_committed each call sees what is
// committed by then.
enum class Isolation { read_committed, snapshot };

// A session of the library. Its cursors are closed with it.
struct CloseSession {
    void operator()(WT_SESSION* session) const { session->close(session, nullptr); }
};
using SessionHandle = std::unique_ptr<WT_SESSION, CloseSession>;

class Connection {
  public:
    // See open_map().
    explicit Connection(const kv::MapSettings& settings);
    // Writes a last checkpoint. REQUIRES: all sessions are closed.
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    WT_CONNECTION* get() const { return connection_; }
    // Throws base::Error where there are too many.
    SessionHandle open_session(Isolation isolation = Isolation::read_committed) const;
    void reconfigure(const std::string& config) const;

    // A call that reads a row, while it is in scope. Where there is little memory one goes on at a
    // time: the library has a large row two or three times until it has read it. A session with
    // changes does not wait: the one that reads may wait for room in the cache, which they take.
    class Reading {
      public:
        Reading(const Connection& connection, bool has_changes) {
            if (connection.has_little_memory_ && !has_changes)
                turn_ = std::unique_lock(connection.reading_);
        }

      private:
        std::unique_lock<std::mutex> turn_;
    };

  private:
    // The library knows the first member only.
    struct Events {
        WT_EVENT_HANDLER handler;
        const kv::Host* host;
        bool is_open;  // until then the answer to the open is what counts
    };

    static int handle_error(WT_EVENT_HANDLER* handler, WT_SESSION* session, int error,
                            const char* text);
    static int handle_message(WT_EVENT_HANDLER* handler, WT_SESSION* session, const char* text);

    const kv::Host& host_;
    Events events_;
    WT_CONNECTION* connection_ = nullptr;
    const bool has_little_memory_;
    mutable std::mutex reading_;
};

}  // namespace wt
