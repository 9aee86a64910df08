// query/plan/distinct.h - collecting the distinct values of a field (wire spec 3.7, semantics 2).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "bson/compare.h"
#include "bson/field_path.h"
#include "bson/order_of_today.h"
#include "catalog/collection.h"
#include "collation/collator.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "query/plan/executor.h"
#include "query/plan/plan.h"
#include "query/plan/query.h"

namespace query {

class DistinctValues {
  public:
    static constexpr int64_t kBytesMax = 16 << 20;

    // `collator`: under which texts are equal; null: by their bytes. To today's
    // dialect Dates and Timestamps are two classes. Throws base::Error 15 for a path of too many
    // parts.
    explicit DistinctValues(std::string_view path,
                            std::shared_ptr<const collation::Collator> collator = nullptr,
                            dialect::Dialect dialect = dialect::kV26)
        : path_(path), collator_(std::move(collator)), less_{dialect}, seen_(less_) {
        bson::check_path_parts(path);
    }

    // Takes the values at the path in their order: the elements of arrays, not the arrays; nothing
    // if there is none. Throws base::Error 17217 when all values together outgrow kBytesMax.
    void add(bson::Doc doc);
    // Takes the value that an index that is not multikey, and has no collation, holds at the path:
    // a value, or an array if the path ends with the position of one.
    void add_key(const bson::Element& value);

    // Puts the values in order: those of documents that an index leads to came one document after
    // the other.
    void sort();

    // Appends all values in the order of their first appearance, unless they have been sorted.
    void append_to(bson::Builder& array) const;
    int64_t size() const { return static_cast<int64_t>(values_.size()); }
    // Returns how many documents add() was given.
    int64_t documents() const { return documents_; }

    // Whether Dates and Timestamps are two classes, which an index that holds both as one cannot
    // tell apart.
    dialect::Dialect dialect() const { return less_.dialect; }

  private:
    struct Less {
        dialect::Dialect dialect;
        bool operator()(const bson::Element& a, const bson::Element& b) const {
            return (dialect.has(dialect::kTimesAreTwoClasses) ? bson::compare_values_of_today
                                                              : bson::compare_values)(a, b) < 0;
        }
    };

    void take(const bson::Element& value);
    void add_found();
    void add_value(const bson::Element& value);
    sched::Bytes copy(const bson::Element& value);
    void collect(bson::Doc doc, std::string_view path);
    void collect_members(const bson::Element& array, std::string_view path);

    std::string path_;
    std::shared_ptr<const collation::Collator> collator_;
    sched::Vector<sched::Bytes> values_;  // elements without names
    sched::Vector<sched::Bytes> keys_;    // of values with texts, under a collation
    Less less_;
    sched::Set<bson::Element, Less> seen_;  // into values_ or keys_
    sched::Vector<bson::Element> found_;    // of one document
    int64_t bytes_ = 0;
    int64_t documents_ = 0;
};

// How the values of a field are taken from an index that begins with it, for all documents or for
// those of a query whose bounds on the index say everything: one key is examined for each value.
struct DistinctPlan {
    Plan plan;  // of one scan
    bool of_query = false;
};

// Returns nothing where there is no such index. `query` has no projection, sort or limit. At
// `yield_point` the database lock is released for a moment now and then; null: it is held all the
// time.
std::optional<DistinctPlan> plan_distinct(catalog::Collection& collection, std::string_view path,
                                          FindQuery& query, const DistinctValues& values,
                                          sched::YieldPoint* yield_point = nullptr);

// Takes the values; returns the number of keys examined. The lock has not been released since the
// plan was made.
int64_t run_distinct(catalog::Collection& collection, const DistinctPlan& plan,
                     DistinctValues& values, sched::YieldPoint* yield_point = nullptr);

}  // namespace query
