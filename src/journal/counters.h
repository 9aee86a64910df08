// journal/counters.h - what the journal did lately: the metrics of serverStatus().dur (journal spec
// 5.1).
//
// Two blocks: events go into the current one, reports show the last completed one. Every metric
// enters through record(), on whatever thread; rotate_if_due() is called once per cycle of the
// journal thread, and may be called by others.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/dcheck.h"

namespace journal {

enum class Metric {
    commits,                // group commits begun, empty and early ones included
    early_commits,          // commits asked for by an operation
    commits_in_write_lock,  // commits by a thread in W or X
    journaled_bytes,        // padded section bytes
    uncompressed_bytes,     // of the same sections
    data_file_bytes,        // copied into shared views
    acknowledged_waiters,   // whose writes became durable; the old dur did not show it
    prep_log_buffer_us,
    write_to_journal_us,
    write_to_data_files_us,
    remap_private_view_us,
    count_,  // number of metrics
};
constexpr size_t kMetrics = static_cast<size_t>(Metric::count_);

class Counters {
  public:
    static constexpr int64_t kIntervalUs = 3'000'000;

    // A snapshot of one interval.
    struct Report {
        std::array<uint64_t, kMetrics> values{};
        int64_t interval_us = 0;
        uint64_t operator[](Metric m) const {
            DCHECK(m < Metric::count_);
            return values[static_cast<size_t>(m)];
        }
        double compression() const;  // journaled / (uncompressed + 1), 0 when idle
    };

    void record(Metric metric, uint64_t amount = 1);
    // Makes the current block the reported one when it is 3 s old.
    void rotate_if_due(int64_t now_us);
    // The last completed interval; all zeros before the first one.
    Report last_interval() const;

  private:
    struct Block {
        std::array<std::atomic<uint64_t>, kMetrics> values{};
        std::atomic<int64_t> interval_us{0};
    };
    std::array<Block, 2> blocks_;
    std::atomic<int> current_{0};
    std::mutex rotation_mutex_;
    int64_t started_us_ = -1;  // of the current block; guarded by rotation_mutex_
};

}  // namespace journal
