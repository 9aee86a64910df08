// wire/listener.h - the server's sockets: binds, accepts, and has the connections run on a few
// event loops.
//
// The embedding program gives it a Handler (wire/handler.h); every message of every connection goes
// there. Threads: Options::loops of them plus one keeper, and one more per operation that blocks
// for longer than a moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wire/handler.h"
#include "wire/receiving.h"
#include "wire/tls.h"

namespace wire {

class Listener {
  public:
    struct Options {
        std::vector<std::string> addresses{"127.0.0.1"};  // numeric or names; IPv4 unless `ipv6`
        int port = 27017;                                 // 0: any free one
        bool ipv6 = false;        // IPv6 addresses are bound too, and ::1 beside 127.0.0.1
        bool unix_socket = true;  // <prefix>/mongodb-<port>.sock
        std::string unix_socket_prefix = "/tmp";
        unsigned unix_socket_mode = 0700;
        int64_t max_connections = 1'000'000;  // more are closed at once
        int loops = 2;
        ReceiveLimits receive;
        TlsOptions tls;  // of TCP; the Unix socket stays plain
    };
    // serverStatus: connections and network.
    struct Stats {
        int64_t connections_open = 0;
        int64_t connections_available = 0;
        int64_t connections_ever = 0;
        int64_t bytes_in = 0;
        int64_t bytes_out = 0;
        int64_t requests = 0;
    };

    // The handler outlives the listener.
    Listener(Handler& handler, Options options);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    // Binds and listens; clients can connect but are not served yet. Throws base::Error (code 48,
    // as the process then exits) naming the address, and what TlsContext does.
    void bind();
    // Starts to accept and to serve.
    void start();
    // Accepts no more; removes the Unix socket. Idempotent.
    void stop_accepting();
    // Ends every connection after the exchange it is in, and the threads. An exchange is not
    // interrupted here (sched::Operation::interrupt_all does that). Returns false if some were
    // still busy after `limit`; the threads then go on, and the process should end without
    // destroying the listener. Not to be called from a handler.
    bool stop(std::chrono::milliseconds limit);

    // Sets the limits, from any thread.
    void set_receive_limits(const ReceiveLimits& limits);

    // Has connections that begin their handshake from now on see the files of TLS as they are now;
    // from any thread. Throws base::Error that names one which cannot be used, and changes nothing
    // then. REQUIRES: TLS is spoken.
    void read_certificates();
    // What connections that begin now encrypt with, for another port of this server; from any
    // thread. REQUIRES: TLS is spoken.
    std::shared_ptr<ssl_ctx_st> tls_files() const;

    int port() const;                             // the bound one
    const std::string& unix_socket_path() const;  // empty if there is none
    Stats stats() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace wire
