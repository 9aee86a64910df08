#include "catalog/views.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "catalog/names.h"
#include "sched/tick.h"

namespace catalog {

namespace {

// Names may be longer than those of new views.
bool is_view(bson::Doc doc, std::string_view db) {
    constexpr storage::NameLimits kLimits = storage::kNameLimitsOfToday;
    const bson::Element id = doc["_id"];
    const bson::Element on = doc["viewOn"];
    return id.is_string() && split(id.as_string()).db == db &&
           valid_collection_name(db, split(id.as_string()).collection, kLimits) && on.is_string() &&
           valid_collection_name(db, on.as_string(), kLimits) && doc["pipeline"].is_array();
}

// A collation of another release of the library will do, since nothing is stored in the order of a
// view.
std::shared_ptr<const collation::Collator> stored_collator(const bson::Element& stored) {
    if (!stored.is_object()) return nullptr;
    bson::Builder spec;
    for (const bson::Element& e : stored.as_doc())
        if (e.name() != "version") spec.append(e);
    return collation::Collator::make(spec.doc());
}

bson::Object as_document(std::string_view ns, const View& view) {
    bson::Builder doc;
    doc.append("_id", ns).append("viewOn", split(view.on).collection);
    doc.append_array("pipeline", view.pipeline);
    if (view.collator != nullptr) doc.append("collation", view.collator->spec());
    return doc.object();
}

// Null if there is none.
storage::RecordId find_record(Collection& stored, std::string_view ns) {
    const auto cursor = stored.records().cursor(storage::Direction::forward);
    while (const auto record = cursor->next()) {
        sched::tick();
        const bson::Element id = record->doc["_id"];
        if (id.is_string() && id.as_string() == ns) return record->id;
    }
    return {};
}

}  // namespace

void Views::load(Collection& stored) {
    views_.clear();
    const std::string_view db = split(stored.ns()).db;
    try {
        const auto cursor = stored.records().cursor(storage::Direction::forward);
        while (const auto record = cursor->next()) {
            if (!is_view(record->doc, db)) {
                base::log::warning("a document of {} is no view: {}", stored.ns(),
                                   bson::to_text(record->doc));
                continue;
            }
            View view{fmt::format("{}.{}", db, record->doc["viewOn"].as_string()),
                      bson::Object(record->doc["pipeline"].as_doc()),
                      stored_collator(record->doc["collation"])};
            views_.insert_or_assign(std::string(record->doc["_id"].as_string()), std::move(view));
        }
    } catch (const base::Error& e) {
        // A damaged view must not keep the rest from its users.
        base::log::error("not all views of {} can be read: {}", db, e.what());
    }
}

std::vector<std::string> Views::names() const {
    std::vector<std::string> names;
    for (const auto& [ns, view] : views_)
        names.push_back(ns);
    return names;
}

void Views::put(Collection& stored, std::string_view ns, const View& view) {
    const bson::Object doc = as_document(ns, view);
    if (doc.size() > bson::kDocumentBytesMax)
        base::fail(base::kInvalidOptions, "the pipeline of view {} is too large to be kept", ns);
    DCHECK(sched::is_uninterruptible());
    if (const storage::RecordId id = find_record(stored, ns))
        stored.update(id, doc);
    else
        stored.insert(doc);
    views_.insert_or_assign(std::string(ns), view);
}

void Views::erase(Collection& stored, std::string_view ns) {
    DCHECK(find(ns) != nullptr);
    DCHECK(sched::is_uninterruptible());
    if (const storage::RecordId id = find_record(stored, ns)) stored.remove(id);
    views_.erase(views_.find(ns));
}

}  // namespace catalog
