#include "query/update/array_filters.h"

#include <algorithm>

#include "base/error.h"
#include "bson/json.h"
#include "query/match/no_near.h"
#include "query/match/regex_flags.h"
#include "sched/tick.h"

namespace query {

using bson::Element;

namespace {

bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

bool may_be_name(std::string_view name) {
    return !name.empty() && is_lower(name[0]) && std::ranges::all_of(name, [](char c) {
        return is_lower(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    });
}

// The name that all paths of a filter begin with.
void find_name(const MatchNode& node, std::string& name) {
    sched::tick();
    if (node.kind == MatchKind::schema)
        base::fail(base::kBadValue, "$jsonSchema is not allowed in arrayFilters");
    if (!node.path.empty()) {
        const std::string first = node.path.substr(0, node.path.find('.'));
        if (!name.empty() && name != first)
            base::fail(base::kFailedToParse,
                       "Error parsing array filter: Expected a single top-level field name, found "
                       "'{}' and '{}'",
                       name, first);
        name = first;
        return;  // what is inside of $elemMatch has paths of its own
    }
    for (const auto& child : node.children)
        find_name(*child, name);
}

Element child_of(const Element& e, const std::string& name) {
    if (!e.is_object() && !e.is_array()) return {};
    const bson::Doc members = e.as_doc();
    sched::tick_bytes(members.size(), sched::PerTick::walked);
    if (e.is_object()) return members[name];
    int64_t index = array_index(name);
    if (index < 0) return {};
    for (const Element& member : members)
        if (index-- == 0) return member;
    return {};
}

class Places {
  public:
    Places(const Mod& mod, bson::Doc doc, ArrayFilters& filters, sched::Vector<Mod>& out)
        : mod_(mod), doc_(doc), filters_(filters), out_(out), path_(mod.path) {}

    // From the part behind `at`, which is missing at the root, to the array that is the next one of
    // the path.
    void walk(size_t next, size_t part, Element at) {
        const auto [place, filter] = mod_.arrays[next];
        for (; part < place; ++part) {
            at = part == 0 ? doc_[path_[0]] : child_of(at, path_[part]);
            if (!at)
                base::fail(base::kBadValue,
                           "The path '{}' must exist in the document in order to apply array "
                           "updates.",
                           text(place));
        }
        if (!at.is_array())
            base::fail(base::kBadValue, "Cannot apply array updates to non-array element {}: {}",
                       text(place), bson::to_text(at));
        uint32_t index = 0;
        for (const Element& element : sched::ticked(at.as_doc())) {
            path_[place] = bson::IndexName(index++).view();
            if (filter != ArrayFilters::kEvery && !filters_.matches(filter, element)) continue;
            if (next + 1 < mod_.arrays.size())
                walk(next + 1, place + 1, element);
            else
                out_.push_back(on_path(mod_, path_));
        }
    }

  private:
    std::string text(size_t parts) const {
        std::string out;
        for (size_t i = 0; i < parts; ++i)
            out += (i == 0 ? "" : ".") + path_[i];
        return out;
    }

    const Mod& mod_;
    const bson::Doc doc_;
    ArrayFilters& filters_;
    sched::Vector<Mod>& out_;
    std::vector<std::string> path_;
};

}  // namespace

ArrayFilters::ArrayFilters(const Element& filters,
                           const std::shared_ptr<const collation::Collator>& collator) {
    if (filters.missing()) return;
    if (!filters.is_array()) base::fail(base::kTypeMismatch, "arrayFilters must be an array");
    for (const Element& e : filters.as_doc()) {
        if (!e.is_object())
            base::fail(base::kTypeMismatch, "each array filter must be a document: {}",
                       bson::to_text(e));
        Filter filter;
        filter.matcher = Matcher::parse(e.as_doc(), &kNoExpressionsHere, collator);
        refuse_odd_flags(*filter.matcher);
        refuse_near(*filter.matcher);
        find_name(filter.matcher->root(), filter.name);
        if (filter.name.empty())
            base::fail(base::kFailedToParse,
                       "Cannot use an expression without a top-level field name in arrayFilters");
        if (!may_be_name(filter.name))
            base::fail(base::kBadValue,
                       "Error parsing array filter: The top-level field name must be an "
                       "alphanumeric string beginning with a lowercase letter, found '{}'",
                       filter.name);
        for (const Filter& other : sched::ticked(filters_)) {
            if (other.name == filter.name)
                base::fail(base::kFailedToParse,
                           "Found multiple array filters with the same top-level field name {}",
                           filter.name);
        }
        filters_.push_back(std::move(filter));
    }
}

int ArrayFilters::named_by(std::string_view part, std::string_view path) {
    if (!part.starts_with("$[") || !part.ends_with(']')) return kNone;
    const std::string_view name = part.substr(2, part.size() - 3);
    if (name.empty()) return kEvery;
    const auto found = std::ranges::find(filters_, name, &Filter::name);
    if (found == filters_.end())
        base::fail(base::kBadValue, "No array filter found for identifier '{}' in path '{}'", name,
                   path);
    found->used = true;
    return static_cast<int>(found - filters_.begin());
}

void ArrayFilters::check_used() const {
    for (const Filter& filter : filters_)
        if (!filter.used)
            base::fail(base::kFailedToParse,
                       "The array filter for identifier '{}' was not used in the update",
                       filter.name);
}

bool ArrayFilters::matches(int filter, const Element& element) {
    const Filter& one = filters_[static_cast<size_t>(filter)];
    scratch_.clear();
    bson::Builder holder(scratch_);
    holder.append_as(one.name, element);
    return one.matcher->matches(holder.doc());
}

void add_places(const Mod& mod, bson::Doc doc, ArrayFilters& filters, sched::Vector<Mod>& out) {
    Places(mod, doc, filters, out).walk(0, 0, {});
}

Mod on_path(const Mod& mod, std::vector<std::string> path) {
    Mod made;
    for (const std::string& part : path)
        made.charge.add(sizeof part + part.size());
    made.path = std::move(path);
    made.modifier = mod.modifier;
    made.on_insert_only = mod.on_insert_only;
    made.odd_part = mod.odd_part;
    made.moved = mod.moved;
    return made;
}

}  // namespace query
