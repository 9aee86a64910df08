// base/rotating_log.h - the log as a file that can be rotated.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace base {

class RotatingLog {
  public:
    // Opens the file. What is in it already is continued (`append`) or moved aside as by rotate().
    // One that another server writes is continued in any case: that goes on in what has been moved.
    // Throws base::Error naming the file.
    RotatingLog(std::string path, bool append);
    ~RotatingLog();
    RotatingLog(const RotatingLog&) = delete;
    RotatingLog& operator=(const RotatingLog&) = delete;

    // Writes the line and a newline. A full disk loses the line: the log must not stop the server.
    void write(std::string_view line);
    // Renames the file to PATH.YYYY-MM-DDTHH-MM-SS (UTC; numbered if that exists) and starts a new
    // one; a file that another process has moved away is created again. Throws base::Error, and
    // then goes on with the file as it is.
    void rotate();
    // Also standard output and standard error of this process go there from now on.
    void capture_output();
    // Where the file was moved aside by the constructor; empty if there was nothing.
    const std::string& moved_to() const { return moved_to_; }
    bool appended() const { return appended_; }

  private:
    void open();
    std::string move_aside() const;

    const std::string path_;
    std::string moved_to_;
    bool appended_ = false;
    std::mutex mutex_;
    int fd_ = -1;            // guarded by mutex_
    bool captures_ = false;  // guarded by mutex_
};

}  // namespace base
