// query/update/update_base.h - what updates with operators and replacements share: checks of the
// result, and the document an upsert starts from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "bson/view.h"
#include "query/match/match_tree.h"

namespace query {

class Update;

// Paths shorter than this can't take a value checked at parse time past the nesting limit.
constexpr size_t kShallow = 64;

std::unique_ptr<Update> make_replacement(bson::Doc u);

// The name of the field at `path`, seen among its siblings. Throws base::Error 52, 55, 57.
void check_leaf_name(const std::vector<std::string>& path, bson::Doc doc);
// `_id` is there as before: throws base::Error 66, or 54 where it became an array.
void check_same_id(const bson::Element& before, const bson::Element& now);
// A type `_id` can't have (array, undefined, regular expression): throws base::Error
// `array_code` or 53.
void check_id_type(const bson::Element& id, int array_code);
// An `_id` taken from a filter: its type, and no operators at its first level (deeper ones count as
// data). Throws base::Error 52, 53, 55.
void check_filter_id(const bson::Element& id);
// Throws base::Error 17419 above bson::kMaxDocumentBytes.
void check_size(bson::Doc doc);

// The fields that the query compares by equality, as a document: what operators of an upsert apply
// to. Throws base::Error 12 where they contradict each other, else those of the checks above.
bson::Object upsert_base(const Matcher& query);

// Appends `doc` to `out` as one document with `id` as first field, a new ObjectId if that is
// missing.
void write_with_id_first(bson::Doc doc, const bson::Element& id, bson::Buffer& out);

}  // namespace query
