#include "journal/counters.h"

namespace journal {

double Counters::Report::compression() const {
    return static_cast<double>((*this)[Metric::journaled_bytes]) /
           (static_cast<double>((*this)[Metric::uncompressed_bytes]) + 1.0);
}

void Counters::record(Metric metric, uint64_t amount) {
    Block& block = blocks_[static_cast<size_t>(current_.load(std::memory_order_relaxed))];
    block.values[static_cast<size_t>(metric)].fetch_add(amount, std::memory_order_relaxed);
}

void Counters::rotate_if_due(int64_t now_us) {
    const std::lock_guard lock(rotation_mutex_);
    if (started_us_ < 0) started_us_ = now_us;
    if (now_us - started_us_ < kIntervalUs) return;
    const int current = current_.load(std::memory_order_relaxed);
    blocks_[static_cast<size_t>(current)].interval_us = now_us - started_us_;
    started_us_ = now_us;
    Block& next = blocks_[static_cast<size_t>(1 - current)];
    for (auto& value : next.values)
        value.store(0, std::memory_order_relaxed);
    next.interval_us = 0;
    current_.store(1 - current, std::memory_order_relaxed);
}

Counters::Report Counters::last_interval() const {
    const Block& block = blocks_[static_cast<size_t>(1 - current_.load(std::memory_order_relaxed))];
    Report report;
    for (size_t i = 0; i < kMetrics; ++i)
        report.values[i] = block.values[i].load(std::memory_order_relaxed);
    report.interval_us = block.interval_us.load(std::memory_order_relaxed);
    return report;
}

}  // namespace journal
