// query/update/array_filters.h - paths through all elements of an array ("a.$[]"), or through those
// that a filter names ("a.$[x]"), as today's servers have them.
//
// Such a path is made one for each element, document by document; query/update/update_tree.h knows
// nothing of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bson/builder.h"
#include "query/match/match_tree.h"
#include "query/update/update_tree.h"

namespace query {

// The arrayFilters of an update. Each is about one element, by a name of its own.
class ArrayFilters {
  public:
    // `filters`: the array, or missing. `collator`: as for Matcher::parse. Throws base::Error 14, 9
    // (no name, or several), 2 (a name that cannot be one, $jsonSchema), and what Matcher::parse
    // throws.
    explicit ArrayFilters(const bson::Element& filters,
                          const std::shared_ptr<const collation::Collator>& collator);

    // Which filter a part of `path` names; kEvery for "$[]", kNone for another part. Throws
    // base::Error 2 where there is no such filter.
    static constexpr int kEvery = -1;
    static constexpr int kNone = -2;
    int named_by(std::string_view part, std::string_view path);
    // Throws base::Error 9 where a filter is named by no path.
    void check_used() const;
    bool matches(int filter, const bson::Element& element);

  private:
    struct Filter {
        std::string name;
        std::unique_ptr<Matcher> matcher;
        bool used = false;
    };
    sched::Vector<Filter> filters_;
    bson::Buffer scratch_;
};

// Appends a Mod for each place of `doc` that `mod`, whose path goes through arrays, is about.
// Throws base::Error 2 where there is no array.
void add_places(const Mod& mod, bson::Doc doc, ArrayFilters& filters, sched::Vector<Mod>& out);
// The modifier of `mod`, which must outlive what is returned, on another path.
Mod on_path(const Mod& mod, std::vector<std::string> path);

}  // namespace query
