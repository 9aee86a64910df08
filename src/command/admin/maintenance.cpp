// compact, touch, validate, repairDatabase, and the plan cache commands (wire spec 2.4).
#include "base/damage.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "bson/json.h"
#include "catalog/uuid.h"
#include "command/admin/admin.h"
#include "command/admin/repair.h"
#include "command/context/locks.h"
#include "command/request/invocation.h"
#include "dialect/collections.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"
#include "sched/tick.h"
#include "storage/validate_fields.h"

namespace command {

namespace {

constexpr int kNoDataToTouch = 16154;

void run_compact(Invocation& invocation) {
    const std::string ns = invocation.ns();
    if (catalog::is_system(catalog::split(ns).collection))
        base::fail(base::kIllegalOperation, "can't compact a system namespace");
    const bson::Element factor = invocation.field("paddingFactor");
    if (factor && !factor.is_number()) base::fail(13118, "paddingFactor has to be a number");
    if (factor && (factor.to_double() < 1.0 || factor.to_double() > 4.0))
        base::fail(base::kBadValue, "invalid padding factor");
    const bson::Element bytes = invocation.body["paddingBytes"];
    if (bytes && (bytes.to_int64() < 0 || bytes.to_int64() > 1024 * 1024))
        base::fail(base::kBadValue, "invalid padding bytes");
    CollectionLock lock(invocation.client, ns, true);
    if (lock.collection() == nullptr)
        base::fail(base::kNamespaceNotFound, "namespace does not exist");
    if (lock.collection()->capped())
        base::fail(base::kIllegalOperation, "cannot compact a capped collection");
    bson::Builder options;
    for (const bson::Element& e : invocation.body)
        if (e.name().starts_with("padding")) options.append(e);
    base::log::info("compact {} begin, options: {}", ns, bson::to_text(options.doc()));
    invocation.service.cursors().kill_collection(ns);
    bson::Builder given;  // the engine reads its own fields
    for (const bson::Element& e : invocation.body)
        if (!is_absent(e, invocation.dialect())) given.append(e);
    lock.database()->compact(*lock.collection(), given.object(), *invocation.reply);
    base::log::info("compact {} end", ns);
}

void run_touch(Invocation& invocation) {
    const std::string ns = invocation.ns_or_none();
    const bool data = invocation.body["data"].truthy();
    const bool indexes = invocation.body["index"].truthy();
    if (!data && !indexes)
        base::fail(base::kBadValue, "must specify at least one of (data:true, index:true)");
    CollectionLock lock(invocation.client, ns, false);
    if (lock.collection() == nullptr)
        base::fail(data ? kNoDataToTouch : base::kNamespaceNotFound, "namespace does not exist");
    base::log::info("touching namespace {}", ns);
    catalog::Collection& collection = *lock.collection();
    bson::Builder& reply = *invocation.reply;
    if (data) {
        const auto started = sched::Operation::Clock::now();
        collection.records().touch();
        bson::Builder out = reply.sub_object("data");
        out.append("numRanges", collection.records().stats().extents)
            .append("millis", static_cast<int32_t>(base::ms_since(started)));
    }
    if (indexes) {
        const auto started = sched::Operation::Clock::now();
        for (const auto& index : collection.indexes()) {
            if (index->store != nullptr) index->store->touch();
        }
        const auto count = static_cast<int32_t>(collection.indexes().size());
        bson::Builder out = reply.sub_object("indexes");
        out.append("num", count)
            .append("numRanges", count)
            .append("millis", static_cast<int32_t>(base::ms_since(started)));
    }
    base::log::info("touching namespace {} complete", ns);
}

// Whether the validator takes the document, if it is new.
bool fits(const catalog::Collection& collection, bson::Doc doc) try {
    collection.validator()->check(collection.ns(), doc, nullptr);
    return true;
} catch (const base::Error& error) {
    if (error.code() != base::kDocumentValidationFailure) throw;
    return false;
}

// Returns how many documents do not fit the validator. By the action "warn" the log names them.
int64_t count_unfit(catalog::Collection& collection) {
    if (collection.validator() == nullptr) return 0;
    int64_t unfit = 0;
    const storage::HeldCursor cursor = collection.records().cursor(storage::Direction::forward);
    while (const auto record = cursor->next()) {
        sched::tick_bytes(record->doc.size(), sched::PerTick::converted);
        if (!fits(collection, record->doc)) ++unfit;
    }
    return unfit;
}

void append_texts(bson::Builder& out, std::string_view name, const std::vector<std::string>& texts,
                  int64_t left_out = 0) {
    bson::Builder list = out.sub_array(name);
    for (const std::string& text : texts)
        list.push(text);
    if (left_out != 0) list.push(fmt::format("and {} more", left_out));
}

// Appends what an engine says, and what later servers count beside that. `collection`: null for the
// namespace of an index.
void append_findings(bson::Doc metrics, bool is_valid, catalog::Collection* collection,
                     bson::Builder& reply) {
    reply.append_all(metrics);
    if (collection == nullptr) return;
    // Damaged documents are not to be matched.
    const int64_t unfit = is_valid ? count_unfit(*collection) : 0;
    reply.append_number("nNonCompliantDocuments", unfit);
    std::vector<std::string> warnings;
    if (unfit != 0) warnings.push_back(fmt::format("{} documents do not fit the validator", unfit));
    append_texts(reply, "warnings", warnings);
}

// `dialect`: today's tells the number of keys by the name of the index, 2.6's by its namespace.
void append_validate(const std::string& ns, catalog::Collection* collection,
                     storage::CollectionStore& store, const storage::ValidateOptions& options,
                     dialect::Dialect dialect, bson::Builder& reply) {
    const bool tells_more = dialect.has(dialect::kRepliesTellMore);
    reply.append("ns", ns);
    if (dialect.has(dialect::kCollectionsHaveUuids))
        catalog::append_uuid(reply, "uuid", catalog::uuid_of(ns, store.options()));
    bson::Builder metrics;
    const storage::ValidateReport report = store.validate(options, metrics);
    if (tells_more) {
        append_findings(metrics.doc(), report.valid(), collection, reply);
    } else {
        for (const bson::Element& e : metrics.doc())
            if (e.name() != storage::kInvalidDocuments) reply.append(e);
    }
    reply.append("nIndexes", report.index_count);
    {
        bson::Builder keys = reply.sub_object("keysPerIndex");
        const size_t before_name = tells_more ? ns.size() + std::string_view(".$").size() : 0;
        for (const auto& [index_ns, count] : report.keys_per_index)
            keys.append_number(std::string_view(index_ns).substr(before_name), count);
    }
    reply.append("valid", report.valid());
    append_texts(reply, "errors", report.errors, report.errors_left_out);
    if (!options.full)
        reply.append("warning",
                     "Some checks omitted for speed. use {full:true} option to do more thorough "
                     "scan.");
    if (!report.valid())
        reply.append("advice",
                     "the collection is damaged: check the dbpath offline with dbpath_check, "
                     "restore it from a backup or dump what can still be read" +
                         base::damage_advice());
}

void run_validate(Invocation& invocation) {
    const std::string ns = invocation.ns();
    storage::ValidateOptions options;
    options.full = invocation.body["full"].truthy();
    options.scan_data = invocation.body["scandata"].truthy() || options.full;
    options.derive_keys = catalog::key_deriver();
    CollectionLock lock(invocation.client, ns, false);
    catalog::Database* db = lock.database();
    storage::CollectionStore* store = nullptr;
    if (lock.collection() != nullptr) {
        store = &lock.collection()->store();
    } else if (db != nullptr) {
        store = db->store().internal_namespace(ns);
    }
    if (store == nullptr) base::fail(base::kNamespaceNotFound, "ns not found");
    if (lock.collection() == nullptr && options.full)
        base::fail(base::kIllegalOperation, "the records of an index are not documents: {}", ns);
    base::log::info("CMD: validate {}", ns);
    if (lock.collection() != nullptr)
        for (const auto& index : lock.collection()->indexes())
            base::log::info("validating index {}.${}", ns, index->name);
    append_validate(ns, lock.collection(), *store, options, invocation.dialect(),
                    *invocation.reply);
}

void run_repair_database(Invocation& invocation) {
    const bson::Element one = invocation.first();
    if (!one.is_number() || one.to_double() != 1)
        base::fail(base::kBadValue, "repairDatabase takes 1 as its value");
    repair_database(invocation.service.catalog(), invocation.service.cursors(), invocation.db);
}

template <const char* Name>
void run_empty_list(Invocation& invocation) {
    if (invocation.dialect().has(dialect::kNamesAreNeeded))
        invocation.ns();  // which does not matter else
    invocation.reply->sub_array(Name).finish();
}
constexpr char kShapes[] = "shapes";
constexpr char kFilters[] = "filters";
constexpr char kPlans[] = "plans";

void run_clear_plans(Invocation& invocation) {
    if (invocation.dialect().has(dialect::kNamesAreNeeded)) invocation.ns();
}

constexpr Field kCompactFields[] = {
    {"force", types::flag},          {"paddingFactor", types::number},
    {"paddingBytes", types::number}, {"preservePadding", types::flag},
    refused("dryRun", "8.0"),        refused("freeSpaceTargetMB", "7.3"),
};
constexpr Field kTouchFields[] = {
    {"data", types::flag},
    {"index", types::flag},
};
constexpr Field kValidateFields[] = {
    {"full", types::flag},
    {"scandata", types::flag},
    refused("metadata", "5.0"),
    refused("repair", "4.4"),
    refused("fixMultikey", "7.1"),
    refused("background", "4.4"),
    refused("checkBSONConformance", "6.2"),
    refused("collHash", "8.1"),
    refused("hashPrefixes", "8.1"),
    refused("revealHashedIds", "8.1"),
};
constexpr Field kRepairFields[] = {
    // No files are cloned.
    without_effect("preserveClonedFilesOnFailure", types::flag),
    refused("backupOriginalFiles"),
};
// There are no plans that they could choose among.
constexpr Field kPlanFields[] = {
    without_effect("query", types::object),
    without_effect("sort", types::object),
    without_effect("projection", types::object),
};

constexpr Command kCommands[] = {
    {"compact", "", kOnAnyMember, LockKind::write,
     "{ compact: collection, paddingFactor, paddingBytes }", run_compact,
     needs::on_collection(auth::action::compact), kCompactFields},
    {"touch", "", kOnAnyMember, LockKind::read, "{ touch: collection, data: bool, index: bool }",
     run_touch, needs::on_cluster(auth::action::touch), kTouchFields},
    {"validate", "", kOnAnyMember, LockKind::read,
     "{ validate: collection, full: bool, scandata: bool }", run_validate,
     needs::on_collection(auth::action::validate), kValidateFields},
    {"repairDatabase", "", kLocalOnly | kOnAnyMember, LockKind::write,
     "rewrite all collections of this database", run_repair_database,
     needs::on_database(auth::action::repairDatabase), kRepairFields},
    {"planCacheListQueryShapes", "", kOnAnyMember, LockKind::read, "plans are not cached",
     run_empty_list<kShapes>, needs::on_collection(auth::action::planCacheRead)},
    {"planCacheListFilters", "", kOnAnyMember, LockKind::read, "there are no index filters",
     run_empty_list<kFilters>, needs::on_collection(auth::action::planCacheRead)},
    {"planCacheListPlans", "", kOnAnyMember, LockKind::read, "plans are not cached",
     run_empty_list<kPlans>, needs::on_collection(auth::action::planCacheRead), kPlanFields},
    {"planCacheClear", "", kOnAnyMember, LockKind::read, "plans are not cached", run_clear_plans,
     needs::on_collection(auth::action::planCacheWrite), kPlanFields},
};

}  // namespace

Family maintenance_commands() {
    return kCommands;
}

}  // namespace command
