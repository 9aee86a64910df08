// server/options.h - takes the command line and the configuration file into the options
// (options/option.h), and checks them together.
//
// Precedence: command line, configuration file, defaults. Nothing here touches files other than the
// configuration file, and nothing is printed: errors are thrown as OptionError.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "bson/builder.h"

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

// The words and options by which the program was started, for getCmdLineOpts and the log.
struct CommandLine {
    std::vector<std::string> argv;
    bson::Object parsed;               // what was given, nested by dotted name
    std::vector<std::string> ignored;  // given, but without effect here: worth a warning
    bool print_dbpath = false;         // "mongod dbpath"
};

// `argv` with the program's name first. Sets the options that were given. Throws OptionError.
CommandLine parse_options(const std::vector<std::string>& argv);

// bind_ip and metricsBindIp as lists.
std::vector<std::string> bind_addresses();
std::vector<std::string> metrics_addresses();

}  // namespace server
