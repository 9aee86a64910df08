// query/plan/plan.h - how a query is going to be run: which scans, with which bounds, and what is
// left to check.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catalog/collection.h"
#include "query/plan/executor.h"
#include "query/plan/interval.h"
#include "query/plan/query.h"
#include "query/plan/sort.h"

namespace query {

// A predicate that the value of one field of an index decides.
struct KeyPredicate {
    size_t field;
    const MatchNode* node;
};

// A walk over one index.
struct ScanPlan {
    const catalog::Index* index = nullptr;
    bool backward = false;
    // One list per index field, in scan order (query/plan/interval.h orient).
    IndexBounds bounds;
    // Checked on the key, before the document is fetched.
    std::vector<KeyPredicate> key_filter;
    // The predicate of places that the bounds are of; null: none.
    const MatchNode* place = nullptr;
    // min/max: keys instead of bounds, in index order; min inclusive, max exclusive; empty: open.
    bool by_range = false;
    bson::Object range_min;
    bson::Object range_max;
};

// One scan becomes at most so many that are merged.
inline constexpr size_t kScansToExplodeMax = 50;

struct Plan {
    // No scans: the whole collection in natural order.
    sched::Vector<ScanPlan> scans;
    bool backward = false;  // natural order reversed
    bool merge = false;     // several scans, each in sort order
    bool blocking_sort = false;
    bool text = false;           // of $text: the scans of its terms, and perhaps others
    bool covered = false;        // each scan has all fields, and only rows
    bool check_document = true;  // the filter must be evaluated on the document
    // $near: the one scan, whose bounds of that field are those of one ring after the other.
    const MatchNode* near = nullptr;
    size_t near_field = 0;
    std::shared_ptr<ValueArena> arena = std::make_shared<ValueArena>();
};

// Returns the plans worth trying, best guess first; never empty. Throws base::Error 2 for a bad
// hint, min or max, 90001 for more than one query's work (sched/work_limit.h). Yields only while it
// learns the order of an index (catalog/mixed_times.h).
std::vector<Plan> make_plans(const catalog::Collection& collection, const FindQuery& query,
                             const ExecutorOptions& options, sched::YieldPoint* yield_point);

// Returns "IXSCAN { a: 1 }", "COLLSCAN", ... for logs and the profile; the first ones of many
// scans.
std::string summarise(const Plan& plan);

// Whether its parts fit together, for this query. For DCHECKs of those that make and take plans.
bool is_consistent(const Plan& plan, const FindQuery& query);

// Whether its keys can be read, and derived of documents.
bool is_usable(const catalog::Index& index);

// Returns min or max of a query as the index has its keys.
bson::Object key_of_range(const bson::Object& key, const catalog::Index& index);
// Whether min and max name all fields of the index, and mean its order: what has no text has the
// same place by each collation.
bool names_range(const catalog::Index& index, const FindQuery& query);
// Whether min is before max in the order of the index; where one is not given, its end is.
bool orders_range(const catalog::Index& index, const FindQuery& query);

// Full bounds of an index in the given direction.
ScanPlan whole_index(const catalog::Index& index, bool backward);

}  // namespace query
