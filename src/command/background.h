// command/background.h - work that no client asked for: currentOp shows it, killOp ends it.
#pragma once

#include <string>

#include "base/operation.h"
#include "command/session.h"

namespace command {

// One running job of the server, from its construction to its end. The constructing thread does
// the work.
class BackgroundOperation {
  public:
    // `description` is the desc of currentOp, e.g. "TTLMonitor".
    BackgroundOperation(Service& service, std::string description);
    ~BackgroundOperation();
    BackgroundOperation(const BackgroundOperation&) = delete;
    BackgroundOperation& operator=(const BackgroundOperation&) = delete;

    const std::string& description() const { return description_; }
    base::Operation& operation() { return operation_; }
    CurrentRequest& current() { return current_; }
    // The next part of the work begins, with an opid of its own.
    void next(const char* op, std::string_view ns, bson::Object request);

  private:
    Service& service_;
    const std::string description_;
    base::Operation operation_;
    bson::Object request_;  // what current_ shows
    CurrentRequest current_;
    const base::Operation::Scope scope_;
};

}  // namespace command
