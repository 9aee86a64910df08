#include "query/update/document_difference.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bson/compare.h"

namespace query {

namespace {

using Field = std::pair<std::string, bson::Element>;  // its path

class Difference {
  public:
    explicit Difference(size_t paths_max) : paths_max_(paths_max) {}

    // Adds what is below a path; false where operators cannot say it.
    bool add(bson::Doc before, bson::Doc after, const std::string& path) {
        auto now = after.begin();
        for (const bson::Element& was : before) {
            if (now != after.end() && (*now).name() == was.name()) {
                if (!add_field(was, *now, path)) return false;
                ++now;
            } else {
                if (!is_part(was.name()) || after.has(was.name())) return false;
                removed.push_back({path + std::string(was.name()), was});
                if (is_too_much()) return false;
            }
        }
        for (; now != after.end(); ++now) {
            const bson::Element e = *now;
            if (!is_part(e.name()) || before.has(e.name())) return false;
            set.push_back({path + std::string(e.name()), e});
            if (is_too_much()) return false;
        }
        return true;
    }

    std::vector<Field> set;
    std::vector<Field> removed;
    std::vector<std::pair<std::string, int32_t>> shortened;  // its path, and the new size

  private:
    struct Mark {
        size_t set, removed, shortened;
    };
    Mark mark() const { return {set.size(), removed.size(), shortened.size()}; }
    void back_to(const Mark& mark) {
        set.resize(mark.set);
        removed.resize(mark.removed);
        shortened.resize(mark.shortened);
    }
    static bool is_part(std::string_view name) {
        return !name.empty() && name.front() != '$' && name.find('.') == name.npos;
    }
    static bool is_same(const bson::Element& a, const bson::Element& b) {
        return a.type() == b.type() && std::ranges::equal(a.value_bytes(), b.value_bytes());
    }
    bool add_field(const bson::Element& was, const bson::Element& is, const std::string& path) {
        if (is_same(was, is)) return true;
        if (!is_part(is.name()) || bson::equal_values(was, is)) return false;
        const std::string own = path + std::string(is.name());
        const Mark before = mark();
        if (was.is_object() && is.is_object() && !is.as_doc().empty()) {
            if (add(was.as_doc(), is.as_doc(), own + '.')) return true;
            back_to(before);
        } else if (was.is_array() && is.is_array() && !is.as_doc().empty()) {
            if (add_elements(was.as_doc(), is.as_doc(), own)) return true;
            back_to(before);
        }
        set.push_back({own, is});
        return !is_too_much();
    }
    // The same for an array: its elements one by one, or its new size. False where the whole array
    // is shorter, too.
    bool add_elements(bson::Doc before, bson::Doc after, const std::string& path) {
        const Mark start = mark();
        auto was = before.begin();
        auto is = after.begin();
        int32_t size = 0;
        for (; was != before.end() && is != after.end(); ++was, ++is, ++size) {
            const std::string name = std::to_string(size);
            if ((*was).name() != name || (*is).name() != name) return false;
            if (!add_field(*was, *is, path + '.')) return false;
        }
        for (; is != after.end(); ++is, ++size) {
            if ((*is).name() != std::to_string(size)) return false;
            set.push_back({path + '.' + std::to_string(size), *is});
            if (is_too_much()) return false;
        }
        if (was != before.end()) {
            // No update may have two operators for an array and an element of it.
            if (set.size() + removed.size() + shortened.size() !=
                start.set + start.removed + start.shortened)
                return false;
            shortened.push_back({path, size});
        }
        return !is_too_much() && bytes_since(start) < static_cast<size_t>(after.size());
    }
    // Returns about how many bytes these changes take.
    size_t bytes_since(const Mark& start) const {
        constexpr size_t kAround = 9, kBeside = 5, kSize = 7;
        size_t bytes = kAround + kSize * (shortened.size() - start.shortened) +
                       kBeside * (removed.size() - start.removed);
        for (size_t i = start.set; i < set.size(); ++i)
            bytes += kBeside + set[i].second.value_bytes().size();
        return bytes;
    }
    // Names are looked for, one by one.
    bool is_too_much() const { return set.size() + removed.size() + shortened.size() > paths_max_; }

    const size_t paths_max_;
};

}  // namespace

bool write_difference(bson::Doc before, bson::Doc after, size_t bytes_max, size_t paths_max,
                      bson::Buffer& out) {
    Difference found(paths_max);
    if (!found.add(before, after, {})) return false;
    out.clear();
    bson::Builder form(out);
    if (!found.set.empty()) {
        bson::Builder set = form.sub_object("$set");
        for (const auto& [path, value] : found.set)
            set.append_as(path, value);
    }
    if (!found.removed.empty()) {
        bson::Builder unset = form.sub_object("$unset");
        for (const auto& [path, value] : found.removed)
            unset.append(path, true);
    }
    if (!found.shortened.empty()) {
        bson::Builder push = form.sub_object("$push");
        for (const auto& [path, size] : found.shortened) {
            bson::Builder cut = push.sub_object(path);
            cut.sub_array("$each").finish();
            cut.append("$slice", size);
        }
    }
    return form.doc().size() > 5 && out.size() <= bytes_max;
}

}  // namespace query
