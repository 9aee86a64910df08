#include "journal/metrics.h"

#include <map>

#include "base/dcheck.h"
#include "base/error.h"

namespace journal {

namespace {

// Never destroyed, and made at first use: registrations come from other files' static objects.
std::map<std::string, MetricsSource>& registry() {
    static auto* instance = new std::map<std::string, MetricsSource>;
    return *instance;
}

}  // namespace

MetricsRegistration::MetricsRegistration(std::string name, std::vector<StatusField> (*metrics)()) {
    DCHECK(!name.empty() && metrics != nullptr);
    if (!registry().emplace(name, MetricsSource{name, metrics}).second)
        base::fatal(0, fmt::format("metrics {} are registered twice", name));
}

std::vector<MetricsSource> metrics_sources() {
    std::vector<MetricsSource> result;
    for (const auto& [name, source] : registry())
        result.push_back(source);
    return result;
}

}  // namespace journal
