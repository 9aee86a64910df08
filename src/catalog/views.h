// catalog/views.h - the views of a database: names that stand for a pipeline over a collection, or
// over another view.
//
// Each is a document {_id: "db.view", viewOn: "collection", pipeline: [...], collation: {...}} of
// the collection system.views, as with today's servers. The old server takes that for a collection
// like any other.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "catalog/collection.h"
#include "collation/collator.h"

namespace catalog {

constexpr std::string_view kViews = "system.views";

struct View {
    std::string on;         // full name
    bson::Object pipeline;  // an array of stages
    // The collation under which all that reads the view compares texts; null: by their bytes.
    std::shared_ptr<const collation::Collator> collator = {};
};

// The locks are those of the database: shared for what is const, else exclusive.
class Views {
  public:
    // Reads the stored views; a document in `stored` that is no view is passed over, with a line in
    // the log.
    void load(Collection& stored);

    bool empty() const { return views_.empty(); }
    // Null if there is none of that full name.
    const View* find(std::string_view ns) const {
        const auto found = views_.find(ns);
        return found == views_.end() ? nullptr : &found->second;
    }
    // Returns the full names, sorted.
    std::vector<std::string> names() const;

    // Stores it, in the place of the one that has the name.
    void put(Collection& stored, std::string_view ns, const View& view);
    // REQUIRES: there is one.
    void erase(Collection& stored, std::string_view ns);

  private:
    std::map<std::string, View, std::less<>> views_;
};

}  // namespace catalog
