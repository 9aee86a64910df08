// collStats, dbStats, dataSize, top, profile level (wire spec 2.4).
#include "command/report/stats.h"

#include <filesystem>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "command/context/locks.h"
#include "command/cursor/query_cursors.h"
#include "command/report/reports.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "dialect/requests.h"
#include "query/plan/executor.h"

namespace command {

namespace {

int64_t scale_of(const bson::Element& e) {
    if (!e.is_number()) {
        if (e.truthy()) base::fail(base::kBadValue, "scale has to be a number >= 1");
        return 1;  // undefined, null and false are what shells send for a missing one
    }
    if (e.to_int64() < 1) base::fail(base::kBadValue, "scale has to be >= 1");
    return e.to_int64();
}

// Appends the number that sizes have been divided by.
void append_scale_factor(Invocation& invocation, int64_t scale) {
    DCHECK(scale >= 1);
    if (invocation.dialect().has(dialect::kRepliesTellMore))
        invocation.reply->append("scaleFactor", static_cast<int32_t>(scale));
}

struct DatabaseTotals {
    int32_t collections = 0;
    int64_t objects = 0;
    int64_t data_bytes = 0;
    int64_t storage_bytes = 0;
    int32_t extents = 0;
    int32_t indexes = 0;
    int64_t index_bytes = 0;

