#include "query/update/idempotent.h"

#include <algorithm>

#include "base/dcheck.h"
#include "bson/compare.h"
#include "bson/field_path.h"
#include "query/update/update_tree.h"
#include "sched/tick.h"

namespace query {

namespace {

// Each path is looked up by itself.
constexpr size_t kPathsMax = 100;
// Beyond the document's own size, for long paths to small values.
constexpr size_t kMoreBytesMax = 1024;

std::vector<std::string> parts_of(std::string_view path) {
    const bson::FieldPath cut(path);
    std::vector<std::string> parts;
    for (size_t i = 0; i < cut.size(); ++i)
        parts.emplace_back(cut.part(i));
    return parts;
}

// Whether a value equals the one before it, and is not the same.
bool equals_otherwise(const FieldLocation& before, const FieldLocation& after) {
    const bson::Element& was = before.element;
    const bson::Element& is = after.element;
    return before.depth == after.depth && bson::equal_values(was, is) &&
           (was.type() != is.type() || !std::ranges::equal(was.value_bytes(), is.value_bytes()));
}

}  // namespace

bson::Object idempotent_form(const Update& update, const UpdateResult& result, bson::Doc before,
                             bson::Doc after) {
    DCHECK(result.changed);
    if (result.whole || result.reorders) return bson::Object(after);
    const std::vector<std::string> paths = update.changed_paths();
    if (paths.empty() || paths.size() > kPathsMax) return bson::Object(after);
    const size_t bytes_max = static_cast<size_t>(after.size()) + kMoreBytesMax;
    size_t bytes = 0;
    bson::Builder set;
    bson::Builder unset;
    for (const std::string& path : paths) {
        sched::tick();
        const std::vector<std::string> parts = parts_of(path);
        const FieldLocation place = locate_field(parts, after);
        if (place.depth == parts.size()) {
            bytes += path.size() + place.element.value_size();
            if (bytes > bytes_max || equals_otherwise(locate_field(parts, before), place))
                return bson::Object(after);
            set.append_as(path, place.element);
        } else {
            unset.append(path, true);
        }
    }
    bson::Builder form;
    if (!set.doc().empty()) form.append("$set", set.doc());
    if (!unset.doc().empty()) form.append("$unset", unset.doc());
    return form.object();
}

}  // namespace query
