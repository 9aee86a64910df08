// monitoring/port.h - the port by which monitoring programs read GET /metrics over HTTP.
//
// One thread serves all of them, beside those of the database: clients cost it nothing before a
// request comes, and then one serverStatus. Where the server asks clients to log in, a program does
// so by HTTP's Basic scheme, as a user of `admin` who may run serverStatus; a failed login costs it
// the same waits as one at the database (command/access/login_delays.h). Where the server speaks
// TLS this port does, by the same certificates.
//
// Bounds: so many connections, of which the one that was silent for longest yields to a new one;
// a time for a handshake, a request and an answer; a size of a request, which has no body.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wire/handler.h"

struct ssl_ctx_st;

namespace monitoring {

struct PortOptions {
    std::vector<std::string> addresses;  // numeric or names
    int port = 0;                        // 0: any free one
    bool asks_for_login = false;
    // Returns the TLS context of a connection that begins now; empty: it does not encrypt.
    std::function<std::shared_ptr<ssl_ctx_st>()> tls;
    bool tls_required = false;  // else a client may leave it out
    std::string data_directory;
};

class Port {
  public:
    static constexpr size_t kConnectionsMax = 16;

    // Listens; programs can connect but are not served yet. The handler outlives it. Throws
    // base::Error with code 48, as the process then exits, that names the address.
    Port(wire::Handler& handler, PortOptions options);
    // Waits for a command that is under way.
    ~Port();
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    // Starts to serve; once.
    void start();

    int port() const;  // the bound one

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace monitoring