    int64_t total_bytes() const { return storage_bytes + index_bytes; }
    void add(catalog::Collection& collection) {
        const storage::RecordStoreStats stats = collection.records().stats();
        ++collections;
        objects += stats.count;
        data_bytes += stats.data_bytes;
        storage_bytes += stats.storage_bytes;
        extents += stats.extents;
        for (const auto& index : collection.indexes()) {
            ++indexes;
            if (index->store != nullptr) index_bytes += index->store->storage_bytes();
        }
    }
};

void run_coll_stats(Invocation& invocation) {
    const std::string ns = invocation.ns();
    CollectionLock lock(invocation.client, ns, false);
    storage::CollectionStore* store = nullptr;
    if (lock.collection() != nullptr) {
        store = &lock.collection()->store();
    } else if (lock.database() != nullptr) {
        store = lock.database()->store().internal_namespace(ns);
    }
    if (store == nullptr) base::fail(base::kNamespaceNotFound, "Collection [{}] not found.", ns);
    const bson::Object head = bson::make("ns", ns);
    int64_t scale = 1;
    try {
        scale = scale_of(invocation.body["scale"]);
    } catch (const base::Error& e) {
        throw base::Error(e.code(), e.what(), head.bytes());
    }
    invocation.reply->append_all(head);
    append_collection_stats(lock.collection(), *store, scale, invocation.body["verbose"].truthy(),
                            *invocation.reply);
    if (invocation.dialect().has(dialect::kRepliesTellMore))
        append_more_stats(lock.collection(), *store, scale, *invocation.reply);
}

// Appends what the file system of the data has, if there is one.
void append_disk(const std::string& directory, int64_t scale, bson::Builder& out) {
    std::error_code error;
    const auto disk = std::filesystem::space(directory, error);
    if (error) return;
    const auto scaled = [scale](uintmax_t bytes) {
        return static_cast<double>(bytes) / static_cast<double>(scale);
    };
    out.append("fsUsedSize", scaled(disk.capacity - disk.free))
        .append("fsTotalSize", scaled(disk.capacity));
}

void run_db_stats(Invocation& invocation) {
    const int64_t scale = scale_of(invocation.body["scale"]);
    const storage::DatabaseLock lock(invocation.service.locks(), invocation.db, false);
    catalog::Database* db = invocation.service.catalog().database(invocation.db);
    DatabaseTotals totals;
    storage::DatabaseStats files;
    if (db != nullptr) {
        files = db->store().stats();
        for (const std::string& ns : db->all_namespaces())
            totals.add(*db->collection(ns));
    }
    bson::Builder& reply = *invocation.reply;
    reply.append("db", invocation.db).append("collections", totals.collections);
    if (invocation.dialect().has(dialect::kRepliesTellMore))
        reply.append("views", db == nullptr ? 0 : static_cast<int32_t>(db->view_names().size()));
    reply.append_number("objects", totals.objects)
        .append("avgObjSize", totals.objects == 0 ? 0.0
                                                  : static_cast<double>(totals.data_bytes) /
                                                        static_cast<double>(totals.objects))
        .append_number("dataSize", totals.data_bytes / scale)
        .append_number("storageSize", totals.storage_bytes / scale)
        .append("numExtents", totals.extents)
        .append("indexes", totals.indexes)
        .append_number("indexSize", totals.index_bytes / scale)
        .append_number("fileSize", files.file_bytes / scale);
    if (invocation.dialect().has(dialect::kRepliesTellMore)) {
        reply.append_number("totalSize", totals.total_bytes() / scale);
        append_disk(invocation.service.context().data_directory, scale, reply);
    }
    append_scale_factor(invocation, scale);
    // The free space belongs to the database, not to one of its collections or indexes.
    if (invocation.body["freeStorage"].truthy())
        reply.append("freeStorageSize", int32_t{0})
            .append("indexFreeStorageSize", int32_t{0})
            .append_number("totalFreeStorageSize", files.free_extent_bytes / scale);
    if (db == nullptr) {
        reply.append("dataFileVersion", bson::Doc());
        return;
    }
    reply.append("nsSizeMB", static_cast<int32_t>(files.ns_bytes >> 20));
    {
        bson::Builder version = reply.sub_object("dataFileVersion");
        if (files.file_version_major != 0)  // no data file yet
            version.append("major", files.file_version_major)
                .append("minor", files.file_version_minor);
    }
    bson::Builder free = reply.sub_object("extentFreeList");
    free.append("num", static_cast<int32_t>(files.free_extents))
        .append_number("totalSize", files.free_extent_bytes / scale);
}

bson::Doc document_in(bson::Doc body, std::string_view field) {
    const bson::Element e = body[field];
    return e.is_object() ? e.as_doc() : bson::Doc();
}

struct DataSize {
    int64_t bytes = 0;
    int64_t count = 0;
    bool stopped = false;  // at maxSize or maxObjects
};

// Whether a range of it has each document once that its keys say.
bool measures(const catalog::Index& index, const catalog::Collection& collection) {
    return index.store != nullptr && index.ready && !index.multikey && !index.hidden &&
           index.generator != nullptr && !index.generator->hashed() &&
           index.generator->filter() == nullptr &&
           collation::is_same(index.generator->collator(), collection.collator().get());
}

// One whose first fields are those of the pattern; null: none.
const catalog::Index* index_of_pattern(const catalog::Collection& collection, bson::Doc pattern) {
    DCHECK(!pattern.empty());
    for (const auto& index : collection.indexes()) {
        if (!measures(*index, collection)) continue;
        auto key = index->key_pattern.begin();
        bool begins = true;
        for (const bson::Element& e : pattern) {
            begins = begins && key != index->key_pattern.end() && key->name() == e.name() &&
                     bson::compare_values(*key, e) == 0;
            if (!begins) break;
            ++key;
        }
        if (begins) return index.get();
    }
    return nullptr;
}

// {a: 1} for a range of {a: 5} to {a: 8}.
bson::Object ascending_pattern(bson::Doc end) {
    bson::Builder pattern;
    for (const bson::Element& e : end)
        pattern.append(e.name(), 1);
    return pattern.object();
}

// An end of a range of some first fields of an index as one of all its fields: before all that
// begins with them.
bson::Object whole_end(bson::Doc end, bson::Doc pattern, const catalog::Index& index) {
    constexpr int kOtherNames = 16634;
    bson::Builder whole;
    auto given = end.begin();
    auto named = pattern.begin();
    for (const bson::Element& key : index.key_pattern) {
        if (named != pattern.end()) {
            if (given == end.end() || given->name() != key.name())
                base::fail(kOtherNames, "min and max must have the fields of the keyPattern");
            whole.append_as(key.name(), *given);
            ++given;
            ++named;
        } else if (key.is_number() && key.to_double() < 0) {
            whole.append_max_key(key.name());
        } else {
            whole.append_min_key(key.name());
        }
    }
    DCHECK(named == pattern.end());
    if (given != end.end())
        base::fail(kOtherNames, "min and max must have the fields of the keyPattern");
    return whole.object();
}

// Whether a range of an index has anything between its ends.
bool is_range(bson::Doc min, bson::Doc max, const catalog::Index& index) {
    DCHECK(min.field_count() == max.field_count() && index.generator != nullptr);
    return bson::compare_keys(min, max, index.generator->descending_bits()) < 0;
}

// Adds up records: all, or those between two keys of an index.
DataSize add_up_records(CollectionLock& lock, bson::Doc body) {
    DCHECK(lock.collection() != nullptr);
    catalog::Collection& collection = *lock.collection();
    query::FindQuery query;
    const bson::Doc min = document_in(body, "min");
    DCHECK(min.empty() == document_in(body, "max").empty());
    if (!min.empty()) {
        const bson::Doc given = document_in(body, "keyPattern");
        const bson::Object pattern = given.empty() ? ascending_pattern(min) : bson::Object(given);
        const catalog::Index* const index = index_of_pattern(collection, pattern);
        if (index == nullptr)
            base::fail(base::kBadValue, "no index on {} that is not multikey begins with {}",
                       lock.ns(), bson::to_text(pattern));
        query.min = whole_end(min, pattern, *index);
        query.max = whole_end(document_in(body, "max"), pattern, *index);
        query.hint_name = index->name;
        if (collection.collator() == nullptr && !is_range(query.min, query.max, *index)) return {};
    }
    query.collator = collection.collator();
    query.canonicalise({});
    const storage::RecordStoreStats all = collection.records().stats();
    const bool estimate = body["estimate"].truthy();
    const int64_t average = all.count == 0 ? 0 : all.data_bytes / all.count;
    const int64_t max_bytes = body["maxSize"].to_int64();
    const int64_t max_count = body["maxObjects"].to_int64();
    const auto executor =
        query::make_executor(&collection, std::move(query), execution_options(), &lock);
    DataSize found;
    query::Row row;
    while (!found.stopped && executor->next(&row)) {
        ++found.count;
        found.bytes += estimate ? average : collection.records().record_bytes(row.id);
        found.stopped = (max_bytes != 0 && found.bytes > max_bytes) ||
                        (max_count != 0 && found.count > max_count);
    }
    return found;
}

// { dataSize: "db.coll", keyPattern, min, max, estimate, maxSize, maxObjects }
void run_data_size(Invocation& invocation) {
    const auto started = sched::Operation::Clock::now();
    const bson::Element target = invocation.first();
    if (!target.is_string() || target.as_string().find('.') == std::string_view::npos)
        base::fail(17005, "dataSize takes the full name of a collection: 'db.coll'");
    const std::string ns(invocation.name_in(target));
    const bson::Doc body = invocation.body;
    const bool from = !document_in(body, "min").empty();
    const bool to = !document_in(body, "max").empty();
    if (from != to) base::fail(base::kBadValue, "only one of min or max specified");
    const bool bounded = body["maxSize"].to_int64() != 0 || body["maxObjects"].to_int64() != 0;
    const bool estimate = body["estimate"].truthy();
    CollectionLock lock(invocation.client, ns, false);
    DataSize size;
    if (lock.collection() != nullptr && (from || (bounded && !estimate))) {
        size = add_up_records(lock, body);
    } else if (lock.collection() != nullptr) {
        const storage::RecordStoreStats all = lock.collection()->records().stats();
        size = {all.data_bytes, all.count};
    }
    const auto millis = static_cast<int32_t>(base::ms_since(started));
    if (lock.collection() != nullptr) {
        base::log::info("Finding size for ns: {} took {} ms.", ns, millis);
        const bool is_empty = lock.collection()->records().count() == 0;
        if (!is_empty) invocation.reply->append("estimate", estimate);
    }
    if (size.stopped) invocation.reply->append("maxReached", true);
    invocation.reply->append_number("size", size.bytes)
        .append_number("numObjects", size.count)
        .append("millis", millis);
}

void run_top(Invocation& invocation) {
    bson::Builder totals = invocation.reply->sub_object("totals");
    invocation.service.top().append_to(totals);
}

bool may_measure(const Invocation& invocation, const Rights& rights) {
    const bson::Element ns = invocation.first();
    return rights.logged_in() && (!ns.is_string() || rights.on(ns.as_string(), auth::action::find));
}

constexpr Field kCollectionFields[] = {
    {"scale", types::number},
    {"verbose", types::flag},
};
constexpr Field kDatabaseFields[] = {
    {"scale", types::number},
    {"freeStorage", types::number, Field::Use::read, "5.0"},
};
constexpr Field kSizeFields[] = {
    {"keyPattern", types::object}, {"min", types::object},     {"max", types::object},
    {"estimate", types::flag},     {"maxSize", types::number}, {"maxObjects", types::number},
};

constexpr Command kCommands[] = {
    {"collStats", "collstats", 0, LockKind::read, "{ collStats: collection, scale, verbose }",
     run_coll_stats, needs::on_collection(auth::action::collStats), kCollectionFields},
    {"dbStats", "dbstats", 0, LockKind::read, "{ dbStats: 1, scale }", run_db_stats,
     needs::on_database(auth::action::dbStats), kDatabaseFields},
    {"dataSize", "datasize", 0, LockKind::read, "{ dataSize: 'db.coll' }", run_data_size,
     needs::decided(may_measure), kSizeFields},
    {"top", "", kAdminOnly | kOnAnyMember, LockKind::read, "time spent per collection", run_top,
     needs::on_cluster(auth::action::top)},
};

}  // namespace

void append_collection_stats(catalog::Collection* collection, storage::CollectionStore& store,
                             int64_t scale, bool verbose, bson::Builder& out) {
    DCHECK(scale >= 1 && (collection == nullptr || &collection->store() == &store));
    DCHECK(storage::LockManager::mode() != storage::GlobalMode::none);
    const storage::RecordStoreStats stats = store.records().stats();
    const auto scaled32 = [scale](int64_t value) { return static_cast<int32_t>(value / scale); };
    out.append_number("count", stats.count).append_number("size", stats.data_bytes / scale);
    if (stats.count > 0) out.append_number("avgObjSize", stats.data_bytes / stats.count);
    out.append_number("storageSize", stats.storage_bytes / scale)
        .append("numExtents", stats.extents)
        .append("nindexes",
                collection == nullptr ? 0 : static_cast<int32_t>(collection->indexes().size()))
        .append("lastExtentSize", scaled32(stats.last_extent_bytes))
        .append("paddingFactor", stats.padding_factor)
        .append("systemFlags", stats.system_flags)
        .append("userFlags", stats.user_flags);
    int64_t total = 0;
    bson::Builder sizes;
    if (collection != nullptr) {
        for (const auto& index : collection->indexes()) {
            const int64_t bytes = index->store == nullptr ? 0 : index->store->storage_bytes();
            total += bytes;
            sizes.append_number(index->name, bytes / scale);
        }
    }
    out.append_number("totalIndexSize", total / scale).append("indexSizes", sizes.doc());
    if (stats.capped) {
        out.append("capped", true);
        if (stats.capped_max_documents == 0) {
            out.append("max", INT64_MAX);
        } else {
            out.append_number("max", stats.capped_max_documents);
        }
    }
    if (verbose) store.append_verbose_stats(out, scale);
}

void append_more_stats(catalog::Collection* collection, storage::CollectionStore& store,
                       int64_t scale, bson::Builder& out) {
    DCHECK(scale >= 1);
    const storage::RecordStoreStats stats = store.records().stats();
    DatabaseTotals totals;
    if (collection != nullptr) totals.add(*collection);
    if (stats.capped) out.append_number("maxSize", stats.capped_bytes / scale);
    out.append_number("totalSize", totals.total_bytes() / scale)
        .append("freeStorageSize", int32_t{0})
        .append("scaleFactor", static_cast<int32_t>(scale));
    bson::Builder builds = out.sub_array("indexBuilds");
    if (collection == nullptr) return;
    for (const auto& index : collection->indexes())
        if (!index->ready) builds.push(index->name);
}

Family stats_commands() {
    return kCommands;
}

}  // namespace command
