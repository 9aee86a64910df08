#include "storage/mmapv1/commit/data_file_sync.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/log.h"
#include "base/signal_stack.h"

namespace mmapv1 {

namespace {

constexpr int64_t kDisabledCheckUs = 5'000'000;
constexpr int64_t kSlowFlushMs = 10'000;

}  // namespace

DataFileSync::DataFileSync(os::Clock& clock, double delay_seconds, std::function<int()> flush)
    : clock_(clock),
      flush_(std::move(flush)),
      sleeper_(clock.make_sleeper()),
      delay_seconds_(delay_seconds) {}

void DataFileSync::start() {
    DCHECK(!thread_.joinable() && !stopping_);
    thread_ = std::thread([this] { run(); });
}

void DataFileSync::stop() {
    stopping_ = true;
    sleeper_->wake();
    if (thread_.joinable()) thread_.join();
}

void DataFileSync::run() {
    const base::SignalStack signal_stack;
    base::log::set_context("DataFileSync");
    int64_t last_us = 0;
    while (!stopping_) {
        const double delay = delay_seconds_;
        const auto delay_us = static_cast<int64_t>(delay * 1e6);
        const bool slept = sleeper_->sleep_us(
            delay_us == 0 ? kDisabledCheckUs : std::max<int64_t>(0, delay_us - last_us));
        const bool requested = requested_.exchange(false);
        if (stopping_ || (!requested && (!slept || delay_us == 0))) continue;
        const int64_t start = clock_.monotonic_us();
        flush_once();
        last_us = clock_.monotonic_us() - start;
    }
}

void DataFileSync::request() {
    requested_ = true;
    sleeper_->wake();
}

void DataFileSync::flush_once() {
    const int64_t start = clock_.monotonic_us();
    const int files = flush_();
    const int64_t took_ms = (clock_.monotonic_us() - start) / 1000;
    DCHECK(files >= 0 && took_ms >= 0);
    if (took_ms >= kSlowFlushMs || base::log::verbosity() >= 1)
        base::log::info("flushing mmaps took {}ms  for {} files", took_ms, files);
    const std::lock_guard lock(mutex_);
    ++flushes_;
    total_ms_ += took_ms;
    last_ms_ = took_ms;
    last_finished_ms_ = clock_.wall_ms();
}

void DataFileSync::append_status(bson::Builder& out) const {
    const std::lock_guard lock(mutex_);
    out.append_number("flushes", flushes_);
    out.append_number("total_ms", total_ms_);
    out.append("average_ms", flushes_ == 0
                                 ? 0.0
                                 : static_cast<double>(total_ms_) / static_cast<double>(flushes_));
    out.append("last_ms", static_cast<int32_t>(last_ms_));
    out.append_date("last_finished", last_finished_ms_);
}

}  // namespace mmapv1
