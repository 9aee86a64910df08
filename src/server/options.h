// server/options.h - what the command line and the configuration file say, checked, as one Config.
//
// Precedence: command line, configuration file, defaults. Nothing here touches files other than the
// configuration file, and nothing is printed: errors are thrown as OptionError. Options of the
// journal's registry are stored there as they are read.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "bson/builder.h"
#include "journal/commit_interval.h"

namespace server {

// The whole text for standard error, and the exit code (wire spec 6.2).
class OptionError : public std::runtime_error {
  public:
    explicit OptionError(const std::string& text, int exit_code = 2)
        : std::runtime_error(text), exit_code_(exit_code) {}
    int exit_code() const { return exit_code_; }

  private:
    int exit_code_;
};

struct Config {
    bool help = false;
    bool version = false;
    bool shutdown = false;      // stop the server that runs on dbpath
    bool print_dbpath = false;  // "mongod dbpath"

    int port = 27017;
    std::vector<std::string> bind_addresses{"127.0.0.1"};
    bool ipv6 = false;
    int64_t max_connections = 1'000'000;
    bool unix_socket = true;
    std::string unix_socket_prefix = "/tmp";

    std::string dbpath = "/data/db";
    bool directory_per_db = false;
    bool small_files = false;
    int ns_size_mb = 16;
    double sync_delay_seconds = 60;
    bool repair = false;
    std::string repair_path;
    bool upgrade = false;
    bool index_build_retry = true;
    std::string storage_engine;

    bool journal = true;
    ::journal::CommitInterval commit_interval;
    int journal_options = 0;
    bool no_prealloc_journal = false;

    std::string log_path;
    bool log_append = false;
    bool syslog = false;
    std::string syslog_facility = "user";
    base::log::TimestampFormat timestamps = base::log::TimestampFormat::iso8601_local;
    int verbosity = 0;
    bool quiet = false;
    bool trace_exceptions = false;

    bool fork = false;
    std::string pid_file;

    int slow_ms = 100;
    int profile_level = 0;  // of every database
    bool no_table_scan = false;

    // --setParameter in the order given; names and values are not checked here.
    std::vector<std::pair<std::string, std::string>> parameters;
    // Options of journal/options/registry.h that were given, as text.
    std::vector<std::pair<std::string, std::string>> journal_registry;

    // For getCmdLineOpts: the words of the command line, and what was given, nested by dotted name.
    std::vector<std::string> argv;
    bson::Object parsed;
    std::vector<std::string> ignored;  // given, but without effect here: worth a warning
};

// `argv` with the program's name first. Throws OptionError.
Config parse_options(const std::vector<std::string>& argv);

}  // namespace server
