#include "server/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace server {
namespace {

class ServiceManagerTest : public testing::Test {
  protected:
    ~ServiceManagerTest() override {
        ::unsetenv("NOTIFY_SOCKET");
        if (fd_ >= 0) ::close(fd_);
        std::filesystem::remove(path_);
    }
    // `name` as the manager passes it on.
    void listen_at(const std::string& name) {
        fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, name.data(), name.size());
        if (name[0] == '@') address.sun_path[0] = '\0';
        ASSERT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address),
                         static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
                  0);
        ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    }
    std::string received() const {
        char text[200];
        const ssize_t length = ::recv(fd_, text, sizeof text, 0);
        return length < 0 ? "nothing" : std::string(text, static_cast<size_t>(length));
    }

    const std::string path_ = testing::TempDir() + "manager-" + std::to_string(::getpid());
    int fd_ = -1;
};

TEST_F(ServiceManagerTest, ASocketInTheFileSystem) {
    listen_at(path_);
    notify_service_manager("READY=1\nSTATUS=well");
    EXPECT_EQ(received(), "READY=1\nSTATUS=well");
    notify_service_manager("STOPPING=1");
    EXPECT_EQ(received(), "STOPPING=1");
}

TEST_F(ServiceManagerTest, ASocketWithoutAFile) {
    listen_at("@manager-" + std::to_string(::getpid()));
    notify_service_manager("READY=1");
    EXPECT_EQ(received(), "READY=1");
}

TEST_F(ServiceManagerTest, WithoutAManagerNothingHappens) {
    notify_service_manager("READY=1");
    for (const std::string& name : {std::string(), path_, std::string(200, 'x')}) {
        ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
        notify_service_manager("READY=1");
    }
}

}  // namespace
}  // namespace server
