// server/daemon.h - --fork, --pidfilepath and --shutdown.
#pragma once

#include <string>

namespace server {

// The child's end of --fork: tells the waiting parent that the server accepts connections.
class Readiness {
  public:
    Readiness() = default;
    explicit Readiness(int fd) : fd_(fd) {}
    void tell();

  private:
    int fd_ = -1;
};

// Returns in the child, detached from the terminal and with / as its directory; the parent waits
// until the child is ready or gone, says so, and exits (wire spec 6.3). Call while there is one
// thread, after paths were made absolute.
Readiness fork_into_background();

// Makes the paths of the configuration independent of the current directory.
void make_paths_absolute();

// Exists while the server runs. Throws base::Error when it cannot be written.
class PidFile {
  public:
    explicit PidFile(std::string path);  // empty: none
    ~PidFile();
    PidFile(const PidFile&) = delete;
    PidFile& operator=(const PidFile&) = delete;

  private:
    const std::string path_;
};

// Ends the server that runs on the dbpath and waits for it. Returns the exit code.
int stop_other_server(const std::string& dbpath);

}  // namespace server
