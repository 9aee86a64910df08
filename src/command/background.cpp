#include "command/background.h"

#include <pthread.h>

#include "command/service.h"

namespace command {

BackgroundOperation::BackgroundOperation(Service& service, std::string description)
    : service_(service), description_(std::move(description)), scope_(&operation_) {
    current_.thread.store(pthread_self(), std::memory_order_relaxed);
    operation_.start();
    const std::lock_guard guard(service_.sessions_mutex_);
    service_.background_.insert(this);
}

BackgroundOperation::~BackgroundOperation() {
    const std::lock_guard guard(service_.sessions_mutex_);
    service_.background_.erase(this);
}

void BackgroundOperation::next(const char* op, std::string_view ns, bson::Object request) {
    const std::lock_guard guard(service_.sessions_mutex_);
    operation_.start();
    const std::lock_guard current_guard(current_.mutex);
    current_.op = op;
    current_.ns = ns;
    request_ = std::move(request);
    current_.request = request_;
    current_.has_request = true;
    current_.report = OpReport();
}

}  // namespace command
