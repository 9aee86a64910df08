#include "query/plan/distinct.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "catalog/mixed_times.h"
#include "dialect/filters.h"
#include "query/plan/index_scan.h"
#include "query/plan/plan.h"
#include "sched/operation.h"
#include "sched/work_limit.h"
#include "storage/record_id_set.h"

namespace query {

using bson::Doc;
using bson::Element;

void DistinctValues::add(Doc doc) {
    const sched::WorkLimit limit("collecting the values of one document");
    ++documents_;
    found_.clear();
    collect(doc, path_);
    add_found();
}

void DistinctValues::add_key(const Element& value) {
    found_.clear();
    take(value);
    add_found();
}

void DistinctValues::add_found() {
    std::ranges::stable_sort(
        found_, sched::ticking([this](const Element& a, const Element& b) { return less_(a, b); }));
    for (const Element& value : found_)
        add_value(value);
}

// The value, or of an array its elements.
void DistinctValues::take(const Element& value) {
    if (!value.is_array()) {
        found_.push_back(value);
        return;
    }
    for (const Element& member : sched::ticked(value.as_doc()))
        found_.push_back(member);
}

void DistinctValues::add_value(const Element& value) {
    sched::tick();
    if (collator_ == nullptr || !collation::has_text(value)) {
        if (seen_.contains(value)) return;
        values_.push_back(copy(value));
        seen_.insert(Element(values_.back().get()));
        return;
    }
    const bson::Object key = collator_->key_of(value);
    if (seen_.contains(key.doc().first())) return;
    keys_.push_back(copy(key.doc().first()));
    seen_.insert(Element(keys_.back().get()));
    values_.push_back(copy(value));
}

sched::Bytes DistinctValues::copy(const Element& value) {
    const uint32_t size = value.value_size();
    if (bytes_ + size + 2 > kBytesMax) base::fail(17217, "distinct too big, 16mb cap");
    sched::Bytes made = sched::make_bytes(size + 2);
    made[0] = static_cast<uint8_t>(value.type());
    made[1] = 0;
    std::memcpy(made.get() + 2, value.value(), size);
    bytes_ += size + 2;
    DCHECK(bytes_ <= kBytesMax);
    return made;
}

void DistinctValues::sort() {
    std::ranges::sort(values_, sched::ticking([this](const auto& a, const auto& b) {
                          return less_(Element(a.get()), Element(b.get()));
                      }));
}

void DistinctValues::append_to(bson::Builder& array) const {
    for (const auto& value : values_)
        array.push_element(Element(value.get()));
}

// A field whose name is the whole rest of the path, dots included, goes first.
void DistinctValues::collect(Doc doc, std::string_view path) {
    sched::tick_bytes(doc.size(), sched::PerTick::copied);
    if (const Element e = doc[path]) {
        take(e);
        return;
    }
    const size_t dot = path.find('.');
    if (dot == std::string_view::npos) return;
    const Element e = doc[path.substr(0, dot)];
    const std::string_view rest = path.substr(dot + 1);
    if (e.is_object())
        collect(e.as_doc(), rest);
    else if (e.is_array())
        collect_members(e, rest);
}

// A number names an element of the array, anything else a field of its documents.
void DistinctValues::collect_members(const Element& array, std::string_view path) {
    const std::string_view part = path.substr(0, path.find('.'));
    const bool number =
        std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (number) {
        collect(array.as_doc(), path);
        return;
    }
    for (const Element& member : array.as_doc())
        if (member.is_object()) collect(member.as_doc(), path);
}

namespace {

// Whether the keys of an index tell the field's values one by one. The keys of an array below a
// document do not: "a.0" of {a: [[1]]} is no element.
bool tells_values(const catalog::Index& index, std::string_view path) {
    if (index.store == nullptr || !index.ready || index.key_pattern.first().name() != path)
        return false;
    if (index.generator->collator() != nullptr) return false;
    if (index.multikey && path.find('.') != std::string_view::npos) return false;
    for (const Element& field : index.key_pattern) {
        if (!field.is_number()) return false;
    }
    return true;
}

// Documents that keys lead to, each one once: more than one key may lead to it only in an index
// that holds elements of arrays.
class ReachedDocuments {
  public:
    ReachedDocuments(catalog::Collection& collection, const catalog::Index& index,
                     DistinctValues& values)
        : collection_(collection), index_(index), values_(values) {}

    // Takes the value of a key. An index that holds elements of arrays leads to their documents,
    // whose values are all taken, as they are without an index. A key that is an array leads there
    // too.
    void add(storage::RecordId id, const Element& value) {
        if (index_.multikey || value.is_array()) {
            add_document(id);
        } else {
            values_.add_key(value);
        }
    }

    void add_document(storage::RecordId id) {
        if (index_.multikey && !seen_.insert(id)) return;
        values_.add(collection_.records().get(id));
    }

