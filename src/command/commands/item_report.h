// command/commands/item_report.h - the report of one item of a write command.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>

#include "base/dcheck.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "bson/view.h"
#include "command/context/client.h"
#include "command/cursor/query_cursors.h"
#include "command/observe/op_report.h"
#include "command/observe/profiler.h"

namespace command {

// One item of a write command, as an operation of its own: this is what the profiler keeps, as if
// each item had come in an old message.
class ItemReport {
  public:
    ItemReport(Profiler& profiler, Client& client, const char* op, std::string_view ns,
               bson::Doc request)
        : profiler_(profiler),
          client_(client),
          command_(report().request),
          name_(report().command_name),
          as_command_(report().as_command) {
        finished_.op = op;
        finished_.ns = ns;
        finished_.client = client.info().remote;
        finished_.users = &client.login().users();
        finished_.yields = yields();
        finished_.locks = client.operation().locks().times();
        start(request);
    }
    ItemReport(const ItemReport&) = delete;
    ItemReport& operator=(const ItemReport&) = delete;
    // Leaves the command's own report.
    ~ItemReport() {
        const bool comes_again = report().comes_again;
        if (!comes_again) finish();
        start(command_);
        report().comes_again = comes_again;
    }

    OpReport& report() { return client_.report(); }

  private:
    void finish() {
        finished_.millis = base::ms_since(started_);
        finished_.yields = yields() - finished_.yields;
        DCHECK(finished_.yields >= 0);
        finished_.locks = client_.operation().locks().times() - finished_.locks;
        try {
            count_scans_if_told(client_, profiler_, finished_.ns, finished_.millis);
            profiler_.finished(finished_, report(), true);
        } catch (const std::exception& e) {  // no memory for the line
            base::log::error("cannot report an operation: {}", e.what());
        }
    }
    int64_t yields() const { return client_.current().yields(); }
    void start(bson::Doc request) {
        std::destroy_at(&report());
        std::construct_at(&report());
        report().request = request;
        report().has_request = true;
        report().as_command = as_command_;
        report().command_name = name_;
    }

    Profiler& profiler_;
    Client& client_;
    const bson::Doc command_;
    const std::string_view name_;
    const bool as_command_;
    FinishedOp finished_;  // yields and locks: as they were at the start
    const sched::Operation::Clock::time_point started_ = sched::Operation::Clock::now();
};

// Counts an operation at its end, whatever has become of it, unless it comes again.
class CountedOp {
  public:
    CountedOp(std::atomic<int64_t>& counter, const OpReport& report)
        : counter_(counter), report_(report) {}
    CountedOp(const CountedOp&) = delete;
    CountedOp& operator=(const CountedOp&) = delete;
    ~CountedOp() {
        if (!report_.comes_again) counter_.fetch_add(1, std::memory_order_relaxed);
    }

  private:
    std::atomic<int64_t>& counter_;
    const OpReport& report_;
};

}  // namespace command
