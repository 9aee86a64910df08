// Reports the journal and the flushes of data files for serverStatus.
#include <cmath>

#include "journal/append_metrics.h"
#include "storage/mmapv1/commit/durable.h"

namespace mmapv1 {

using journal::Metric;

// The megabyte metrics are rounded to whole numbers, because some monitoring programs of today
// refuse fractions in them; the byte counts beside them are exact.
void Durable::append_dur_status(bson::Builder& out) const {
    if (!journaling()) return;
    const journal::Counters::Report report = counters_.last_interval();
    const auto count = [&](const char* name, Metric metric) {
        out.append(name, static_cast<int32_t>(report[metric]));
    };
    const auto megabytes = [&](const char* name, Metric metric) {
        out.append(name, std::round(static_cast<double>(report[metric]) / 1e6));
    };
    const auto bytes = [&](const char* name, Metric metric) {
        out.append(name, static_cast<int64_t>(report[metric]));
    };
    count("commits", Metric::commits);
    megabytes("journaledMB", Metric::journaled_bytes);
    megabytes("writeToDataFilesMB", Metric::data_file_bytes);
    out.append("compression", std::round(report.compression()));
    count("commitsInWriteLock", Metric::commits_in_write_lock);
    count("earlyCommits", Metric::early_commits);
    {
        bson::Builder times = out.sub_object("timeMs");
        const auto ms = [&](const char* name, uint64_t us) {
            times.append(name, static_cast<int32_t>(us / 1000));
        };
        ms("dt", static_cast<uint64_t>(report.interval_us));
        ms("prepLogBuffer", report[Metric::prep_log_buffer_us]);
        ms("writeToJournal", report[Metric::write_to_journal_us]);
        ms("writeToDataFiles", report[Metric::write_to_data_files_us]);
        ms("remapPrivateView", report[Metric::remap_private_view_us]);
    }
    bytes("journaledBytes", Metric::journaled_bytes);
    bytes("uncompressedBytes", Metric::uncompressed_bytes);
    bytes("writeToDataFilesBytes", Metric::data_file_bytes);
    journal::append_options_status(out, schedule_);
}

void Durable::append_flush_status(bson::Builder& out) const {
    data_file_sync_.append_status(out);
}

}  // namespace mmapv1
