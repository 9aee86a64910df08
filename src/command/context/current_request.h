// command/context/current_request.h - the record of the request that is being served: what
// currentOp shows of it while it runs, and what top, the log and system.profile report when it is
// over.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/user.h"
#include "command/context/logical_sessions.h"
#include "command/observe/counters.h"
#include "command/observe/op_report.h"
#include "command/observe/profiler.h"
#include "dialect/dialect.h"
#include "sched/operation.h"

namespace command {

// The description of a command for the record of its request.
struct DescribedCommand {
    std::string_view name, db;
    bson::Element target;  // its collection, if it is a string
    bson::Doc body;
    std::optional<SessionId> session;
    bool has_secrets = false;                  // no more is shown of the body than first_field()
    bool uses_data = false;                    // works on collections
    bool changes_data = false;                 // and writes to them
    dialect::Dialect dialect = dialect::kV26;  // shown as today's servers do
    bool on_collection = false;                // `target` is the name of a collection
};

// The record of a client's request; it is used again for every request of the client. A member that
// is not said to be for others belongs to the thread that runs the request.
class CurrentRequest {
  public:
    // The part that others see. The view points into the message, which lives until the request is
    // over.
    struct Shown {
        const char* op = "none";
        std::string ns;
        bson::Doc request;
        bool has_request = false;
        dialect::Dialect dialect = dialect::kV26;
        std::optional<SessionId> session;
    };

    // The calling thread begins with a request, or serves it again.
    void attach_to_this_thread() { thread_.store(pthread_self(), std::memory_order_relaxed); }
    void clear_report() { report_ = OpReport(); }
    // Describes what the request is from here on. `request` may be empty.
    void describe(const char* op, std::string_view ns, bson::Doc request);
    // A write command is shown as the old message that it stands for.
    void describe(const DescribedCommand& command);
    // The request is over: reports it to top and the profiler. `remote`: the client's address;
    // `users`: who had logged in there.
    void finish(Top& top, Profiler& profiler, sched::Operation& operation, std::string_view remote,
                const std::vector<auth::User>& users);

    OpReport& report() { return report_; }
    dialect::Dialect dialect() const { return shown_.dialect; }
    // Returns nothing outside of sessions.
    const std::optional<SessionId>& session() const { return shown_.session; }

    // Shows the request to `visit`; other threads may call it too.
    template <typename Visit>
    auto visit(Visit&& visit) {
        const std::lock_guard guard(mutex_);
        return visit(static_cast<const Shown&>(shown_));
    }
    uint64_t thread() const { return thread_.load(std::memory_order_relaxed); }
    int64_t yields() const { return yields_.load(std::memory_order_relaxed); }
    void count_yield() { yields_.fetch_add(1, std::memory_order_relaxed); }

  private:
    struct Forget {
        CurrentRequest& request;
        ~Forget() { request.forget(); }
    };

    bson::Doc hide(bson::Doc body);
    void forget();
    void report_to(Profiler& profiler, sched::Operation& operation, std::string_view remote,
                   const std::vector<auth::User>& users, int64_t millis);

    std::mutex mutex_;
    Shown shown_;  // guarded by mutex_; only the thread that runs the request changes it
    bson::Object shown_part_;  // of what hides its body; as shown_
    std::atomic<int64_t> yields_{0};
    std::atomic<uint64_t> thread_{0};  // pthread_t
    OpReport report_;
    // The name and kind under which top counts the request; an empty name: it counts nothing.
    std::string top_ns_;
    Top::Kind top_kind_ = Top::Kind::commands;
    bool top_write_ = false;
    Top::Recent recent_top_;
    // Whether the request itself goes to system.profile, and the namespace of the command it is
    // reported as (write commands: their items are what is recorded).
    bool recorded_ = false;
    std::string command_ns_;
};

}  // namespace command
