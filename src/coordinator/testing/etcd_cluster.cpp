#include "coordinator/testing/etcd_cluster.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace coordinator {

namespace {

// Ports that were free together a moment ago.
std::vector<int> free_ports(size_t count) {
    std::vector<int> ports, sockets;
    for (size_t i = 0; i < count; ++i) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
            ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
            throw std::runtime_error("no free port");
        ports.push_back(ntohs(address.sin_port));
        sockets.push_back(fd);
    }
    for (const int fd : sockets)
        ::close(fd);
    return ports;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::string run_command(const std::string& command) {
    std::string output;
    std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("popen");
    std::array<char, 4096> buffer;
    while (const size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe))
        output.append(buffer.data(), size);
    EXPECT_EQ(::pclose(pipe), 0) << command << "\n" << output;
    return output;
}

bool EtcdCluster::is_there() {
    return std::system("command -v etcd etcdctl >/dev/null") == 0;
}

EtcdCluster::EtcdCluster(int servers, Secrets secrets) : secrets_(std::move(secrets)) {
    folder_ = testing::TempDir() + "etcds-XXXXXX";
    if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("mkdtemp");
    const auto count = static_cast<size_t>(servers);
    const std::vector<int> ports = free_ports(2 * count);
    for (size_t i = 0; i < count; ++i)
        servers_.push_back({ports[2 * i], ports[2 * i + 1], 0});
    for (int i = 0; i < servers; ++i)
        start(i);
    try {
        await_all();
    } catch (...) {
        end();
        throw;
    }
}

EtcdCluster::~EtcdCluster() {
    end();
}

void EtcdCluster::end() {
    for (int i = 0; i < static_cast<int>(servers_.size()); ++i)
        if (servers_[static_cast<size_t>(i)].pid != 0) kill(i);
    std::filesystem::remove_all(folder_);
}

std::string EtcdCluster::folder(int server) const {
    return fmt::format("{}/{}", folder_, server);
}

void EtcdCluster::start(int server) {
    std::string cluster;
    for (size_t i = 0; i < servers_.size(); ++i)
        cluster +=
            fmt::format("{}e{}=http://127.0.0.1:{}", i == 0 ? "" : ",", i, servers_[i].peer_port);
    Server& own = servers_[static_cast<size_t>(server)];
    const std::string peers = fmt::format("http://127.0.0.1:{}", own.peer_port);
    std::vector<std::string> words = {"etcd",
                                      fmt::format("--name=e{}", server),
                                      "--data-dir=" + folder(server),
                                      "--listen-client-urls=" + url(server),
                                      "--advertise-client-urls=" + url(server),
                                      "--listen-peer-urls=" + peers,
                                      "--initial-advertise-peer-urls=" + peers,
                                      "--initial-cluster=" + cluster,
                                      "--log-outputs=stderr"};
    if (!secrets_.certificate_file.empty()) {
        words.push_back("--cert-file=" + secrets_.certificate_file);
        words.push_back("--key-file=" + secrets_.key_file);
    }
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string log = folder(server) + ".log";
    own.pid = ::fork();
    if (own.pid < 0) throw std::runtime_error("fork");
    if (own.pid > 0) return;
    const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(fd, 1);
    ::dup2(fd, 2);
    ::execvp("etcd", arguments.data());
    ::_exit(127);
}

void EtcdCluster::await_all() const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (int i = 0; i < static_cast<int>(servers_.size()); ++i)
        while (read_file(folder(i) + ".log").find(" client requests on ") == std::string::npos) {
            if (std::chrono::steady_clock::now() > until)
                throw std::runtime_error("etcd does not answer: " + read_file(folder(i) + ".log"));
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
}

std::string EtcdCluster::url(int server) const {
    return fmt::format("{}://127.0.0.1:{}", scheme(), servers_[static_cast<size_t>(server)].port);
}

std::string EtcdCluster::urls() const {
    std::string all;
    for (int i = 0; i < static_cast<int>(servers_.size()); ++i)
        all += (i == 0 ? "" : ",") + url(i);
    return all;
}

void EtcdCluster::send_signal(int server, int number) {
    ::kill(servers_[static_cast<size_t>(server)].pid, number);
}

void EtcdCluster::kill(int server) {
    pid_t& pid = servers_[static_cast<size_t>(server)].pid;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = 0;
}

std::string EtcdCluster::ctl(const std::string& words) const {
    return run_command(fmt::format("ETCDCTL_API=3 etcdctl --endpoints={} {}", url(0), words));
}

}  // namespace coordinator
