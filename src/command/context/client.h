// command/context/client.h - one connection as the commands and the old messages see it.
#pragma once

#include "command/access/access_control.h"
#include "command/access/login.h"
#include "command/context/last_error.h"
#include "command/context/logical_sessions.h"
#include "command/context/operation_context.h"
#include "command/context/waits.h"
#include "oplog/entry.h"

namespace command {

class Client final : public OperationContext {
  public:
    Client(OperationContexts& contexts, AccessControl& access_control,
           const wire::ConnectionInfo& info, wire::Waker& waker);

    const wire::ConnectionInfo& info() const { return *connection(); }
    LastError& last_error() { return last_error_; }
    CommitWait& commit_wait() { return commit_wait_; }
    DataWait& data_wait() { return data_wait_; }
    LogicalSessions::Recent& recent_session() { return recent_session_; }
    Login& login() { return login_; }
    AccessControl& access_control() { return access_control_; }
    // Returns until when the answer to the request under way is held back; nothing: not at all.
    std::optional<Login::Clock::time_point> reply_at() const { return login_.reply_at(); }
    void forget_delay() { login_.forget_delay(); }
    // The entry of its last change, in the log of a set; zeros: it has made none.
    oplog::Position last_write() const { return last_write_; }
    void note_write(oplog::Position position) {
        if (position.ts != 0) last_write_ = position;
    }
    // A spare buffer for documents that have to be rewritten.
    bson::Buffer& scratch() {
        scratch_.clear();
        return scratch_;
    }
    // A request is over: what only it needed goes.
    void give_back() {
        if (scratch_.capacity() > kKeptScratchBytes) scratch_ = bson::Buffer();
    }

    std::vector<std::string> owners() const override { return login_.ids(); }

  private:
    static constexpr size_t kKeptScratchBytes = 16 * 1024;

    AccessControl& access_control_;
    LastError last_error_;
    CommitWait commit_wait_;
    DataWait data_wait_;
    LogicalSessions::Recent recent_session_;
    Login login_;
    oplog::Position last_write_;
    bson::Buffer scratch_;
};

}  // namespace command
