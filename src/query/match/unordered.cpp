#include "query/match/unordered.h"

#include <algorithm>

#include "bson/order_of_today.h"
#include "sched/counted.h"
#include "sched/tick.h"

namespace query {

namespace {

using bson::Doc;
using bson::Element;

enum class Names { count, do_not_count };

sched::Vector<Element> elements_of(Doc doc, Names names) {
    sched::Vector<Element> elements;
    for (const Element& each : sched::ticked(doc))
        elements.push_back(each);
    if (names == Names::count)
        std::ranges::stable_sort(elements, {}, [](const Element& each) { return each.name(); });
    return elements;
}

int compare_elements(Doc a, Doc b, Names names) {
    const sched::Vector<Element> left = elements_of(a, names), right = elements_of(b, names);
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
        if (names == Names::count) {
            if (const int c = left[i].name().compare(right[i].name()); c != 0) return c;
        }
        if (const int c = compare_unordered(left[i], right[i]); c != 0) return c;
    }
    return left.size() < right.size() ? -1 : (right.size() < left.size() ? 1 : 0);
}

}  // namespace

int compare_unordered(const Element& a, const Element& b) {
    sched::tick();
    if (a.is_object() && b.is_object()) return compare_unordered(a.as_doc(), b.as_doc());
    if (a.is_array() && b.is_array())
        return compare_elements(a.as_doc(), b.as_doc(), Names::do_not_count);
    return bson::compare_values_of_today(a, b);
}

int compare_unordered(Doc a, Doc b) {
    return compare_elements(a, b, Names::count);
}

}  // namespace query
