// journal/append_metrics.h - metrics of the journal in a reply, by the storage engines that show
// them in serverStatus().dur. Templates, since this room does not know BSON.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "journal/commit_schedule.h"
#include "journal/metrics.h"

namespace journal {

// Builder: bson::Builder. Nothing is appended while there are no metrics.
template <typename Builder>
void append_metrics(Builder& out, std::string_view name, const std::vector<StatusField>& metrics) {
    if (metrics.empty()) return;
    Builder group = out.sub_object(name);
    for (const StatusField& metric : metrics) {
        if (metric.group.empty()) {
            group.append(metric.name, metric.value);
        } else {
            append_metrics(group, metric.name, metric.group);
        }
    }
}

// The interval, where one was set: whole milliseconds as an int, as it always was, and a fraction
// as a double. Then the metrics of all options.
template <typename Builder>
void append_options_status(Builder& out, const CommitSchedule& schedule) {
    if (const CommitInterval us = schedule.interval()) {
        constexpr const char* kName = "journalCommitIntervalMs";
        if (*us % 1000 == 0) {
            out.append(kName, static_cast<int32_t>(*us / 1000));
        } else {
            out.append(kName, static_cast<double>(*us) / 1000.0);
        }
    }
    append_metrics(out, "commitInterval", schedule.status());
    for (const MetricsSource& source : metrics_sources())
        append_metrics(out, source.name, source.metrics());
}

}  // namespace journal
