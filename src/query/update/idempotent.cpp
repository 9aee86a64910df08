#include "query/update/idempotent.h"

#include <algorithm>
#include <optional>

#include "base/dcheck.h"
#include "bson/compare.h"
#include "query/update/update_tree.h"
#include "sched/tick.h"

namespace query {

namespace {

// Each path is looked up by itself.
constexpr size_t kPathsMax = 100;
// Beyond the document's own size, for long paths to small values.
constexpr size_t kMoreBytesMax = 1024;

// "a.b"; `joined` keeps it where there is more than one part.
std::string_view text_of(const std::vector<std::string>& path, std::string& joined) {
    if (path.size() == 1) return path[0];
    joined = path[0];
    for (size_t i = 1; i < path.size(); ++i)
        (joined += '.') += path[i];
    return joined;
}

// Whether a value equals the one before it, and is not the same.
bool equals_otherwise(const FieldLocation& before, const FieldLocation& after) {
    const bson::Element& was = before.element;
    const bson::Element& is = after.element;
    return before.depth == after.depth && bson::equal_values(was, is) &&
           (was.type() != is.type() || !std::ranges::equal(was.value_bytes(), is.value_bytes()));
}

}  // namespace

bson::Doc idempotent_form(const Update& update, const UpdateResult& result, bson::Doc before,
                          bson::Doc after, bson::Buffer& out) {
    DCHECK(result.changed);
    if (result.whole || result.reorders) return after;
    const auto paths = update.changed_paths();
    if (paths.empty() || paths.size() > kPathsMax) return after;
    const size_t bytes_max = static_cast<size_t>(after.size()) + kMoreBytesMax;
    size_t bytes = 0;
    std::string joined;
    out.clear();
    bson::Builder form(out);
    std::optional<bson::Builder> set;
    std::vector<const std::vector<std::string>*> gone;
    for (const std::vector<std::string>* path : paths) {
        sched::tick();
        const FieldLocation place = locate_field(*path, after);
        if (place.depth < path->size()) {
            gone.push_back(path);
            continue;
        }
        const std::string_view text = text_of(*path, joined);
        bytes += text.size() + place.element.value_size();
        if (bytes > bytes_max || equals_otherwise(locate_field(*path, before), place)) return after;
        if (!set) set.emplace(form.sub_object("$set"));
        set->append_as(text, place.element);
    }
    set.reset();
    if (!gone.empty()) {
        bson::Builder unset = form.sub_object("$unset");
        for (const std::vector<std::string>* path : gone)
            unset.append(text_of(*path, joined), true);
    }
    return form.doc();
}

}  // namespace query
