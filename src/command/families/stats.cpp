// collStats, dbStats, dataSize, top, profile level (wire spec 2.4).
#include "command/families/stats.h"

#include "base/error.h"
#include "base/milliseconds.h"
#include "command/families/families.h"
#include "command/invocation.h"
#include "command/locks.h"
#include "query/plan/executor.h"

namespace command {

namespace {

int64_t scale_of(const bson::Element& e) {
    if (e.missing()) return 1;
    if (!e.is_number()) base::fail(base::kBadValue, "scale has to be a number >= 1");
    if (e.to_int64() < 1) base::fail(base::kBadValue, "scale has to be >= 1");
    return e.to_int64();
}

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
}

struct DatabaseTotals {
    int32_t collections = 0;
    int64_t objects = 0;
    int64_t data_bytes = 0;
    int64_t storage_bytes = 0;
    int32_t extents = 0;
    int32_t indexes = 0;
    int64_t index_bytes = 0;

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
    reply.append("db", invocation.db)
        .append("collections", totals.collections)
        .append_number("objects", totals.objects)
        .append("avgObjSize", totals.objects == 0 ? 0.0
                                                  : static_cast<double>(totals.data_bytes) /
                                                        static_cast<double>(totals.objects))
        .append_number("dataSize", totals.data_bytes / scale)
        .append_number("storageSize", totals.storage_bytes / scale)
        .append("numExtents", totals.extents)
        .append("indexes", totals.indexes)
        .append_number("indexSize", totals.index_bytes / scale)
        .append_number("fileSize", files.file_bytes / scale);
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

// Documents and their bytes between two keys of an index.
storage::RecordStoreStats size_of_range(CollectionLock& lock, bson::Doc body) {
    query::FindQuery query;
    query::FindQuery::Parts parts;
    bson::Builder hint;
    if (const bson::Doc pattern = document_in(body, "keyPattern"); !pattern.empty()) {
        hint.append("hint", pattern);
        parts.hint = hint.doc().first();
    }
    query.min = bson::Object(document_in(body, "min"));
    query.max = bson::Object(document_in(body, "max"));
    query.canonicalise(parts);
    const auto executor = query::make_executor(lock.collection(), std::move(query), {}, &lock);
    storage::RecordStoreStats found;
    query::Row row;
    while (executor->next(&row)) {
        ++found.count;
        found.data_bytes += row.doc.size();
    }
    return found;
}

// { dataSize: "db.coll", keyPattern, min, max, estimate }
void run_data_size(Invocation& invocation) {
    const auto started = base::Operation::Clock::now();
    const bson::Element target = invocation.first();
    if (!target.is_string() || target.as_string().find('.') == std::string_view::npos)
        base::fail(17005, "dataSize takes the full name of a collection: 'db.coll'");
    const std::string ns(target.as_string());
    const bool from = !document_in(invocation.body, "min").empty();
    const bool to = !document_in(invocation.body, "max").empty();
    if (from != to) base::fail(base::kBadValue, "only one of min or max specified");
    CollectionLock lock(invocation.client, ns, false);
    storage::RecordStoreStats stats;
    if (from && lock.collection() != nullptr) {
        stats = size_of_range(lock, invocation.body);
    } else {
        if (lock.collection() != nullptr) stats = lock.collection()->records().stats();
        invocation.reply->append("estimate", invocation.body["estimate"].truthy());
    }
    const int64_t took = base::ms_since(started);
    invocation.reply->append_number("size", stats.data_bytes)
        .append_number("numObjects", stats.count)
        .append("millis", static_cast<int32_t>(took));
}

void run_top(Invocation& invocation) {
    bson::Builder totals = invocation.reply->sub_object("totals");
    invocation.service.top().append_to(totals);
}

constexpr Command kCommands[] = {
    {"collStats", "collstats", 0, LockKind::read, "{ collStats: collection, scale, verbose }",
     run_coll_stats},
    {"dbStats", "dbstats", 0, LockKind::read, "{ dbStats: 1, scale }", run_db_stats},
    {"dataSize", "datasize", 0, LockKind::read, "{ dataSize: 'db.coll' }", run_data_size},
    {"top", "", kAdminOnly, LockKind::read, "time spent per collection", run_top},
};

}  // namespace

void append_collection_stats(catalog::Collection* collection, storage::CollectionStore& store,
                             int64_t scale, bool verbose, bson::Builder& out) {
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

Family stats_commands() {
    return kCommands;
}

}  // namespace command
