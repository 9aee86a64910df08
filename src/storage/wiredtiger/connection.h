// storage/wiredtiger/connection.h - a database of the library: its directory, how it is set up, and
// what it tells of.
//
// The file FORMAT in the directory says that it is ours.
#pragma once

#include <wiredtiger.h>

#include <memory>
#include <string>

#include "storage/kv/host.h"
#include "storage/kv/read_turns.h"

namespace wt {

// A session of the library. Its cursors are closed with it.
struct CloseSession {
    void operator()(WT_SESSION* session) const { session->close(session, nullptr); }
};
using SessionHandle = std::unique_ptr<WT_SESSION, CloseSession>;

// Makes the directory, empty but for the file FORMAT. Throws base::Error where it has others.
void make_directory(const kv::Host& host, const std::string& directory);

class Connection {
  public:
    // See open_map().
    explicit Connection(const kv::MapSettings& settings);
    // Writes a last checkpoint. REQUIRES: all sessions are closed.
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    WT_CONNECTION* get() const { return connection_; }
    // Its transactions are snapshots. Throws base::Error where there are too many.
    SessionHandle open_session() const;
    void reconfigure(const std::string& config) const;

    kv::ReadTurns& read_turns() const { return read_turns_; }

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
    mutable kv::ReadTurns read_turns_;
};

}  // namespace wt
