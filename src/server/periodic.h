// server/periodic.h - a thread that does something again and again until it is destroyed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace server {

class Periodic {
  public:
    // `name` is the context of its log lines. An exception of the work is logged; the next run
    // comes all the same. The first run comes after the first interval.
    Periodic(std::string name, std::chrono::milliseconds interval, std::function<void()> work);
    ~Periodic();  // waits for a run in progress
    Periodic(const Periodic&) = delete;
    Periodic& operator=(const Periodic&) = delete;

  private:
    void run();

    const std::string name_;
    const std::chrono::milliseconds interval_;
    const std::function<void()> work_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool end_ = false;  // guarded by mutex_
    std::thread thread_;
};

}  // namespace server
