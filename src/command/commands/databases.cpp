// listDatabases, dropDatabase, closeAllDatabases, dbHash (wire spec 2.2, 2.4, 2.5).
#include <openssl/evp.h>

#include <algorithm>
#include <memory>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "catalog/uuid.h"
#include "command/commands/families.h"
#include "command/commands/request_expressions.h"
#include "command/context/default_collation.h"
#include "command/context/locks.h"
#include "command/cursor/query_cursors.h"
#include "command/cursor/session_ends.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "dialect/collections.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"
#include "query/match/match_tree.h"
#include "sched/interruption.h"

namespace command {

namespace {

// One entry of listDatabases; the size goes to `bytes`. A database that cannot be opened is listed
// with its size, and not taken for empty: it does not keep the others from who asks.
bson::Object describe(catalog::Catalog& catalog, const std::string& name, bool name_only,
                      double* bytes) {
    bson::Builder entry;
    entry.append("name", name);
    if (name_only) return entry.object();
    const storage::DatabaseLock lock(catalog.engine().locks(), name, false);
    bool is_there = true;
    bool is_empty = false;
    try {
        const catalog::Database* const db = catalog.database(name);
        is_there = db != nullptr;
        is_empty = !is_there || db->collection_names().empty();
    } catch (const base::Error& error) {
        if (sched::is_interruption(error)) throw;
        base::log::error("listDatabases: {}: {}", name, error.what());
    }
    *bytes = static_cast<double>(catalog.engine().database_bytes(name));
    entry.append("sizeOnDisk", is_there ? *bytes : 1.0).append("empty", is_empty);
    return entry.object();
}

// Returns the names with those that cannot be opened, and those that are always there, though
// nothing may be in them; admin to clients of today.
std::vector<std::string> listed_databases(const Invocation& invocation) {
    std::vector<std::string> names = invocation.service.catalog().database_names();
    for (std::string& name : invocation.service.engine().unusable_databases())
        names.push_back(std::move(name));
    for (const char* always : {"admin", "local"}) {
        if (std::string_view(always) == "admin" &&
            !invocation.dialect().has(dialect::kAdminIsListed))
            continue;
        if (std::ranges::find(names, always) == names.end()) names.emplace_back(always);
    }
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    return names;
}

void run_list_databases(Invocation& invocation) {
    const bson::Element filter = invocation.body["filter"];
    if (filter && !filter.is_object() && filter.type() != bson::Type::null)
        base::fail(base::kTypeMismatch, "filter must be a document");
    const RequestExpressions expressions(invocation);
    const auto matcher = query::Matcher::parse(filter.is_object() ? filter.as_doc() : bson::Doc(),
                                               expressions.get());
    const bool name_only = invocation.body["nameOnly"].truthy();
    Service& service = invocation.service;
    const Rights rights(invocation.client);
    const bool all = rights.on_cluster(auth::action::listDatabases) &&
                     !invocation.body["authorizedDatabases"].truthy();
    const std::vector<std::string> names = listed_databases(invocation);
    double total = 0;
    {
        bson::Builder list = invocation.reply->sub_array("databases");
        for (const std::string& name : names) {
            if (!all && !rights.know_database(name)) continue;
            double bytes = 0;
            const bson::Object entry = describe(service.catalog(), name, name_only, &bytes);
            // A filter may compute for long: the lock has been given up.
            if (!matcher->matches(entry)) continue;
            list.push(entry);
            total += bytes;
        }
    }
    if (!name_only) invocation.reply->append("totalSize", total);
}

void run_drop_database(Invocation& invocation) {
    const bson::Element one = invocation.first();
    if (!one.is_number() || one.to_int64() != 1)
        base::fail(base::kBadValue, "have to pass 1 as db parameter");
    const std::string db(invocation.db);
    Service& service = invocation.service;
    // Most of what is to be written goes before the others have to wait.
    service.engine().durability().flush_all(true);
    std::unique_ptr<storage::Remains> remains;  // outlives the lock
    const storage::GlobalLock lock(service.locks(), storage::GlobalMode::W);
    base::log::info("dropDatabase {} starting", db);
    service.cursors().kill_database(db);
    if (service.catalog().database(db) != nullptr)
        remains = service.catalog().drop_database(db);
    else
        remains = service.catalog().finish_drop(db);
    if (db == "admin") service.access_control().users.dropped_all();
    if (db == "admin" && service.access_control().enabled)
        service.session_ends().end({.all = true});
    service.profiler().forget(db);
    base::log::info("dropDatabase {} finished", db);
    invocation.reply->append("dropped", db);
}

void run_close_all(Invocation& invocation) {
    Service& service = invocation.service;
    const storage::GlobalLock lock(service.locks(), storage::GlobalMode::W);
    bson::Builder list = invocation.reply->sub_array("dbs");
    for (const std::string& name : service.catalog().database_names()) {
        service.cursors().kill_database(name);
        service.catalog().close_database(name);
        list.push(name);
    }
}

constexpr int kNoChunkIndex = 17241;

class Md5 {
  public:
    Md5() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
        EVP_DigestInit_ex(context_.get(), EVP_md5(), nullptr);
    }
    void update(const void* data, size_t size) {
        sched::tick_bytes(size, sched::PerTick::walked);
        EVP_DigestUpdate(context_.get(), data, size);
    }
    std::string hex() {
        unsigned char digest[EVP_MAX_MD_SIZE];
        unsigned size = 0;
        EVP_DigestFinal_ex(context_.get(), digest, &size);
        std::string text;
        for (unsigned i = 0; i < size; ++i)
            text += fmt::format("{:02x}", digest[i]);
        return text;
    }

