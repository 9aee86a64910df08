// renameCollection (wire spec 2.5).
#include "base/dcheck.h"
#include "base/error.h"
#include "catalog/index_spec.h"
#include "catalog/uuid.h"
#include "command/commands/families.h"
#include "command/context/locks.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "dialect/collections.h"
#include "dialect/dialect.h"
#include "sched/tick.h"

namespace command {

namespace {

std::string_view namespace_argument(const Invocation& invocation, const bson::Element& e) {
    if (!e.is_string() || catalog::split(e.as_string()).collection.empty())
        base::fail(base::kInvalidNamespace, "'{}' must be a full namespace", e.name());
    if (invocation.dialect().has(dialect::kNamesOfCollectionsAreChecked))
        catalog::refuse_leading_dot(catalog::split(e.as_string()).collection);
    return e.as_string();
}

void copy_documents_and_indexes(catalog::Collection& source, catalog::Database& db,
                                catalog::Collection& target) {
    const auto cursor = source.records().cursor(storage::Direction::forward);
    while (const auto record = cursor->next()) {
        target.insert(record->doc);
        sched::tick_bytes(record->doc.size(), sched::PerTick::walked, sched::kTicksPerDocument);
    }
    for (const auto& index : source.indexes()) {
        if (index->is_id) continue;
        db.create_index(target, catalog::spec_to_copy(index->spec));
    }
}

// A copy that fails, or is interrupted, leaves only the source and the old target.
void move_between_databases(OperationContext& context, std::string_view from, std::string_view to) {
    catalog::Catalog& catalog = context.catalog();
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    DCHECK(catalog::split(from).db != catalog::split(to).db);
    catalog::Collection& source = *catalog.collection(from);
    catalog::Database& db = catalog.get_or_create(catalog::split(to).db);
    const std::string temporary = db.unused_name(to);
    bson::Builder options;
    for (const bson::Element& option : source.store().options())
        if (option.name() != "temp" && option.name() != catalog::kUuidOption)
            options.append(option);
    append_uuid_of_new(context, options);
    catalog::Collection& target = db.create(temporary, options.append("temp", true).doc());
    try {
        copy_documents_and_indexes(source, db, target);
        db.replace(temporary, to, false);
    } catch (...) {
        db.drop(temporary);
        throw;
    }
    catalog.database(catalog::split(from).db)->drop(from);
}

void check_rename(const storage::NameLimits& limits, std::string_view from, std::string_view to) {
    for (const std::string_view ns : {from, to}) {
        const catalog::Namespace parts = catalog::split(ns);
        if (!catalog::valid_database_name(parts.db) ||
            !catalog::valid_collection_name(parts.db, parts.collection, limits))
            base::fail(base::kInvalidNamespace, "Invalid namespace specified '{}'", ns);
        if (catalog::is_system(parts.collection) && parts.collection != "system.users" &&
            parts.collection != "system.js")
            base::fail(base::kIllegalOperation, "renaming system collections is not allowed: {}",
                       ns);
    }
}

// Refuses a rename between a replicated and a local database: the other members of a set could hear
// only half of it.
void check_stays_local(bool in_set, std::string_view from, std::string_view to) {
    const auto is_local = [](std::string_view ns) { return catalog::split(ns).db == "local"; };
    if (in_set && is_local(from) != is_local(to))
        base::fail(base::kIllegalOperation,
                   "Cannot rename collections between a replicated and an unreplicated database");
}

void run_rename_collection(Invocation& invocation) {
    const std::string from(namespace_argument(invocation, invocation.first()));
    const std::string to(namespace_argument(invocation, invocation.body["to"]));
    Service& service = invocation.service;
    check_rename(service.engine().name_limits(), from, to);
    check_stays_local(service.context().member != nullptr, from, to);
    for (const std::string_view ns : {from, to})
        service.opener().open_again(catalog::split(ns).db);
    const storage::GlobalLock lock(service.locks(), storage::GlobalMode::W);
    fail_if_shutting_down();
    if (service.catalog().collection(from) == nullptr) {
        const catalog::Database* db = service.catalog().database(catalog::split(from).db);
        if (db != nullptr && db->view(from) != nullptr)
            base::fail(base::kCommandNotSupportedOnView, "cannot rename view: {}", from);
        base::fail(base::kNamespaceNotFound, "source namespace does not exist");
    }
    if (service.catalog().collection(to) != nullptr) {
        if (from == to && invocation.dialect().has(dialect::kOwnNameIsIllegal))
            base::fail(base::kIllegalOperation, "a collection cannot be renamed to itself");
        if (!invocation.body["dropTarget"].truthy() || from == to)
            base::fail(base::kNamespaceExists, "target namespace exists");
        service.cursors().kill_collection(to);
    }
    DCHECK(from != to);
    service.cursors().kill_collection(from);
    const std::string_view db = catalog::split(from).db;
    if (db == catalog::split(to).db) {
        service.catalog().database(db)->replace(from, to, invocation.body["stayTemp"].truthy());
    } else {
        move_between_databases(invocation.client, from, to);
    }
    service.top().forget(from);
}

bool may_rename(const Invocation& invocation, const Rights& rights) {
    using namespace auth::action;
    const bson::Element source = invocation.first();
    const bson::Element target = invocation.body["to"];
    if (!source.is_string() || !target.is_string()) return rights.logged_in();
    const std::string_view from = source.as_string();
    const std::string_view to = target.as_string();
    if (invocation.body["dropTarget"].truthy() && !rights.on(to, dropCollection)) return false;
    if (catalog::split(from).db == catalog::split(to).db &&
        rights.on(from, renameCollectionSameDB) && rights.on(to, renameCollectionSameDB))
        return true;
    return rights.on(from, auth::action::find | dropCollection) &&
           rights.on(to, createCollection | createIndex | auth::action::insert);
}

constexpr Field kRenameFields[] = {
    required("to", types::string),
    {"dropTarget", types::flag},
    {"stayTemp", types::flag},
};

constexpr Command kCommands[] = {
    {"renameCollection", "", kAdminOnly, LockKind::write,
     "{ renameCollection: 'db.from', to: 'db.to', dropTarget: bool }", run_rename_collection,
     needs::decided(may_rename), kRenameFields},
};

}  // namespace

Family rename_commands() {
    return kCommands;
}

}  // namespace command
