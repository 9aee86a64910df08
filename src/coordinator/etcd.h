// coordinator/etcd.h - the store that decides elections (election/keys.h), in etcd: each
// transaction is one request `POST /v3/kv/txn` of its HTTP gateway.
//
// The room coordinator: it knows addresses, TLS, users and JSON, and nothing of elections. Servers
// of a cluster are tried in turn, beginning with the one that answered last, for half a second
// each, three seconds in all; so one that is stopped or cut off costs half a second once. A
// transaction may so be sent to several: each of election/keys.h compares what it changes, and does
// nothing the second time.
//
// Reads are linearizable: a member that asks an etcd which has lost the others gets no answer.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "election/keys.h"

namespace coordinator {

struct Endpoint {
    bool is_encrypted = false;
    std::string host;
    std::string port;
    std::string url;  // as it was given
};
// Reads "http://host:2379,https://[::1]:2379". Throws base::Error 2.
std::vector<Endpoint> parse_endpoints(std::string_view urls);

struct EtcdOptions {
    std::vector<Endpoint> endpoints;  // at least one
    std::string user;                 // empty: none
    std::string password;
    std::string ca_file;               // PEM: who signs etcd's certificate; empty: the system's
    std::string certificate_key_file;  // PEM: what is shown to it; empty: none
    std::chrono::milliseconds limit_each{500};
    std::chrono::milliseconds limit{3000};
};

// One thread at a time may use it.
class Etcd final : public election::Coordinator {
  public:
    // Throws base::Error 2 for a file that cannot be used.
    explicit Etcd(EtcdOptions options);
    ~Etcd() override;
    Etcd(const Etcd&) = delete;
    Etcd& operator=(const Etcd&) = delete;

    // Nothing: no server has answered; `why` names each, and what was wrong with it.
    std::optional<election::Answer> run(const election::Transaction& transaction,
                                        std::string* why) override;

  private:
    class Line;

    std::string ask(const Endpoint& endpoint, const std::string& path, const std::string& body,
                    std::chrono::steady_clock::time_point until);
    std::string ask_as_user(const Endpoint& endpoint, const std::string& body,
                            std::chrono::steady_clock::time_point until);
    void log_in(const Endpoint& endpoint, std::chrono::steady_clock::time_point until);

    bool pause(std::chrono::steady_clock::time_point end) const;

    const EtcdOptions options_;
    struct Tls;
    const std::unique_ptr<Tls> tls_;
    size_t last_good_ = 0;
    std::unique_ptr<Line> line_;  // to that endpoint; null: none
    std::string token_;           // empty: not logged in
};

// As etcd's gateway reads a transaction, and writes what came of it. The second throws base::Error
// 17 for what is no answer.
std::string to_request(const election::Transaction& transaction);
election::Answer from_answer(std::string_view json);

}  // namespace coordinator
