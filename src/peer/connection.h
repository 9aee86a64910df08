// peer/connection.h - a connection to another server, by which commands are run there and the
// cursors that they open are read.
//
// The room peer: a client of the server's own protocol, for members of a replica set. It knows
// messages and documents, and no collections. A call blocks its thread until the answer has come,
// its time is over or the interrupt is set; after a call that has thrown anything but an answer's
// own error the connection is of no use any more. One thread at a time may use it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bson/builder.h"
#include "peer/interrupt.h"
#include "wire/tls.h"

namespace peer {

// The identity under which this server speaks with others.
struct Identity {
    std::string key;  // what members of a set share: it logs in by that; empty: it does not
    std::shared_ptr<wire::TlsClient> tls;  // null: without TLS
};

// The other machine answers, and no server is there at that port.
class Refused : public base::Error {
  public:
    explicit Refused(const std::string& what) : base::Error(base::kHostUnreachable, what) {}
};

class Connection {
  public:
    using Milliseconds = std::chrono::milliseconds;

    // `host`: "name:port"; the first of its addresses that can be reached in the time. The
    // interrupt outlives this. Throws base::Error 6 where there is none, Refused among them, 89
    // when the time is over, 11600 at the interrupt. Asks the resolver, which takes its own time.
    // Throws 18 where the other has another key, or none.
    Connection(std::string_view host, const Interrupt& interrupt, Milliseconds limit,
               const Identity& identity = {});
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    const std::string& host() const { return host_; }
    // Runs a command by OP_MSG: `command` without $db. The answer is valid until the next call.
    // Throws base::Error: that of an answer that is none (`ok` is not 1), 6 where the connection
    // ends, 17 for what is no answer, 89 and 11600 as above.
    bson::Doc run(std::string_view db, bson::Doc command, Milliseconds limit);
    // Sends one and asks for no answer: what becomes of it is not known. Throws as above.
    void tell(std::string_view db, bson::Doc command, Milliseconds limit);
    // Returns the bytes of all answers so far.
    int64_t bytes_received() const { return bytes_received_; }

  private:
    using Time = std::chrono::steady_clock::time_point;

    void begin_tls(const wire::TlsClient& tls, Time until);
    void log_in(const std::string& key, Time until);
    bool connect_to(const void* address, unsigned size, int family, Time until);
    int32_t write_request(std::string_view db, bson::Doc command, uint32_t flags);
    void send(Time until);
    void receive(uint8_t* into, size_t size, Time until);
    void await(short events, Time until) const;
    void await(wire::TlsStream::Result wanted, Time until) const;
    [[noreturn]] void lost(const char* how) const;

    const std::string host_;
    const Interrupt& interrupt_;
    int socket_ = -1;
    std::unique_ptr<wire::TlsStream> tls_;  // null: without
    bson::Buffer request_;
    bson::Buffer reply_;
    int64_t bytes_received_ = 0;
};

// The documents that a command's cursor has, batch by batch. A cursor that is left open there ends
// with the connection's own end, or by the server's time limit.
class Cursor {
  public:
    // Runs the command, whose answer has the first batch.
    Cursor(Connection& connection, std::string_view db, bson::Doc command,
           Connection::Milliseconds limit);
    // An array of documents, until the next use of the connection.
    bson::Doc batch() const { return batch_; }
    // What the answer says of the cursor, with the batch; as long.
    bson::Doc reply() const { return reply_; }
    bool is_open() const { return id_ != 0; }
    // The next one. `await`: of a tailable cursor, how long the other server may wait for what is
    // new; then the batch is empty. `more`: further fields of the request.
    void fetch(Connection::Milliseconds await = {}, bson::Doc more = {});

  private:
    void take(bson::Doc reply, const char* field);

    Connection& connection_;
    const std::string db_;
    const Connection::Milliseconds limit_;
    std::string collection_;
    int64_t id_ = 0;
    bson::Doc reply_;
    bson::Doc batch_;
};

}  // namespace peer
