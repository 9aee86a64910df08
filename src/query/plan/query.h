// query/plan/query.h - one read request in canonical form: filter, sort, projection and the old
// modifiers, all checked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bson/builder.h"
#include "query/match/match_tree.h"
#include "query/project/projection.h"

namespace query {

class SortPattern;

// Whether both have the same fields in the same order, of whatever values.
bool same_names(bson::Doc a, bson::Doc b);

// The field that holds the score of a text search where a document has to carry it.
inline constexpr std::string_view kScoreField = "$textScore";
// Appends the document with that field at its end.
void append_with_score(bson::Doc doc, double score, bson::Buffer& out);

struct FindQuery {
    std::unique_ptr<Matcher> matcher;        // never null after canonicalise()
    std::unique_ptr<Projection> projection;  // null: whole documents
    // The collation under which texts are compared; null: by their bytes. Given before
    // canonicalise().
    std::shared_ptr<const collation::Collator> collator;
    bool inherits_collation = false;  // it has to be that of the collection
    bson::Object sort;                // without $natural; empty: none
    bool sorts_by_score = false;      // which stands there as kScoreField, for {$meta: "textScore"}
    // The pattern of `sort` and the filter; null: none. It is made here, without a lock, since that
    // may take long.
    std::shared_ptr<const SortPattern> sort_pattern;
    int natural = 0;  // +1 / -1 by sort or hint {$natural: +-1}
    bool natural_by_hint = false;
    bson::Object hint;      // key pattern, or
    std::string hint_name;  // index name; both empty: none
    bson::Object min;       // inclusive lower end of an index range; empty: none
    bson::Object max;       // exclusive upper end
    int64_t skip = 0;
    int64_t limit = 0;  // 0 = none
    // OP_QUERY cannot say whether its number is a limit or the size of a batch: a sort in memory
    // makes do with so many rows until more are wanted (semantics 7 rule 3). 0 = all.
    int64_t top = 0;
    int64_t max_scan = 0;   // 0 = none
    bool near_all = false;  // no number of results that a 2d index gives by itself
    bool return_key = false;
    bool show_record_id = false;
    bool record_id_as_place = false;  // shown as $diskLoc, the old way
    bool snapshot = false;
    bool tailable = false;
    bool oplog_replay = false;    // the collection is a log: its documents stand in the order of ts
    bool allow_disk_use = false;  // for a sort that does not fit into memory
    bool want_details = false;    // rows need the array index for positional `$`

    // How many rows of a sort are enough, with those that are skipped; 0: all are wanted.
    int64_t sorted_rows() const;

    // The raw parts, as they came; canonicalise() checks them and fills the fields above.
    struct Parts {
        bson::Doc filter;
        bson::Doc projection;
        bson::Doc sort;
        bson::Element hint;
        const ExpressionParser* expressions = nullptr;  // as for Matcher::parse
        const WhereParser* where = nullptr;             // the same
    };
    // Throws base::Error 2 (bad filter, projection, sort; min and max of different fields; snapshot
    // with sort or hint; $text with hint, min, max or $natural; of clients of today, who give
    // `expressions`, $natural that is not 1 or -1, or has fields beside it).
    void canonicalise(const Parts& parts);

    void drop_sort();

  private:
    void set_sort(const Parts& parts);
    void check_scores(const Parts& parts) const;
    void check_text() const;
};

}  // namespace query
