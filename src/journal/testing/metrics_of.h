// journal/testing/metrics_of.h - the metrics that an option shows now.
#pragma once

#include <string_view>

#include "journal/metrics.h"

namespace journal {

// Empty if there is no such sub-document of serverStatus().dur.
inline std::vector<StatusField> metrics_of(std::string_view name) {
    for (const MetricsSource& source : metrics_sources()) {
        if (source.name == name) return source.metrics();
    }
    return {};
}

}  // namespace journal
