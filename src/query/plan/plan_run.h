// query/plan/plan_run.h - one plan being run, a unit of work at a time.
//
// The executor drives the chosen plan; while several plans compete it drives all of them in turn
// and compares what they have achieved.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "query/plan/detached_match.h"
#include "query/plan/executor.h"
#include "query/plan/index_scan.h"
#include "query/plan/near_scan.h"
#include "query/plan/plan.h"
#include "query/plan/ring_start.h"
#include "query/plan/sort.h"
#include "query/plan/text_scores.h"
#include "storage/record_id_set.h"

namespace query {

class PlanRun {
  public:
    enum class Work { advanced, need_more, end };

    // `detaching` lives longer.
    PlanRun(catalog::Collection& collection, const FindQuery& query, const ExecutorOptions& options,
            Plan plan, Detaching& detaching);

    // One unit: examines one key or document, or hands out one sorted row. `row` is filled on
    // advanced.
    Work work(Row* row);

    // The row that the last work() gave comes again: as it is then, and not at all if it was
    // removed. Sorted rows are copies and stay what they are.
    void put_back();
    // The row that was given is done with: put_back() comes no more. Before save().
    void step_ahead();
    void save();
    void restore();
    void skip_record(storage::RecordId id) { seen_.insert(id); }

    // Whether the top rows of a sort are being given, behind which the whole sort is looked for
    // more.
    bool gives_top_rows() const { return top_only_ && sorting_done_; }

    const Plan& plan() const { return plan_; }
    // Counts as the old server did: each key that a scan looks at is a unit there, and so is the
    // beginning of a sort.
    int64_t works() const { return works_ + passed_keys_ + (plan_.blocking_sort ? 1 : 0); }
    int64_t advanced() const { return advanced_; }
    bool ended() const { return ended_; }

    struct BranchStats {
        int64_t returned = 0;
        int64_t keys_examined = 0;
        int64_t docs_examined = 0;
        IndexScan::End end = IndexScan::End::none;  // of the scan, if it was followed so far
    };
    // Counts the rows of several scans that another one had given before.
    int64_t dropped() const { return dropped_; }
    // Of the row given last by a plan with $near.
    double distance() const { return near_->distance(); }
    int64_t sort_bytes() const { return sorter_ == nullptr ? 0 : sorter_->bytes(); }
    // Returns the counts of one scan (of the collection scan: index 0).
    BranchStats branch_stats(size_t i) const;
    // Returns the share of the counts that went into the top rows, if the whole sort came after
    // them.
    const std::vector<BranchStats>& top_stats() const { return top_stats_; }
    // Returns the counts of a scan for explain, as the old server counted: one key ahead. Moves the
    // scan, so only when no further row is wanted.
    BranchStats final_branch_stats(size_t i);

  private:
    struct Branch {
        std::unique_ptr<IndexScan> scan;
        bool was_multikey = false;  // when the plan was made
        BranchStats stats;
        // merge: the row waiting to be compared
        bool has_row = false;
        bool ended = false;
        bson::Buffer sort_key;
        storage::RecordId id;
    };

    void start();
    const std::string* disk() const;  // where a sort may put files; null: nowhere
    bool must_sort_again() const;
    void sort_again();
    bool drops(storage::RecordId id);
    void put_back(Branch& branch, storage::RecordId id);
    Work produce(Row* row);  // before a blocking sort
    Work produce_from_collection(Row* row);
    void look_for_start();
    Work produce_near(Row* row);
    Work produce_from_scan(Branch& branch, Row* row);
    Work produce_merged(Row* row);
    Work produce_sorted(Row* row);
    void add_to_sort(const Row& row);
    bool comes_later(const Branch& branch);
    bool key_passes(Branch& branch);
    // The second: as must_check_all().
    bool document_passes(Row* row, bool check_all);
    // Whether the index has got arrays since the plan was made, so that a key in the bounds no
    // longer says that the document matches (bounds.h, 6).
    static bool must_check_all(const Branch& branch);
    void show_no_key(Row* row);
    void show_key(const Branch& branch);
    void show_covered(const Branch& branch);

    catalog::Collection& collection_;
    const FindQuery& query_;
    const ExecutorOptions& options_;
    Plan plan_;
    std::vector<Branch> branches_;
    storage::HeldCursor records_;
    std::unique_ptr<RingStart> ring_start_;  // while the place of `records_` is looked for
    size_t current_branch_ = 0;              // that the last row came from
    storage::RecordId last_row_;             // of the collection or a scan
    storage::RecordIdSet seen_;
    std::unique_ptr<DetachedMatch> detached_;  // if the filter runs scripts
    std::unique_ptr<NearScan> near_;           // instead of the scan of a branch
    storage::RecordIdSet looked_at_;           // found by a term of $text: others lead there again
    std::optional<TextScores> text_scores_;
    std::optional<double> text_score_;  // of the document that a key of $text led to, if it tells
    std::unique_ptr<DocumentSorter> sorter_;
    bool sorting_done_ = false;
    bool top_only_ = false;     // the sort keeps no more than FindQuery::top asks for
    storage::RecordIdSet top_;  // records that it gave, not to be given again
    std::vector<BranchStats> top_stats_;
    bool want_details_ = false;
    int64_t works_ = 0;
    int64_t passed_keys_ = 0;  // looked at on the way to another one
    int64_t dropped_ = 0;
    int64_t advanced_ = 0;
    bool ended_ = false;
    bson::Buffer covered_;
    bson::Buffer key_document_;
    bson::Buffer scored_;            // a document with its score, to be sorted by it
    bool document_matched_ = false;  // where its key did not decide
};

}  // namespace query
