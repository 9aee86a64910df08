#include "replica/own_host.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace replica {

namespace {

// The bytes of an IPv4 or IPv6 address; nothing of others.
std::string bytes_of(const sockaddr* address) {
    if (address == nullptr) return {};
    const auto copy = [](const auto& field) {
        return std::string(reinterpret_cast<const char*>(&field), sizeof field);
    };
    if (address->sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, address, sizeof v4);
        return copy(v4.sin_addr);
    }
    if (address->sa_family == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, address, sizeof v6);
        return copy(v6.sin6_addr);
    }
    return {};
}

std::vector<std::string> own_addresses() {
    std::vector<std::string> found;
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return found;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
    for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next)
        if (std::string bytes = bytes_of(each->ifa_addr); !bytes.empty())
            found.push_back(std::move(bytes));
    return found;
}

bool is_loopback(const sockaddr* address) {
    const std::string bytes = bytes_of(address);
    return bytes.size() == sizeof(in_addr) && bytes[0] == 127;
}

}  // namespace

bool is_own_address(const std::string& name) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (::getaddrinfo(name.c_str(), nullptr, &hints, &list) != 0) return false;
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
    const std::vector<std::string> own = own_addresses();
    for (const addrinfo* each = list; each != nullptr; each = each->ai_next)
        if (is_loopback(each->ai_addr) ||
            std::ranges::find(own, bytes_of(each->ai_addr)) != own.end())
            return true;
    return false;
}

bool is_own_host(std::string_view host, std::string_view own_name, int port) {
    const size_t colon = host.rfind(':');
    if (colon == std::string_view::npos || host.substr(colon + 1) != std::to_string(port))
        return false;
    std::string_view name = host.substr(0, colon);
    if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    return name == own_name || is_own_address(std::string(name));
}

}  // namespace replica
