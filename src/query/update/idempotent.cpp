#include "query/update/idempotent.h"

#include <algorithm>
#include <optional>

#include "base/dcheck.h"
#include "bson/compare.h"
#include "query/update/document_difference.h"
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
bool equals_otherwise(const bson::Element& was, const bson::Element& is) {
    return bson::equal_values(was, is) &&
           (was.type() != is.type() || !std::ranges::equal(was.value_bytes(), is.value_bytes()));
}

bool has_changed(const Mod& mod) {
    return mod.written || mod.removed;
}

}  // namespace

bson::Doc idempotent_form(const Update& update, const UpdateResult& result, bson::Doc before,
                          bson::Buffer& changed, bson::Buffer& out) {
    DCHECK(result.changed);
    const auto whole = [&] { return updated_document(before, result, changed); };
    if (result.computed || (result.reorders && !result.whole)) {
        const bson::Doc after = whole();
        const size_t bytes_max = static_cast<size_t>(after.size()) + kMoreBytesMax;
        return write_difference(before, after, bytes_max, kPathsMax, out) ? bson::Doc(out.data())
                                                                          : after;
    }
    if (result.whole) return whole();
    const std::span<const Mod> mods = update.mods();
    const auto paths = static_cast<size_t>(std::ranges::count_if(mods, has_changed));
    if (paths == 0 || paths > kPathsMax) return whole();
    DCHECK(!result.in_place || paths == result.patches.size());
    // The patches give a change in place: a copy of the document is not needed.
    const bson::Doc after = result.in_place ? before : bson::Doc(changed.data());
    const bson::Patch* patch = result.patches.data();
    const size_t bytes_max = static_cast<size_t>(after.size()) + kMoreBytesMax;
    size_t bytes = 0;
    bool has_gone = false;
    std::string joined;
    out.clear();
    bson::Builder form(out);
    std::optional<bson::Builder> set;
    for (const Mod& mod : mods) {
        if (!has_changed(mod)) continue;
        sched::tick();
        const FieldLocation place = locate_field(mod.path, after);
        if (place.depth < mod.path.size()) {
            has_gone = true;
            continue;
        }
        const std::string_view text = text_of(mod.path, joined);
        const std::span<const uint8_t> value =
            result.in_place ? std::span(patch->bytes, static_cast<size_t>(patch->size))
                            : place.element.value_bytes();
        bytes += text.size() + value.size();
        if (bytes > bytes_max) return whole();
        if (!set) set.emplace(form.sub_object("$set"));
        const size_t start = out.size();
        set->bytes(place.element.type(), text, value);
        const FieldLocation old = result.in_place ? place : locate_field(mod.path, before);
        if (old.depth == mod.path.size() &&
            equals_otherwise(old.element, bson::Element(out.data() + start)))
            return whole();
        if (result.in_place) ++patch;
    }
    set.reset();
    if (has_gone) {
        bson::Builder unset = form.sub_object("$unset");
        for (const Mod& mod : mods)
            if (has_changed(mod) && locate_field(mod.path, after).depth < mod.path.size())
                unset.append(text_of(mod.path, joined), true);
    }
    return form.doc();
}

}  // namespace query
