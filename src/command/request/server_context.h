// command/request/server_context.h - what commands need from the process around them. server/ fills
// it in before the first connection and keeps it alive until the last one is gone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bson/builder.h"

namespace replica {
class Member;
}

namespace command {

struct ConnectionCounts {
    int64_t current = 0;
    int64_t available = 0;
    int64_t total_created = 0;
};

struct NetworkCounts {
    int64_t bytes_in = 0;
    int64_t bytes_out = 0;
    int64_t requests = 0;
};

struct ServerContext {
    std::string version = "2.6.12";  // three numbers with dots
    std::string git_version;
    std::string host;  // "name:port", as serverStatus and explain show it
    int max_wire_version = 9;
    int max_write_batch = 100000;
    std::string data_directory;  // an absolute path; empty: the data has no files
    bool test_commands = false;  // enableTestCommands
    bool retry_index_builds = true;
    std::vector<std::string> argv;
    bson::Object parsed_options;
    replica::Member* member = nullptr;  // of a replica set; null: this server is in none
    std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();

    // Starts a clean shutdown and returns; the connection that asked is closed without a reply.
    std::function<void()> request_shutdown;
    std::function<void()> rotate_log;
    // rotateCertificates: reads the files of TLS anew; false: no TLS is spoken. Throws base::Error
    // for one that cannot be used.
    std::function<bool()> read_certificates;
    // journalLatencyTest: measures and appends its reply; empty without a journal.
    std::function<void(bson::Builder&)> journal_latency_test;
    std::function<ConnectionCounts()> connections;
    std::function<NetworkCounts()> network;
};

}  // namespace command
