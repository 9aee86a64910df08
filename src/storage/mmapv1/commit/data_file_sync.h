// storage/mmapv1/commit/data_file_sync.h - the thread that flushes all data files now and then
// (journal spec 6). With a journal this bounds how much recovery has to replay; without one it is
// the only durability.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "bson/builder.h"
#include "os/clock.h"

namespace mmapv1 {

class DataFileSync {
  public:
    // `flush` flushes all files synchronously and returns their number.
    DataFileSync(os::Clock& clock, double delay_seconds, std::function<int()> flush);
    ~DataFileSync() { stop(); }

    void start();
    void stop();

    // Asks for a flush now, or after the one that is under way. Any thread.
    void request();

    // 0: never, but for requests. Read again in each cycle.
    void set_delay_seconds(double seconds) { delay_seconds_ = seconds; }

    // The fields of serverStatus().backgroundFlushing.
    void append_status(bson::Builder& out) const;

  private:
    void run();
    void flush_once();

    os::Clock& clock_;
    const std::function<int()> flush_;
    const std::unique_ptr<os::Sleeper> sleeper_;
    std::atomic<double> delay_seconds_;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> requested_{false};
    std::thread thread_;

    mutable std::mutex mutex_;
    // Guarded by mutex_:
    int64_t flushes_ = 0, total_ms_ = 0, last_ms_ = 0;
    int64_t last_finished_ms_ = 0;  // wall clock
};

}  // namespace mmapv1
