#include "command/context/client.h"

namespace command {

Client::Client(OperationContexts& contexts, AccessControl& access_control,
               const wire::ConnectionInfo& info, wire::Waker& waker)
    : OperationContext(contexts, info, waker),
      access_control_(access_control),
      commit_wait_(waker),
      data_wait_(waker),
      login_(access_control.users, access_control.delays, connection()->remote) {}

}  // namespace command
