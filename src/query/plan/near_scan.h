// query/plan/near_scan.h - documents by their distance from a place.
//
// It looks at rings around the place, from the inner to the outer one: each is a scan of the keys
// that it can have, whose documents are put in order when the scan is done. A ring with many
// documents is begun again as a narrower one, those behind a ring with few are wider.
#pragma once

#include <memory>
#include <vector>

#include "catalog/collection.h"
#include "query/plan/detached_match.h"
#include "query/plan/executor.h"
#include "query/plan/index_scan.h"
#include "query/plan/plan.h"
#include "storage/record_id_set.h"

namespace query {

class NearScan {
  public:
    enum class Work { advanced, need_more, end };

    // `detached`: as of PlanRun; null: the filter runs no scripts.
    NearScan(catalog::Collection& collection, const FindQuery& query, const Plan& plan,
             DetachedMatch* detached);

    // One unit: examines one key, or gives the next document.
    Work work(Row* row, storage::RecordIdSet* skipped);
    void put_back();
    void save();
    void restore();

    // Of the document given last, for the units of clients.
    double distance() const { return given_distance_; }

    int64_t returned() const { return given_; }
    int64_t keys_examined() const;
    // As old servers counted them: those that match all but the filter up to the last one given.
    int64_t docs_examined() const { return passed_; }

  private:
    struct Found {
        double distance;
        storage::RecordId id;
    };

    void begin_ring(double outer);
    void begin_next_ring();
    size_t many_in_ring() const;
    bool has_keys(const IntervalList& intervals);
    void look_at(storage::RecordId id);
    bool matches(storage::RecordId id, bson::Doc* doc, MatchDetails* details);
    std::optional<double> distance_of(bson::Doc doc) const;
    bool gives(const Found& found, Row* row);
    void pass_over(double distance);

    catalog::Collection& collection_;
    const FindQuery& query_;
    const Plan& plan_;
    DetachedMatch* const detached_;
    const geo::Near& near_;
    const bson::FieldPath path_;
    const bool flat_;
    const double end_;    // no document is farther, or wanted
    int64_t wanted_ = 0;  // 0: all
    int64_t likely_ = 0;  // that will be asked for
    double inner_ = 0;    // of the ring that is looked at
    double outer_ = 0;
    std::unique_ptr<ValueArena> arena_;
    ScanPlan scan_plan_;
    ScanPlan probe_;  // of the field alone; its index null until it is needed
    std::unique_ptr<IndexScan> scan_;
    storage::RecordIdSet met_;       // in this ring
    sched::Vector<Found> found_;     // in this ring; in order once it is done
    sched::Vector<double> refused_;  // distances of those that the filter refused
    size_t next_ = 0;                // of found_
    size_t next_refused_ = 0;
    bool ring_done_ = false;
    bool was_saved_ = false;  // since the ring was looked at
    int64_t given_ = 0;
    int64_t passed_ = 0;
    int64_t earlier_keys_ = 0;
    double given_distance_ = 0;
    bool want_details_ = false;
};

}  // namespace query
