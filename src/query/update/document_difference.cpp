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

  private:
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
        if (was.is_object() && is.is_object() && !is.as_doc().empty()) {
            const size_t sets = set.size();
            const size_t removals = removed.size();
            if (add(was.as_doc(), is.as_doc(), own + '.')) return true;
            set.resize(sets);
            removed.resize(removals);
        }
        set.push_back({own, is});
        return !is_too_much();
    }
    // Names are looked for, one by one.
    bool is_too_much() const { return set.size() + removed.size() > paths_max_; }

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
    return form.doc().size() > 5 && out.size() <= bytes_max;
}

}  // namespace query
