// storage/mmapv1/commit/stage_timer.h - how long a stage of a commit took, for its metric.
#pragma once

#include <cstdint>

#include "journal/counters.h"
#include "os/clock.h"

namespace mmapv1 {

// Adds the time from its construction to its destruction to a metric.
class StageTimer {
  public:
    StageTimer(journal::Counters& counters, journal::Metric metric, os::Clock& clock)
        : counters_(counters), metric_(metric), clock_(clock), start_(clock.monotonic_us()) {}
    ~StageTimer() { counters_.record(metric_, static_cast<uint64_t>(elapsed_us())); }
    StageTimer(const StageTimer&) = delete;
    StageTimer& operator=(const StageTimer&) = delete;
    int64_t elapsed_us() const { return clock_.monotonic_us() - start_; }

  private:
    journal::Counters& counters_;
    const journal::Metric metric_;
    os::Clock& clock_;
    const int64_t start_;
};

}  // namespace mmapv1
