#include "query/plan/plan.h"

#include <algorithm>

#include "bson/compare.h"
#include "bson/json.h"

namespace query {

namespace {

// An end of the index in its order.
bson::Object end_of(const catalog::Index& index, bool first) {
    bson::Builder b;
    const uint32_t descending = index.generator->descending_bits();
    for (size_t i = 0; i < index.generator->fields().size(); ++i) {
        if (((descending >> i & 1) != 0) == first)
            b.append_max_key("");
        else
            b.append_min_key("");
    }
    return b.object();
}

}  // namespace

bool is_usable(const catalog::Index& index) {
    return index.ready && index.store != nullptr && index.generator != nullptr;
}

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

bson::Object key_of_range(const bson::Object& key, const catalog::Index& index) {
    const collation::Collator* const collator = index.generator->collator();
    bson::Builder b;
    for (const bson::Element& e : key) {
        if (collator == nullptr)
            b.append_as("", e);
        else
            collator->append_key("", e, b);
    }
    return b.object();
}

bool names_range(const catalog::Index& index, const FindQuery& query) {
    const auto has_text = [](const bson::Object& key) {
        for (const bson::Element& e : key)
            if (collation::has_text(e)) return true;
        return false;
    };
    return is_usable(index) &&
           (collation::is_same(index.generator->collator(), query.collator.get()) ||
            !(has_text(query.min) || has_text(query.max))) &&
           same_names(index.key_pattern, query.min.empty() ? query.max : query.min);
}

bool orders_range(const catalog::Index& index, const FindQuery& query) {
    const bson::Object min =
        query.min.empty() ? end_of(index, true) : key_of_range(query.min, index);
    const bson::Object max =
        query.max.empty() ? end_of(index, false) : key_of_range(query.max, index);
    return bson::compare_keys(min, max, index.generator->descending_bits()) < 0;
}

}  // namespace query
