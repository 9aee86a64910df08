// replica/own_host.h - which names lead to this machine: a member finds itself in a configuration
// by its host. This server connects to no other, so it asks the resolver and not what listens
// there.
#pragma once

#include <string>
#include <string_view>

namespace replica {

// Whether a name, or a numeric address, is that of an interface of this machine. Asks the resolver,
// which may take long. False where it knows no such name.
bool is_own_address(const std::string& name);

// Whether the member "name:port" is the server that listens on `port`, and is called `own_name`
// by itself.
bool is_own_host(std::string_view host, std::string_view own_name, int port);

}  // namespace replica
