// server/log_setup.h - connects base/log.h with what --logpath, --syslog and their like ask for.
#pragma once

#include <memory>

#include "base/rotating_log.h"

namespace server {

class LogSetup {
  public:
    // Takes effect at once, for all threads. Throws base::Error when the log cannot be opened.
    LogSetup();
    ~LogSetup();
    LogSetup(const LogSetup&) = delete;
    LogSetup& operator=(const LogSetup&) = delete;

    // Standard output and standard error go to the log file too, if there is one.
    void capture_output();
    // Rotates the log file, for logRotate and SIGUSR1. If there is no log file, it does nothing.
    // Throws base::Error.
    void rotate();

  private:
    std::shared_ptr<base::RotatingLog> file_;
};

}  // namespace server
