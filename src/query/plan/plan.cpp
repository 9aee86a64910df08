#include "query/plan/plan.h"

#include <algorithm>

#include "bson/json.h"

namespace query {

ScanPlan whole_index(const catalog::Index& index, bool backward) {
    ScanPlan scan;
    scan.index = &index;
    scan.backward = backward;
    const uint32_t descending = index.generator->descending_bits();
    for (size_t i = 0; i < index.generator->fields().size(); ++i) {
        IntervalList list{all_values()};
        orient(list, (((descending >> i) & 1) != 0) != backward);
        scan.bounds.push_back(std::move(list));
    }
    return scan;
}

bool is_consistent(const Plan& plan, const FindQuery& query) {
    const size_t scans = plan.scans.size();
    if (plan.blocking_sort && (query.sort_pattern == nullptr || plan.merge)) return false;
    if (plan.merge && (scans < 2 || scans > kScansToExplodeMax || query.sort_pattern == nullptr))
        return false;
    if (plan.covered && (scans == 0 || plan.check_document || plan.blocking_sort || plan.merge))
        return false;
    return std::ranges::all_of(plan.scans, [](const ScanPlan& scan) {
        const size_t fields = scan.index->generator->fields().size();
        return scan.by_range ? scan.bounds.empty() && scan.key_filter.empty()
                             : scan.bounds.size() == fields &&
                                   std::ranges::all_of(scan.key_filter,
                                                       [fields](const KeyPredicate& predicate) {
                                                           return predicate.field < fields;
                                                       });
    });
}

std::string summarise(const Plan& plan) {
    if (plan.scans.empty()) return "COLLSCAN";
    if (plan.text) return "TEXT";
    constexpr size_t kEnough = 4096;
    std::string text;
    for (const ScanPlan& scan : plan.scans) {
        if (!text.empty()) text += ", ";
        if (text.size() > kEnough) return text + "...";
        if (plan.near != nullptr) return "GEO_NEAR " + bson::to_text(scan.index->key_pattern);
        text += "IXSCAN " + bson::to_text(scan.index->key_pattern);
    }
    return text;
}

}  // namespace query
