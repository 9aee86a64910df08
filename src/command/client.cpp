#include "command/client.h"

#include "command/service.h"

namespace command {

Client::Client(Service& service, const wire::ConnectionInfo& info, wire::Waker& waker)
    : OperationContext(service, info, waker),
      commit_wait_(waker),
      data_wait_(waker),
      login_(service.users(), service.login_delays(), connection()->remote) {}

Client::~Client() {
    service().cursors().opener_left(info().number);
}

}  // namespace command
