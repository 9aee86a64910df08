// query/project/projection.h - which fields of a document a reader gets (wire spec 4.4, semantics
// 2).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "query/match/match_tree.h"

namespace query {

class Projection {
  public:
    // Throws base::Error 2 for a bad specification. `filter` is needed to check positional
    // projections; `expressions` and `collator` as for Matcher::parse. Clients of today give
    // `expressions`: for them parts of `_id` are as other paths, and a $slice of a path beside
    // chosen fields shows only that path of the documents on the way. Null result: an empty
    // specification, everything is returned.
    static std::unique_ptr<Projection> parse(
        bson::Doc spec, const Matcher* filter, const ExpressionParser* expressions = nullptr,
        std::shared_ptr<const collation::Collator> collator = nullptr);
    // Parses a projection of findAndModify, which knows no positional projection: `$` is a name
    // like others (`a.$` shows of each element of `a` the field `$`). Throws base::Error 10053,
    // 13097..13100, 16342..16347.
    static std::unique_ptr<Projection> parse_by_name(
        bson::Doc spec, const ExpressionParser* expressions = nullptr,
        std::shared_ptr<const collation::Collator> collator = nullptr);
    virtual ~Projection() = default;

    // Appends the projected document at the end of `out` as one whole document. `details` comes
    // from the match (only if needs_details). Throws base::Error when a positional projection has
    // no match.
    virtual void apply(bson::Doc doc, const MatchDetails* details, bson::Buffer& out) const = 0;
    virtual bool needs_details() const = 0;
    // Inclusion of plain top-level or dotted names only: could be answered from an index holding
    // them.
    virtual bool covered_by(const std::vector<std::string>& index_fields) const = 0;
    // Whether it takes a field of the index as it is; only if covered_by said so.
    virtual bool takes(std::string_view index_field) const = 0;
};

}  // namespace query