  private:
    catalog::Collection& collection_;
    const catalog::Index& index_;
    DistinctValues& values_;
    storage::RecordIdSet seen_;
};

bool tells_times(const catalog::Index& index, const DistinctValues& values) {
    return !values.dialect().has(dialect::kTimesAreTwoClasses) ||
           catalog::order_of_times(index) != catalog::OrderOfTimes::mixed;
}

// Whether it was not known whether the index tells times, and now is. Plans made before are stale.
bool has_learned(const catalog::Index& index, const DistinctValues& values, const std::string& ns,
                 sched::YieldPoint* yield_point) {
    if (!values.dialect().has(dialect::kTimesAreTwoClasses) ||
        catalog::order_of_times(index) != catalog::OrderOfTimes::unknown)
        return false;
    if (!catalog::learn_order_of_times(index, yield_point)) throw_dropped(ns);
    return true;
}

bool has_all_documents(const catalog::Index& index) {
    return !index.hidden && index.generator->filter() == nullptr;
}

const catalog::Index* smallest_index(const catalog::Collection& collection, std::string_view path,
                                     const DistinctValues& values) {
    const catalog::Index* best = nullptr;
    for (const auto& index : collection.indexes()) {
        if (tells_values(*index, path) && has_all_documents(*index) &&
            tells_times(*index, values) &&
            (best == nullptr || index->key_pattern.field_count() < best->key_pattern.field_count()))
            best = index.get();
    }
    return best;
}

std::optional<DistinctPlan> plan_of_all(catalog::Collection& collection, std::string_view path,
                                        const DistinctValues& values,
                                        sched::YieldPoint* yield_point) {
    const std::string ns(std::string_view(collection.ns()));
    const catalog::Index* index = smallest_index(collection, path, values);
    while (index != nullptr && has_learned(*index, values, ns, yield_point))
        index = smallest_index(collection, path, values);
    if (index == nullptr) return std::nullopt;
    DistinctPlan found;
    found.plan.scans.push_back(whole_index(*index, false));
    found.plan.covered = true;
    found.plan.check_document = false;
    return found;
}

std::optional<DistinctPlan> plan_of_query(catalog::Collection& collection, std::string_view path,
                                          FindQuery& query, const DistinctValues& values,
                                          sched::YieldPoint* yield_point) {
    if (path.empty() || path == "_id") return std::nullopt;
    const bson::Object only = bson::make("_id", 0, path, 1);
    query.projection = Projection::parse(only, query.matcher.get());
    const std::string ns(std::string_view(collection.ns()));
    std::vector<Plan> plans = make_plans(collection, query, {}, yield_point);
    const auto fits = [&](const Plan& plan) {
        return plan.covered && plan.scans.size() == 1 && plan.scans[0].key_filter.empty() &&
               tells_values(*plan.scans[0].index, path) &&
               tells_times(*plan.scans[0].index, values);
    };
    auto found = std::ranges::find_if(plans, fits);
    while (found != plans.end() && has_learned(*found->scans[0].index, values, ns, yield_point)) {
        plans = make_plans(collection, query, {}, yield_point);
        found = std::ranges::find_if(plans, fits);
    }
    query.projection = nullptr;
    if (found == plans.end()) return std::nullopt;
    return DistinctPlan{std::move(*found), true};
}

int64_t run_over_all(catalog::Collection& collection, const catalog::Index& index,
                     DistinctValues& values, sched::YieldPoint* yield_point) {
    const std::string ns(std::string_view(collection.ns()));
    const auto cursor = index.store->cursor(storage::Direction::forward);
    sched::LongLoop loop(yield_point);
    const auto yield_if_due = [&] {
        sched::tick();
        if (loop.is_due() && !loop.yield([&] { cursor->save(); }, [&] { cursor->restore(); }))
            throw_dropped(ns);
    };
    ReachedDocuments documents(collection, index, values);
    int64_t keys = 0;
    for (cursor->seek_to_start(); !cursor->at_end(); ++keys) {
        yield_if_due();
        if (cursor->at_end()) break;
        const Element value = cursor->key().first();
        bson::Builder reached;
        reached.append_as("", value);
        const Doc prefix = reached.doc();
        if (value.type() != bson::Type::null && value.type() != bson::Type::undefined) {
            documents.add(cursor->id(), value);
            cursor->seek(prefix, true);
            continue;
        }
        // A missing field and an empty array have such keys, too: the documents tell.
        while (!cursor->at_end() &&
               bson::compare_values(cursor->key().first(), prefix.first()) == 0) {
            documents.add_document(cursor->id());
            cursor->next();
            yield_if_due();
        }
    }
    return keys;
}

int64_t run_over_bounds(catalog::Collection& collection, const ScanPlan& plan,
                        DistinctValues& values, sched::YieldPoint* yield_point) {
    const std::string ns(std::string_view(collection.ns()));
    plan.index->count_use();
    IndexScan scan(plan);
    ReachedDocuments documents(collection, *plan.index, values);
    sched::LongLoop loop(yield_point);
    bool more = scan.next();
    const auto save = [&scan] {
        scan.step_back();
        scan.save();
    };
    const auto restore = [&] {
        scan.restore();
        more = scan.next();
    };
    while (more) {
        sched::tick();
        if (loop.is_due() && !loop.yield(save, restore)) throw_dropped(ns);
        if (!more) break;
        const Element value = scan.key().first();
        if (value.type() == bson::Type::null || value.type() == bson::Type::undefined) {
            documents.add_document(scan.id());
            more = scan.next();
        } else {
            documents.add(scan.id(), value);
            more = scan.next_value();
        }
    }
    return scan.examined();
}

}  // namespace

std::optional<DistinctPlan> plan_distinct(catalog::Collection& collection, std::string_view path,
                                          FindQuery& query, const DistinctValues& values,
                                          sched::YieldPoint* yield_point) {
    DCHECK(query.projection == nullptr && query.sort.empty() && query.limit == 0);
    return query.matcher->filter().empty()
               ? plan_of_all(collection, path, values, yield_point)
               : plan_of_query(collection, path, query, values, yield_point);
}

int64_t run_distinct(catalog::Collection& collection, const DistinctPlan& plan,
                     DistinctValues& values, sched::YieldPoint* yield_point) {
    DCHECK(plan.plan.scans.size() == 1);
    const ScanPlan& scan = plan.plan.scans[0];
    return plan.of_query ? run_over_bounds(collection, scan, values, yield_point)
                         : run_over_all(collection, *scan.index, values, yield_point);
}

}  // namespace query
