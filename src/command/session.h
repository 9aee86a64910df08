// command/session.h - one connection as the commands see it: it decodes each message, finds who
// serves it, and turns failures into the reply its dialect wants.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "base/operation.h"
#include "command/last_error.h"
#include "command/op_report.h"
#include "command/registry.h"
#include "command/service.h"
#include "storage/durability.h"
#include "wire/handler.h"
#include "wire/message.h"

namespace command {

// What currentOp shows of a running request. The mutex guards the views: they point into the
// message, which lives until the request is over.
struct CurrentRequest {
    std::mutex mutex;
    const char* op = "none";
    std::string ns;
    bson::Doc request;
    bool has_request = false;
    std::atomic<int64_t> yields{0};
    std::atomic<uint64_t> thread{0};  // pthread_t of the thread that runs it
    OpReport report;                  // touched only by the thread that runs the request; no mutex
};

// Wakes a suspended connection at most once, and never after it gave up waiting. Shared with
// whoever may have news.
class WakeOnce {
  public:
    explicit WakeOnce(wire::Waker& waker) : waker_(&waker) {}
    void wake() {
        const std::lock_guard guard(mutex_);
        if (waker_ != nullptr) waker_->wake();
        waker_ = nullptr;
    }
    // Returns whether it had not been woken.
    bool disarm() {
        const std::lock_guard guard(mutex_);
        const bool armed = waker_ != nullptr;
        waker_ = nullptr;
        return armed;
    }

  private:
    std::mutex mutex_;
    wire::Waker* waker_;
};

class ClientSession final : public wire::Session {
  public:
    ClientSession(Service& service, const wire::ConnectionInfo& info, wire::Waker& waker);
    ~ClientSession() override;

    wire::Step serve(std::span<const uint8_t> message, bson::Buffer& reply) override;
    wire::Step resume(bson::Buffer& reply) override;

    Service& service() { return service_; }
    const wire::ConnectionInfo& info() const { return info_; }
    base::Operation& operation() { return operation_; }
    LastError& last_error() { return last_error_; }
    CurrentRequest& current() { return current_; }
    // A spare buffer for documents that have to be rewritten.
    bson::Buffer& scratch() {
        scratch_.clear();
        return scratch_;
    }

    // For tailable cursors: until when the running request may wait. Not set on its first try.
    bool is_retry() const { return retry_; }
    bool may_wait_longer() const { return base::Operation::Clock::now() < await_deadline_; }
    // Arranges that this session is woken by the next insert into the collection (database lock
    // held).
    void wake_on_insert(catalog::Collection& collection);
    void set_await_deadline(base::Operation::Clock::time_point deadline) {
        await_deadline_ = deadline;
    }
    // Where resume() stores how long the wait for the disk took (offsets of int32 values in the
    // reply buffer).
    void report_wait_at(size_t offset) { wait_fields_.push_back(offset); }

  private:
    enum class Pending { none, commit, await_data, exhaust };
    // Registered with the engine; keeps itself alive until the commit is done, even if the
    // connection goes away meanwhile.
    struct Waiter : storage::CommitWaiter {
        std::shared_ptr<WakeOnce> wake;
        std::shared_ptr<Waiter> self;
        std::atomic<bool> committed{false};
    };

    void start_request(std::span<const uint8_t> message, bson::Buffer& reply);
    wire::Step begin(bson::Buffer& reply);
    // After a reply to an exhaust query: prepares the OP_GET_MORE that its client need not send.
    wire::Step stream_on(const wire::Step& step, bson::Buffer& reply);
    wire::Step dispatch(std::span<const uint8_t> message, bson::Buffer& reply);
    void end_request();
    wire::Step serve_msg(std::span<const uint8_t> message, bson::Buffer& reply);
    wire::Step serve_query(std::span<const uint8_t> message, bson::Buffer& reply);
    wire::Step serve_query_command(const wire::QueryMessage& query, std::string_view db,
                                   bson::Buffer& reply);
    wire::Step serve_get_more(std::span<const uint8_t> message, bson::Buffer& reply);
    wire::Step serve_write(std::span<const uint8_t> message, wire::Opcode opcode);
    wire::Step serve_kill_cursors(std::span<const uint8_t> message);
    wire::Step undecodable(const wire::DecodeError& error, std::span<const uint8_t> message,
                           bson::Buffer& reply);
    // Runs a command and writes its reply document at the end of `reply`.
    wire::Step run_command(Invocation& invocation, bson::Buffer& reply);
    void execute(Invocation& invocation, const Command& command);
    wire::Step wait_for_commit();
    wire::Step wait_for_data(bson::Buffer& reply);
    void report_wait(bson::Buffer& reply);
    void query_failure(bson::Buffer& reply, const wire::Header& header, const base::Error& error);
    // What currentOp, top and the profiler call the request from here on.
    void describe(const char* op, std::string_view ns, bson::Doc request);
    void describe_command(const Invocation& invocation, const Command& command);
    void report_request(int64_t millis);

    Service& service_;
    const wire::ConnectionInfo info_;
    const std::string context_;  // "conn7"
    wire::Waker& waker_;
    base::Operation operation_;
    LastError last_error_;
    CurrentRequest current_;
    // What top counts the running request as; an empty name: nothing.
    std::string top_ns_;
    Top::Kind top_kind_ = Top::Kind::commands;
    bool top_write_ = false;
    Top::Recent recent_top_;
    // Whether the request itself goes to system.profile, and the database it is shown as a command
    // of (write commands: their items are what is recorded).
    bool recorded_ = false;
    std::string command_ns_;
    bson::Buffer scratch_;
    // The exhaust query that is being answered, if its namespace is set, and the message that asks
    // for its next batch.
    std::string exhaust_ns_;
    bson::Buffer exhaust_get_more_;

    Pending pending_ = Pending::none;
    std::shared_ptr<Waiter> waiter_;
    std::vector<size_t> wait_fields_;
    base::Operation::Clock::time_point wait_started_{};
    std::span<const uint8_t> message_;  // of the suspended request
    size_t reply_start_ = 0;
    bool retry_ = false;
    base::Operation::Clock::time_point await_deadline_{};
    std::shared_ptr<WakeOnce> wake_;
};

}  // namespace command
