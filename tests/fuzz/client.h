// tests/fuzz/client.h - a whole server without sockets, and clients that send it documents.
//
// A document is the body of a command, in database d unless it says otherwise; or, where its first
// field is the name of an old opcode ("OP_QUERY": namespace), a message of that kind: q, u, fields,
// n, skip and flags are its parts. 64 where a cursor's id is expected is the last one known.
#pragma once

#include <functional>
#include <memory>

#include "catalog/catalog.h"
#include "command/request/service.h"
#include "os/testing/sim_file_system.h"
#include "storage/engine.h"
#include "target.h"

namespace fuzz {

// Commands, their fields, namespaces and some operators, for mutator.h.
std::span<const char* const> command_words();

class Service {
  public:
    // Over an engine on the simulated disk, or over the one in memory, which is much quicker.
    explicit Service(bool on_disk);
    ~Service();
    command::Service& commands() { return *service_; }
    command::ServerContext& context() { return context_; }
    catalog::Catalog& catalog() { return *catalog_; }

  private:
    os::SimFileSystem disk_;
    std::unique_ptr<storage::Engine> engine_;
    std::unique_ptr<catalog::Catalog> catalog_;
    command::ServerContext context_;
    std::unique_ptr<command::Service> service_;
};

class Client {
  public:
    // Called with each reply, a whole message.
    using Look = std::function<void(std::span<const uint8_t>)>;

    explicit Client(command::Service& service, Look look = {})
        : service_(service), look_(std::move(look)) {
        connect();
    }
    // Every reply is one that clients can read. Where the exchange waits, the client looks a few
    // times and leaves.
    void send(bson::Doc doc);
    // The body of the reply to a command.
    bson::Object run(const bson::Object& command);

    int64_t cursor() const { return cursor_; }
    void set_cursor(int64_t id) { cursor_ = id; }

  private:
    class NoWaker final : public wire::Waker {
      public:
        void wake() override {}
    };
    void connect();
    void write_msg(bson::Buffer& out, bson::Doc doc) const;
    bool write_old(bson::Buffer& out, bson::Doc doc) const;
    void exchange(bson::Buffer& message);
    void look_at(std::span<const uint8_t> replies);
    void look_at_msg(std::span<const uint8_t> message);
    void look_at_old(std::span<const uint8_t> message);
    void look_at_result(bson::Doc result);

    command::Service& service_;
    const Look look_;
    NoWaker waker_;
    std::unique_ptr<wire::Session> session_;
    int connections_ = 0;
    int64_t cursor_ = 0;
    bson::Object last_reply_;
};

}  // namespace fuzz
