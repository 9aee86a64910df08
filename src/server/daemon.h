// server/daemon.h - --fork, --pidfilepath and --shutdown.
#pragma once

#include <string>

namespace server {

// Called before anything is opened. A standard stream that is closed becomes /dev/null: the first
// file that is opened would have its number, and get what is written to it. A write to a closed
// pipe (SIGPIPE), or beyond the limit of a file (SIGXFSZ, ulimit -f), fails with an error and ends
// nothing.
void prepare_process();

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

// The file of the process number: it exists while the server runs, locked so that another server
// sees whose it is. It is made anew, or taken over where a crash has left it; no link is followed,
// and a file that holds anything else stays.
class PidFile {
  public:
    // `path` empty: there is no such file. Throws base::Error when it cannot be written. The file
    // of another server that runs stays as it is: check() says so, once it is clear that nothing
    // else keeps this one from starting.
    explicit PidFile(std::string path);
    ~PidFile();
    PidFile(const PidFile&) = delete;
    PidFile& operator=(const PidFile&) = delete;

    void check() const;  // throws base::Error

  private:
    [[noreturn]] void fail(const char* why);

    const std::string path_;
    int fd_ = -1;
    bool held_by_other_ = false;
};

// Ends the server that runs on the dbpath and waits for it. Returns the exit code.
int stop_other_server(const std::string& dbpath);

}  // namespace server
