// query/update/update_base.h - what updates with operators and replacements share: checks of the
// result, and the document an upsert starts from.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/view.h"
#include "dialect/dialect.h"
#include "query/match/match_tree.h"
#include "query/update/update.h"

namespace query {

// Paths shorter than this can't take a value checked at parse time past the nesting limit.
constexpr size_t kShallow = 64;

// The code of each error of an update by the old messages, and of an upsert, whatever the cause.
constexpr int kUpdateFailed = 16837;
constexpr int kUpsertFailed = 16836;

// Does `work`, whose errors of these causes get another code, unless that is 0.
template <typename Work>
auto with_code(int code, std::initializer_list<int> causes, Work&& work) {
    try {
        return work();
    } catch (const base::Error& e) {
        if (code == 0 || std::ranges::find(causes, e.code()) == causes.end()) throw;
        base::fail(code, "{}", e.what());
    }
}

std::unique_ptr<Update> make_replacement(bson::Doc u, const Update::Options& options);

// Checks the name of the field at `path`, seen among its siblings. Throws base::Error 52, 55, 57.
void check_leaf_name(const std::vector<std::string>& path, bson::Doc doc);
// Throws base::Error 111 for an upsert by clients of today whose query has a part of `_id`.
void refuse_part_of_id(const Matcher& query);
// Checks that `_id` is there as before: throws base::Error 66, or 54 if it became an array.
void check_same_id(const bson::Element& before, const bson::Element& now);
// Throws base::Error 53 for a type `_id` can't have (array, undefined, regular expression).
void check_id_type(const bson::Element& id);
// Throws base::Error 17419 above bson::kDocumentBytesMax.
void check_size(bson::Doc doc);

// The fields that the query compares by equality, as a document: what operators of an upsert apply
// to.
class UpsertBase {
  public:
    // Throws base::Error 12 if the fields contradict each other, and for an operator in a path.
    UpsertBase(const Matcher& query, dialect::Dialect dialect);
    bson::Doc doc() const { return doc_; }
    // Checks that all names of the document that the operators have made are fit for storage. But a
    // DBRef may be incomplete if the query names a part of it ({"r.$id": 5}). Throws base::Error
    // 52, 55, 57.
    void check_names(bson::Doc now) const;

  private:
    const dialect::Dialect dialect_;
    bson::Object doc_;
    std::set<std::string, std::less<>> incomplete_;  // fields that hold such a DBRef
};

// Appends `doc` to `out` as one document with `id` as first field, a new ObjectId if that is
// missing.
void write_with_id_first(bson::Doc doc, const bson::Element& id, bson::Buffer& out);

}  // namespace query