  private:
    std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

// Whether a collection is one of those that were asked for; all are without such a list, or where
// it is empty.
bool is_asked_for(const bson::Element& collections, std::string_view name) {
    if (!collections.is_array() || collections.as_doc().empty()) return true;
    for (const bson::Element& e : sched::ticked(collections.as_doc())) {
        if (e.is_string() && e.as_string() == name) return true;
    }
    return false;
}

// Documents in order of _id, where there is an index on it; else in natural order, in which the old
// server hashed only capped collections.
std::string hash_collection(catalog::Collection& collection, dialect::Dialect dialect) {
    DCHECK(storage::LockManager::may_read(catalog::split(collection.ns()).db));
    Md5 md5;
    const auto add = [&md5](bson::Doc doc) {
        md5.update(doc.data(), static_cast<size_t>(doc.size()));
    };
    const catalog::Index* const id_index = collection.id_index();
    if (id_index != nullptr) {
        DCHECK(id_index->ready && id_index->store != nullptr);
        const auto cursor = id_index->store->cursor(storage::Direction::forward);
        for (cursor->seek_to_start(); !cursor->at_end(); cursor->next())
            add(collection.records().get(cursor->id()));
    } else if (dialect.has(dialect::kHashNeedsNoIdIndex) || collection.capped()) {
        const auto cursor = collection.records().cursor(storage::Direction::forward);
        while (const auto record = cursor->next())
            add(record->doc);
    } else {
        return "no _id _index";
    }
    return md5.hex();
}

void run_db_hash(Invocation& invocation) {
    const auto started = sched::Operation::Clock::now();
    Service& service = invocation.service;
    const storage::DatabaseLock lock(service.locks(), invocation.db, false);
    catalog::Database* db = service.catalog().database(invocation.db);
    std::vector<std::string> names =
        db == nullptr ? std::vector<std::string>() : db->collection_names();
    std::ranges::sort(names);
    bson::Builder& reply = *invocation.reply;
    reply.append("numCollections", static_cast<int32_t>(names.size()))
        .append("host", service.context().host);
    Md5 all;
    bson::Builder uuids;
    {
        bson::Builder list = reply.sub_object("collections");
        for (const std::string& ns : names) {
            const std::string_view name = catalog::split(ns).collection;
            if (catalog::is_system(name) || db->collection(ns) == nullptr) continue;
            if (!is_asked_for(invocation.body["collections"], name)) continue;
            const std::string hash = hash_collection(*db->collection(ns), invocation.dialect());
            list.append(name, hash);
            catalog::append_uuid(uuids, name,
                                 catalog::uuid_of(ns, db->collection(ns)->store().options()));
            all.update(hash.data(), hash.size());
            sched::Operation::check();
        }
    }
    if (invocation.dialect().has(dialect::kCollectionsHaveUuids)) {
        reply.append("uuids", uuids.doc());
    }
    reply.append("md5", all.hex())
        .append("timeMillis", static_cast<int32_t>(base::ms_since(started)));
    reply.sub_array("fromCache").finish();
}

// The checksum of a file in GridFS: its chunks' data in order.
void run_file_md5(Invocation& invocation) {
    const bson::Element root = invocation.body["root"];
    const std::string ns = fmt::format("{}.{}.chunks", invocation.db,
                                       root.is_string() ? invocation.name_in(root) : "fs");
    bson::Builder filter;
    filter.append_as("files_id", invocation.first());
    const bson::Object sort = bson::make("files_id", 1, "n", 1);
    query::FindQuery query;
    query::FindQuery::Parts parts;
    const bson::Object filter_doc = filter.object();
    parts.filter = filter_doc;
    parts.sort = sort;
    inherit_collation(invocation.client, ns, query);
    query.canonicalise(parts);
    Md5 md5;
    int32_t chunks = 0;
    CollectionLock lock(invocation.client, ns, false);
    query::ExecutorOptions options = execution_options();
    options.no_table_scan = true;
    std::unique_ptr<query::Executor> executor;
    try {
        executor = query::make_executor(lock.collection(), std::move(query), options, &lock);
    } catch (const base::Error& e) {
        sched::fail_because(e, kNoChunkIndex, "filemd5 needs an index on files_id in {}: {}", ns,
                            e.what());
    }
    query::Row row;
    while (executor->next(&row)) {
        const bson::Element data = row.doc["data"];
        if (row.doc["n"].to_int64() != chunks)
            base::fail(10040, "chunks out of order: expected {}", chunks);
        if (data.type() != bson::Type::binary)
            base::fail(base::kTypeMismatch, "chunk {} has no binary data", chunks);
        md5.update(data.binary_data().data(), data.binary_data().size());
        ++chunks;
    }
    invocation.reply->append("numChunks", chunks).append("md5", md5.hex());
}

// Users and roles go with admin.
bool may_drop_database(const Invocation& invocation, const Rights& rights) {
    return rights.logged_in() && rights.on(invocation.db, "", auth::action::dropDatabase) &&
           (invocation.db != "admin" ||
            rights.anywhere(auth::action::dropUser | auth::action::dropRole));
}

bool may_read_file(const Invocation& invocation, const Rights& rights) {
    const bson::Element root = invocation.body["root"];
    return rights.logged_in() &&
           rights.on(invocation.db,
                     fmt::format("{}.chunks", root.is_string() ? root.as_string() : "fs"),
                     auth::action::find);
}

constexpr Field kListFields[] = {
    {"filter", types::object},
    {"nameOnly", types::flag},
    {"authorizedDatabases", types::flag},
};
constexpr Field kHashFields[] = {
    {"collections", types::array},
};
constexpr Field kFileFields[] = {
    {"root", types::string},
    refused("partialOk"),
    refused("md5"),
};

constexpr Command kCommands[] = {
    {"listDatabases", "", kAdminOnly, LockKind::read, "the databases of this server",
     run_list_databases, needs::login, kListFields},
    {"dropDatabase", "", 0, LockKind::write, "drop (delete) this database", run_drop_database,
     needs::decided(may_drop_database)},
    {"closeAllDatabases", "", kAdminOnly | kLocalOnly | kOnAnyMember, LockKind::write,
     "close the files of all databases", run_close_all,
     needs::on_cluster(auth::action::closeAllDatabases)},
    {"dbHash", "dbhash", kOnAnyMember, LockKind::read, "checksums of the collections", run_db_hash,
     needs::on_database(auth::action::dbHash), kHashFields},
    {"filemd5", "", 0, LockKind::read, "{ filemd5: id, root: 'fs' }: checksum of a GridFS file",
     run_file_md5, needs::decided(may_read_file), kFileFields},
};

}  // namespace

Family database_commands() {
    return kCommands;
}

}  // namespace command
