// wire/handler.h - what a connection needs from the rest of the server, and what it offers back.
//
// wire/ owns sockets, framing and event loops. For every whole message it calls Handler::serve on a
// loop thread; the handler fills `reply` with zero or more complete messages (framed, ready to
// send). A handler that has to wait (for a commit, for new data behind a tailable cursor) returns
// `suspend` after arranging that Waker::wake() is called; the connection then holds no thread, and
// Session::resume continues on a loop thread after wake() or at the deadline.
//
// A resume may also come early (a wake that raced with a deadline, a server that shuts down): the
// session checks whether what it waits for has happened, and if not it just returns `suspend`
// again. After a resume by deadline it must see to it that no wake comes any more once the
// exchange, or the session, has ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "bson/builder.h"

namespace wire {

// May be called from any thread, also before the suspending call has returned; cheap, never blocks.
// The wakes of one commit reach a loop in one pass.
class Waker {
  public:
    virtual ~Waker() = default;
    virtual void wake() = 0;
};

struct Step {
    enum class Kind {
        reply,    // send what is in `reply` (possibly nothing) and read the next message
        close,    // send what is in `reply`, then close the connection
        suspend,  // wait for Waker::wake() or `deadline`, then call resume
        more,     // send what is in `reply`, then call resume for what follows it
    };
    Kind kind = Kind::reply;
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
    // suspend: for so long that a disconnect of the client should be noticed; the session then
    // ends.
    bool watch_client = false;
};

struct ConnectionInfo {
    int64_t number = 0;  // connN
    std::string remote;  // "127.0.0.1:53124" or "anonymous unix socket"
    std::string local;
    bool local_client = true;  // loopback or Unix socket
};

// Per connection state of the handler.
class Session {
  public:
    virtual ~Session() = default;
    // One whole message, header included (16 <= size <= 48,000,000); valid until the step that ends
    // the exchange.
    virtual Step serve(std::span<const uint8_t> message, bson::Buffer& reply) = 0;
    virtual Step resume(bson::Buffer& reply) = 0;

    // The largest message taken next; a client that announces a larger one is disconnected.
    int32_t message_bytes_max() const { return message_bytes_max_; }

  protected:
    void set_message_bytes_max(int32_t bytes) { message_bytes_max_ = bytes; }

  private:
    int32_t message_bytes_max_ = std::numeric_limits<int32_t>::max();
};

class Handler {
  public:
    virtual ~Handler() = default;
    // The waker outlives the session.
    virtual std::unique_ptr<Session> open(const ConnectionInfo& info, Waker& waker) = 0;
};

}  // namespace wire
