// journal/metrics.h - metrics that show an option of the journal at work, for serverStatus().dur.
//
// The file of an option (journal/options/) registers a function that tells them, so that no two
// options touch the same lines. Registered before main() and not changed afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace journal {

// One metric, or a group of metrics, as a reply shows it.
struct StatusField {
    std::string name;
    int64_t value = 0;
    std::vector<StatusField> group = {};
};

// A sub-document of serverStatus().dur; it is left out while it has no metrics.
struct MetricsSource {
    std::string name;
    std::vector<StatusField> (*metrics)();
};

class MetricsRegistration {
  public:
    // Ends the process when the name is taken.
    MetricsRegistration(std::string name, std::vector<StatusField> (*metrics)());
};

// Sorted by name.
std::vector<MetricsSource> metrics_sources();

}  // namespace journal
