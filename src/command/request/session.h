// command/request/session.h - reading messages: decodes each one that a connection sends, finds its
// handler, and turns failures into the reply of its dialect. No other file needs to know the
// dialects.
#pragma once

#include <string>

#include "command/context/client.h"
#include "command/request/members_wait.h"
#include "command/request/run_command.h"
#include "command/request/service.h"
#include "command/request/suspension.h"
#include "wire/handler.h"
#include "wire/message.h"

namespace command {

class ClientSession final : public wire::Session {
  public:
    ClientSession(Service& service, const wire::ConnectionInfo& info, wire::Waker& waker);
    ~ClientSession() override;

    wire::Step serve(std::span<const uint8_t> message, bson::Buffer& reply) override;
    wire::Step resume(bson::Buffer& reply) override;

  private:
    void start_request(std::span<const uint8_t> message, bson::Buffer& reply);
    // Serves message_, which may be one that has waited.
    wire::Step begin(bson::Buffer& reply);
    wire::Step dispatch_or_fail(bson::Buffer& reply);
    // The reply to what failed outside of a command's own work.
    wire::Step failed(int code, const char* text, bson::Buffer& reply, bool of_stream = false);
    void end_request();
    // Goes on, after a reply, with the request that its client need not send.
    wire::Step stream_on(const wire::Step& step, bson::Buffer& reply);
    // Prepare it: an OP_GET_MORE after a reply to an exhaust query; or the hello with what its
    // reply has told. False: nothing follows.
    bool prepare_get_more(const bson::Buffer& reply);
    bool prepare_hello(const wire::MsgMessage& hello, const bson::Buffer& reply);

    wire::Step dispatch(std::span<const uint8_t> message, bson::Buffer& reply);
    wire::Step serve_msg(std::span<const uint8_t> message, bson::Buffer& reply);
    // The opcodes of 2.6: session_v26.cpp.
    wire::Step serve_query(std::span<const uint8_t> message, bson::Buffer& reply);
    wire::Step serve_query_command(const wire::QueryMessage& query, std::string_view db,
                                   bson::Buffer& reply);
    wire::Step serve_get_more(std::span<const uint8_t> message, bson::Buffer& reply);
    wire::Step serve_write(std::span<const uint8_t> message, wire::Opcode opcode,
                           bson::Buffer& reply);
    wire::Step serve_kill_cursors(std::span<const uint8_t> message);

    // Waits as a request asks.
    wire::Step suspend(Suspension&& suspension, bson::Buffer& reply);
    wire::Step wait_for_turn(bson::Buffer& reply);
    // Waits for members, and for a commit where there is one; then the reply is complete.
    wire::Step wait_for_members(bson::Buffer& reply);
    // Whether a resume came before what is waited for.
    bool still_waits();
    void add_to_reply(bson::Buffer& reply);
    // Access control is on, and no user has logged in.
    bool is_unauthenticated();
    // Limits the messages before a login, which needs only small ones.
    void limit_messages();
    wire::Step undecodable(const wire::DecodeError& error, std::span<const uint8_t> message,
                           bson::Buffer& reply);
    void query_failure(bson::Buffer& reply, const wire::Header& header, const base::Error& error);

    Service& service_;
    Client client_;
    std::span<const uint8_t> message_;  // being served, or waiting to be served again
    size_t reply_start_ = 0;
    Suspension suspension_;  // how the request waits; for nothing while it is served
    MembersWait members_wait_;
    std::string exhaust_ns_;     // of the exhaust query that is being answered; empty: none is
    bool goes_on_ = false;       // next_request_ is ready
    bson::Buffer next_request_;  // which the client need not send; it may be message_
};

}  // namespace command
