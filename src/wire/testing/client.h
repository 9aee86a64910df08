// wire/testing/client.h - a blocking client over a real socket, for the tests of this room.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "wire/testing/messages.h"

namespace wire::test {

class Client {
  public:
    explicit Client(int port) {
        fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        open(reinterpret_cast<sockaddr*>(&address), sizeof address);
    }
    explicit Client(const std::string& path) {
        fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
        open(reinterpret_cast<sockaddr*>(&address), sizeof address);
    }
    ~Client() { ::close(fd_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    void send(const void* data, size_t n) {
        const auto* p = static_cast<const uint8_t*>(data);
        while (n != 0) {
            const ssize_t done = ::send(fd_, p, n, MSG_NOSIGNAL);
            if (done <= 0) throw std::runtime_error("send failed");
            p += done;
            n -= static_cast<size_t>(done);
        }
    }
    void send(const Bytes& bytes) { send(bytes.data(), bytes.size()); }

    // Exactly n bytes, fewer at the end of the stream.
    Bytes receive(size_t n) {
        Bytes bytes(n);
        size_t got = 0;
        while (got != n) {
            const ssize_t done = ::recv(fd_, bytes.data() + got, n - got, 0);
            if (done <= 0) break;
            got += static_cast<size_t>(done);
        }
        bytes.resize(got);
        return bytes;
    }
    Bytes receive_message() {
        Bytes bytes = receive(kHeaderBytes);
        if (bytes.size() < kHeaderBytes) return {};
        const auto size = static_cast<size_t>(read_header(bytes.data()).length);
        const Bytes rest = receive(size - kHeaderBytes);
        bytes.insert(bytes.end(), rest.begin(), rest.end());
        return bytes;
    }
    bool closed_by_server() { return receive(1).empty(); }
    bool has_input(int wait_ms) {
        pollfd p{fd_, POLLIN, 0};
        return ::poll(&p, 1, wait_ms) > 0;
    }
    void end_of_input() { ::shutdown(fd_, SHUT_WR); }

  private:
    void open(sockaddr* address, socklen_t size) {
        if (fd_ < 0 || ::connect(fd_, address, size) != 0) {
            ::close(fd_);
            throw std::runtime_error("connect failed");
        }
    }
    int fd_;
};

}  // namespace wire::test
