// convertToCapped, cloneCollectionAsCapped, and the test commands that cut capped collections back.
#include <limits>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/commands/families.h"
#include "command/context/locks.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "dialect/collections.h"
#include "sched/tick.h"

namespace command {

namespace {

int64_t size_argument(const Invocation& invocation) {
    const bson::Element size = invocation.body["size"];
    if (!size.is_number() || size.to_double() == 0)
        base::fail(base::kBadValue, "invalid command spec: size has to be a positive number");
    if (size.to_double() < 0)
        base::fail(base::kInternalError, "invalid command spec: size {} is below 0",
                   size.to_int64());
    if (!(size.to_double() < static_cast<double>(std::numeric_limits<int64_t>::max()) / 2))
        base::fail(base::kBadValue, "invalid command spec: size is too large");
    return size.to_int64();
}

// Copies documents in natural order into a new capped collection (database lock exclusive). Leading
// extents that twice the size leaves no room for are not read, as in 2.6 (semantics 6 rule 9). A
// copy that fails, or is interrupted, leaves nothing; what a crash leaves is temporary, so that it
// goes with the next start.
void clone_as_capped(OperationContext& context, catalog::Database& db, catalog::Collection& source,
                     std::string_view target_ns, int64_t size) {
    DCHECK(storage::LockManager::may_write(db.name()) && db.collection(target_ns) == nullptr);
    DCHECK(size >= 0 && size <= std::numeric_limits<int64_t>::max() / 2);
    bson::Builder options;
    options.append("capped", true).append("size", size).append("temp", true);
    append_uuid_of_new(context, options);
    for (const bson::Element& e : source.store().options())
        if (catalog::is_validation_option(e.name()) || e.name() == "collation") options.append(e);
    catalog::Collection& target = db.create(target_ns, options.doc());
    DCHECK(target.capped());
    try {
        const auto cursor = source.records().cursor(storage::Direction::forward);
        if (!source.capped()) {
            const int64_t excess = source.records().stats().data_bytes - 2 * size;
            if (const storage::RecordId first = source.records().behind_extents(excess))
                cursor->seek(first);
        }
        while (const auto record = cursor->next()) {
            target.insert(record->doc);
            sched::tick_bytes(record->doc.size(), sched::PerTick::walked, sched::kTicksPerDocument);
        }
    } catch (...) {
        db.drop(target_ns);
        throw;
    }
}

// Whatever has the name of `ns` goes.
void put_in_place(catalog::Database& db, const std::string& copy, const std::string& ns,
                  bool stay_temp) {
    DCHECK(copy != ns && db.collection(copy) != nullptr);
    try {
        db.replace(copy, ns, stay_temp);
    } catch (...) {
        db.drop(copy);
        throw;
    }
}

// The server writes these itself, and not as a ring of documents with an index on _id.
void refuse_system(std::string_view ns) {
    if (catalog::is_system(catalog::split(ns).collection))
        base::fail(base::kIllegalOperation, "a system collection cannot be made capped: {}", ns);
}

void run_convert_to_capped(Invocation& invocation) {
    const std::string ns = invocation.ns();
    refuse_system(ns);
    const int64_t size = size_argument(invocation);
    Service& service = invocation.service;
    CollectionLock lock(invocation.client, ns, true);
    if (lock.collection() == nullptr) base::fail(base::kNamespaceNotFound, "ns not found");
    catalog::Database& db = *lock.database();
    const std::string short_name(catalog::split(ns).collection);
    std::string temporary = fmt::format("{}.tmp.convertToCapped.{}", db.name(), short_name);
    if (temporary.size() > service.engine().name_limits().ns)
        temporary = db.unused_name(ns);
    else if (db.collection(temporary) != nullptr)
        temporary = db.unused_name(temporary);
    service.cursors().kill_collection(ns);
    clone_as_capped(invocation.client, db, *lock.collection(), temporary, size);
    put_in_place(db, temporary, ns, false);
}

void run_clone_as_capped(Invocation& invocation) {
    const std::string ns = invocation.ns();
    const bson::Element to = invocation.body["toCollection"];
    if (!to.is_string() || to.as_string().empty())
        base::fail(base::kBadValue, "invalid command spec: toCollection is missing");
    if (invocation.dialect().has(dialect::kNamesOfCollectionsAreChecked))
        catalog::refuse_leading_dot(to.as_string());
    const int64_t size = size_argument(invocation);
    const std::string target = fmt::format("{}.{}", invocation.db, to.as_string());
    refuse_system(target);
    CollectionLock lock(invocation.client, ns, true);
    if (lock.collection() == nullptr)
        base::fail(base::kNamespaceNotFound, "source collection {} does not exist", ns);
    catalog::Database& db = *lock.database();
    if (!catalog::valid_collection_name(invocation.db, to.as_string(),
                                        invocation.service.engine().name_limits()))
        base::fail(base::kInvalidNamespace, "Invalid namespace specified '{}'", target);
    if (db.collection(target) != nullptr)
        base::fail(base::kNamespaceExists, "collection already exists");
    const std::string copy = db.unused_name(target);
    clone_as_capped(invocation.client, db, *lock.collection(), copy, size);
    put_in_place(db, copy, target, invocation.body["temp"].truthy());
}

catalog::Collection& capped_collection(const CollectionLock& lock) {
    if (lock.collection() == nullptr) base::fail(base::kNamespaceNotFound, "no such collection");
    if (!lock.collection()->capped()) base::fail(13424, "collection must be capped");
    return *lock.collection();
}

void run_empty_capped(Invocation& invocation) {
    const std::string ns = invocation.ns();
    CollectionLock lock(invocation.client, ns, true);
    catalog::Collection& collection = capped_collection(lock);
    invocation.service.cursors().kill_collection(ns);
    lock.database()->truncate(collection);
}

// { captrunc: name, n, inc }: removes the newest n documents (with inc: and the one before).
void run_cap_trunc(Invocation& invocation) {
    const std::string ns = invocation.ns();
    CollectionLock lock(invocation.client, ns, true);
    // An assertion of the old server; those have no number.
    if (lock.collection() != nullptr && !lock.collection()->capped())
        base::fail(base::kOK, "captrunc: the collection must be capped: {}", ns);
    catalog::Collection& collection = capped_collection(lock);
    collection.check_writable();
    if (collection.change_log() != nullptr)
        base::fail(base::kIllegalOperation, "captrunc makes no entry in the log of writes");
    const int64_t n = std::max<int64_t>(invocation.body["n"].to_int64(), 0);
    const bool inclusive = invocation.body["inc"].truthy();
    const auto cursor = collection.records().cursor(storage::Direction::backward);
    storage::RecordId id;
    for (int64_t i = 0; i <= n; ++i) {
        const auto record = cursor->next();
        if (!record) base::fail(13418, "captrunc: not so many documents");
        id = record->id;
    }
    DCHECK(!id.is_null());
    invocation.service.cursors().kill_collection(ns);
    collection.records().truncate_after(id, inclusive);
}

bool may_clone_as_capped(const Invocation& invocation, const Rights& rights) {
    const bson::Element from = invocation.first();
    const bson::Element to = invocation.body["toCollection"];
    if (!from.is_string() || !to.is_string()) return rights.logged_in();
    return rights.on(invocation.db, from.as_string(), auth::action::find) &&
           rights.on(invocation.db, to.as_string(),
                     auth::action::createCollection | auth::action::insert |
                         auth::action::convertToCapped);
}

constexpr Field kConvertFields[] = {
    {"size", types::number},
};
constexpr Field kCloneFields[] = {
    {"toCollection", types::string},
    {"size", types::number},
    {"temp", types::flag},
};
constexpr Field kTruncateFields[] = {
    {"n", types::number},
    {"inc", types::flag},
};

constexpr Command kCommands[] = {
    {"convertToCapped", "", 0, LockKind::write, "{ convertToCapped: collection, size: bytes }",
     run_convert_to_capped, needs::on_collection(auth::action::convertToCapped), kConvertFields},
    {"cloneCollectionAsCapped", "", 0, LockKind::write,
     "{ cloneCollectionAsCapped: collection, toCollection: name, size: bytes }",
     run_clone_as_capped, needs::decided(may_clone_as_capped), kCloneFields},
    {"emptycapped", "", kTestOnly, LockKind::write, "for tests: empty a capped collection",
     run_empty_capped, needs::on_cluster(auth::action::internal)},
    {"captrunc", "", kTestOnly, LockKind::write, "for tests: cut a capped collection back",
     run_cap_trunc, needs::on_cluster(auth::action::internal), kTruncateFields},
};

}  // namespace

Family capped_commands() {
    return kCommands;
}

}  // namespace command
