#include "command/operation_context.h"

#include <fmt/format.h>

#include <utility>

#include "command/service.h"

namespace command {

OperationContext::OperationContext(Service& service, const wire::ConnectionInfo& connection,
                                   wire::Waker& waker)
    : service_(service),
      connection_(connection),
      waker_(&waker),
      description_(fmt::format("conn{}", connection.number)) {
    service_.add(*this);
}

OperationContext::OperationContext(Service& service, std::string description)
    : service_(service), waker_(nullptr), description_(std::move(description)) {
    service_.add(*this);
}

OperationContext::~OperationContext() {
    service_.remove(*this);
}

void OperationContext::kill(uint32_t id) {
    operation_.kill(id);
    if (waker_ != nullptr) waker_->wake();
}

void OperationContext::note_opener(Cursor& cursor) const {
    cursor.session = current_.session();
    cursor.owners = owners();
    if (connection_) cursor.opener = connection_->number;
}

BackgroundOperation::BackgroundOperation(Service& service, std::string description)
    : OperationContext(service, std::move(description)), scope_(&operation()) {
    current().attach_to_this_thread();
    operation().start();
}

void BackgroundOperation::next(const char* op, std::string_view ns, bson::Object request) {
    operation().start();
    current().clear_report();
    // Others may examine the last one until the new one is described.
    const bson::Object last = std::exchange(request_, std::move(request));
    current().describe(op, ns, request_);
}

}  // namespace command
