// query/match/match_tree.h - a parsed filter as a tree: what the matcher evaluates and the planner
// reads.
//
// Parsing checks every operator and its operand (wire spec 4.2, semantics 1) and keeps views into a
// filter document that the tree owns. Nodes never change after parsing.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "bson/view.h"
#include "collation/collator.h"
#include "geo/near.h"
#include "query/match/bits.h"
#include "query/match/json_schema.h"
#include "query/match/match_expression.h"
#include "query/match/path.h"
#include "query/match/regex.h"
#include "sched/counted.h"

namespace query {

enum class MatchKind {
    // children
    conjunction,  // all children; the root is always one (of no children for {})
    disjunction,  // $or
    nor,          // $nor
    negation,     // $not: one child on the same path
    // comparison of the values at `path` with `operand`
    eq,
    lt,
    lte,
    gt,
    gte,
    in,  // `values`, `regexes`
    regex,
    // others
    exists,  // `operand` unused; present iff true ({$exists: false} is negation of it)
    type,    // `types`: type bytes, of which array means the whole array; none: only `number`, and
             // that of elements if there is an array
    mod,     // `number` divisor, `remainder`
    bits,    // $bitsAllSet and its like: `bit_test`
    size,    // `number`, -1 never matches
    all,     // children; empty matches nothing. [x, y] becomes eq children on the same path
    elem_match_object,  // one conjunction child, evaluated on each element that is a document or
                        // array
    elem_match_value,   // children with empty path, evaluated on one element's value
    schema,             // `schema`, of the document
    expression,         // $expr, $where: `expression`; the children, eq and ends, follow from it
    ends,               // lt, lte, gt and gte children on the same path, by the order of all types
                        // of values; only for the planner, of what has no arrays
    geo,                // $geoWithin, $geoIntersects: `geo`, asked of values and of whole arrays
    near,               // $near: `near`; true of every document, an index decides
    text,               // $text: `expression` is a TextClause (text_clause.h)
    sample,             // $sampleRate: `operand`, a chance between 0 and 1
    always_true,        // $comment, $isolated, $alwaysTrue
    always_false,       // e.g. $in: [], $alwaysFalse
};

struct MatchNode : sched::Counted {
    MatchKind kind = MatchKind::conjunction;
    std::string path;       // dotted; empty for logical nodes and inside elem_match_value
    FieldPath steps;        // `path`, cut into parts; what matching walks
    bson::Element operand;  // comparisons; points into what the tree owns
    // The collation of comparisons with a value that has a text in it: `operand` and `values` are
    // keys of it, and so must be the values they are compared with.
    const collation::Collator* collator = nullptr;
    bson::Element stated;  // then: the operand as the filter has it
    sched::Charge charge;  // of path and steps
    sched::Vector<std::unique_ptr<MatchNode>> children;
    sched::Vector<bson::Element> values;                  // in: sorted, unique, no regexes
    sched::Vector<std::shared_ptr<const Regex>> regexes;  // in, regex
    sched::Vector<int64_t> types;  // type, as later servers write it: sorted, unique
    std::unique_ptr<const BitTest> bit_test;
    std::unique_ptr<const JsonSchema> schema;
    std::unique_ptr<const MatchExpression> expression;
    std::shared_ptr<const geo::Predicate> geo;
    std::shared_ptr<const geo::Near> near;
    int64_t number = 0;
    int64_t remainder = 0;
    // Set for clients of today. lt, lte, gt and gte of a number: NaN is neither below nor above
    // other numbers. To the old server it was below them all. mod: NaN leaves no remainder, nor
    // does a number beyond int64. Comparisons and in, with a Date or a Timestamp: see times.h. The
    // root of a filter: the whole filter is of today.
    bool nan_apart = false;
    bool has_text = false;  // it is one of text, or has one below it
};

// The facts that a match remembers: for `$` the array index chosen by the last array clause
// evaluated, and the score of a text search.
struct MatchDetails {
    double score = 0;
    uint32_t array_index = 0;
    bool has_index = false;
    bool want_index = false;  // set by the caller; without it no index is recorded
};

class TextClause;

class Matcher {
  public:
    // Throws base::Error 2, for $type and $jsonSchema also 9 and 14, and by clients of today
    // Regex::kInvalid for a regular expression; the text names the operator.
    // Copies `filter`. Children of conjunctions are put in the old server's order, by kind, then by
    // path: it shows in which clause chooses the positional index, and in the fields of an upsert.
    // `expressions` reads $expr, and is not needed afterwards; null: there is no such operator, nor
    // $sampleRate and $bitsAllSet and its like, which came with it.
    // `collator`: under which texts are compared; null: by their bytes.
    // `where` reads $where, and is not needed afterwards; null: the filter may not have it.
    // Refuses $text.
    static std::unique_ptr<Matcher> parse(
        bson::Doc filter, const ExpressionParser* expressions = nullptr,
        std::shared_ptr<const collation::Collator> collator = nullptr,
        const WhereParser* where = nullptr);
    // Takes $text, for those who find documents by a plan.
    static std::unique_ptr<Matcher> parse_query(
        bson::Doc filter, const ExpressionParser* expressions = nullptr,
        std::shared_ptr<const collation::Collator> collator = nullptr,
        const WhereParser* where = nullptr);
    ~Matcher();

    // Adds a $near to a filter that has none. Throws base::Error 2 if it has one.
    void look_near(std::string_view path, std::shared_ptr<const geo::Near> near);

    bool matches(bson::Doc doc, MatchDetails* details = nullptr) const;
    const MatchNode& root() const { return *root_; }
    bool runs_scripts() const { return runs_scripts_; }
    bson::Doc filter() const { return filter_.doc(); }
    // The $near of the filter, which is at its root; null: there is none.
    const MatchNode* near() const { return near_; }
    const TextClause* text() const { return text_; }  // null: there is none

    // Evaluates one node of a tree; used by plans that check only part of a filter, and by $pull.
    static bool matches(const MatchNode& node, bson::Doc doc, MatchDetails* details = nullptr);
    // Evaluates a node of an elem_match_value kind (empty path) on a single value.
    static bool matches_value(const MatchNode& node, const bson::Element& value);
    // Whether one array element satisfies an elem_match_* node.
    static bool element_matches(const MatchNode& elem_match, const bson::Element& element);

  private:
    Matcher() = default;
    static std::unique_ptr<Matcher> make(bson::Doc filter, const ExpressionParser* expressions,
                                         std::shared_ptr<const collation::Collator> collator,
                                         const WhereParser* where, bool takes_text);
    // Makes keys of the operands of `node` and those below it.
    void put_under_collation(MatchNode& node);

    bson::Object filter_;
    std::shared_ptr<const collation::Collator> collator_;
    const TextClause* text_ = nullptr;
    std::deque<bson::Object> keys_;  // of operands
    sched::Charge keys_charge_;
    std::unique_ptr<MatchNode> root_;
    const MatchNode* near_ = nullptr;
    bool runs_scripts_ = false;
};

}  // namespace query
