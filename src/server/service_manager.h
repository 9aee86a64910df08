// server/service_manager.h - telling the manager of services (systemd) what this process is at: the
// protocol of sd_notify(3), one datagram to the socket that NOTIFY_SOCKET names.
#pragma once

#include <string_view>

namespace server {

// Sends "READY=1", "STATUS=text", "STOPPING=1"; several by newlines. Does nothing without the
// variable. A message that cannot be sent is lost: no manager, no harm.
void notify_service_manager(std::string_view state);

}  // namespace server
