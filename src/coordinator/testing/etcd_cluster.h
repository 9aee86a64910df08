// coordinator/testing/etcd_cluster.h - etcds on this machine, on free ports, that end with the
// object.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace coordinator {

class EtcdCluster {
  public:
    struct Secrets {
        std::string certificate_file, key_file;  // empty: no TLS for clients
    };
    // Whether etcd is installed.
    static bool is_there();
    // Waits until all answer.
    explicit EtcdCluster(int servers, Secrets secrets = {});
    ~EtcdCluster();
    EtcdCluster(const EtcdCluster&) = delete;
    EtcdCluster& operator=(const EtcdCluster&) = delete;

    // http://127.0.0.1:PORT[,...]
    std::string urls() const;
    std::string url(int server) const;
    void send_signal(int server, int number);
    void kill(int server);
    void start(int server);
    // Runs etcdctl with these words on the first server, and returns what it printed.
    std::string ctl(const std::string& words) const;

  private:
    struct Server {
        int port = 0, peer_port = 0;
        pid_t pid = 0;
    };
    std::string scheme() const { return secrets_.certificate_file.empty() ? "http" : "https"; }
    std::string folder(int server) const;
    void await_all() const;
    void end();

    const Secrets secrets_;
    std::string folder_;
    std::vector<Server> servers_;
};

// Runs a command, whose failure fails the test; returns what it printed.
std::string run_command(const std::string& command);

}  // namespace coordinator
