#include "command/context/operation_context.h"

#include <fmt/format.h>

#include <utility>

#include "base/dcheck.h"

namespace command {

OperationContext::OperationContext(OperationContexts& contexts,
                                   const wire::ConnectionInfo& connection, wire::Waker& waker)
    : contexts_(contexts),
      connection_(connection),
      waker_(&waker),
      description_(fmt::format("conn{}", connection.number)) {
    contexts_.add(*this);
}

OperationContext::OperationContext(OperationContexts& contexts, std::string description)
    : contexts_(contexts), waker_(nullptr), description_(std::move(description)) {
    contexts_.add(*this);
}

OperationContext::~OperationContext() {
    contexts_.remove(*this);
}

void OperationContext::kill(uint32_t id) {
    operation_.kill(id);
    if (waker_ != nullptr) waker_->wake();
}

bson::Object OperationContext::metadata() const {
    const std::lock_guard guard(metadata_mutex_);
    return metadata_;
}

void OperationContext::set_metadata(bson::Doc metadata) {
    const std::lock_guard guard(metadata_mutex_);
    DCHECK(metadata_.empty());
    metadata_ = bson::Object(metadata);
}

BackgroundOperation::BackgroundOperation(OperationContexts& contexts, std::string description)
    : OperationContext(contexts, std::move(description)), scope_(&operation()) {
    current().attach_to_this_thread();
    operation().start();
}

void BackgroundOperation::next(const char* op, std::string_view ns, bson::Object request) {
    DCHECK(sched::Operation::current() == &operation());
    operation().start();
    current().clear_report();
    // Others may examine the last one until the new one is described.
    const bson::Object last = std::exchange(request_, std::move(request));
    current().describe(op, ns, request_);
}

}  // namespace command
