#include "oplog/apply.h"

#include <algorithm>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "catalog/index_spec.h"
#include "catalog/names.h"
#include "catalog/uuid.h"
#include "dialect/dialect.h"
#include "oplog/transaction_entries.h"
#include "query/plan/executor.h"
#include "query/update/update.h"
#include "sched/tick.h"

namespace oplog {

namespace {

constexpr std::string_view kOwnDatabase = "local";
constexpr std::string_view kFormVersion = "$v";  // of the operators of an update

bool same_bytes(bson::Doc a, bson::Doc b) {
    return std::ranges::equal(a.bytes(), b.bytes());
}

// The document of that _id, or where there is none in `which` the one that equals it. Null if there
// is none.
storage::RecordId find(catalog::Collection& collection, bson::Doc which) {
    const bson::Element id = which["_id"];
    if (id && collection.id_index() != nullptr) return query::find_by_id(collection, id);
    const auto cursor = collection.records().cursor(storage::Direction::forward);
    while (const auto record = cursor->next()) {
        sched::tick();
        if (id ? bson::equal_values(record->doc["_id"], id) : same_bytes(record->doc, which))
            return record->id;
    }
    return {};
}

// Whether a document keeps its place with that content. A document in a ring never moves: one that
// has another size there is newer than an entry that does not fit.
bool stays(catalog::Collection& collection, storage::RecordId id, bson::Doc doc) {
    return !collection.capped() || collection.records().fits(id, doc.size());
}

// Whether these operators fail this way because a later entry has put something else where they
// find an object, or an array to be cut.
bool finds_another(const base::Error& error, bson::Doc operators) {
    return error.code() == base::kPathNotViable ||
           (error.code() == base::kBadValue && operators.has("$push"));
}

[[noreturn]] void refuse(bson::Doc entry) {
    base::fail(base::kBadValue, "no entry of a log of writes: {}", bson::to_text(entry));
}

// A whole one, of a change that another server may tell of.
EntryFields read(bson::Doc entry) {
    const EntryFields told(entry);
    constexpr std::string_view kKinds = "niudc";
    if (told.op.size() != 1 || kKinds.find(told.op) == std::string_view::npos ||
        !told.o.is_object() || (told.op != "n" && told.ns.empty()) ||
        (told.op == "c" && told.o.as_doc().empty()))
        refuse(entry);
    if (told.op != "n" && catalog::split(told.ns).db == kOwnDatabase)
        base::fail(base::kIllegalOperation, "each server's {} is its own: {}", kOwnDatabase,
                   bson::to_text(entry));
    return told;
}

}  // namespace

bool may_be_over(const base::Error& error) {
    return error.code() == base::kNamespaceNotFound || error.code() == base::kNamespaceExists ||
           error.code() == base::kIndexNotFound;
}

bson::Object operators_of(bson::Doc o) {
    bson::Builder plain;
    for (const bson::Element& e : o) {
        if (e.name() != kFormVersion)
            plain.append(e);
        else if (e.to_int64() != 1)
            base::fail(base::kCommandNotSupported,
                       "an update in the form of later servers cannot be applied: {}",
                       bson::to_text(o));
    }
    return plain.object();
}

Applied Applier::apply(bson::Doc entry, Manner manner) {
    const EntryFields told = read(entry);
    if (told.op == "n") return Applied::done;
    if (told.op != "c") return change(told, manner);
    if (is_unit(told))
        change_together(told, manner);
    else
        command(told, manner);
    return Applied::done;
}

std::string_view Applier::changed_database(bson::Doc entry) {
    const bson::Element op = entry["op"];
    const bson::Element ns = entry["ns"];
    const bool changes = op.is_string() && ns.is_string() &&
                         (op.as_string() == "i" || op.as_string() == "u" || op.as_string() == "d");
    if (!changes) return {};
    const auto [db, name] = catalog::split(ns.as_string());
    return name == "system.indexes" ? std::string_view() : db;
}

Applied Applier::apply_locked(bson::Doc entry, Manner manner) {
    return change_locked(read(entry), manner);
}

Applied Applier::change(const EntryFields& told, Manner manner) {
    const std::string_view db = catalog::split(told.ns).db;
    const storage::DatabaseLock lock(catalog_.engine().locks(), db, true);
    return change_locked(told, manner);
}

// Collections are made before, since no unit makes any.
void Applier::change_together(const EntryFields& all, Manner manner) {
    const storage::GlobalLock lock(catalog_.engine().locks(), storage::GlobalMode::W);
    std::vector<EntryFields> changes;
    for_each_change(all, [&](const EntryFields& each) {
        changes.push_back(read(each.entry));
        if (manner == Manner::again && each.op == "i" && catalog_.collection(each.ns) == nullptr)
            catalog_.collection_for_write(each.ns);
    });
    storage::WriteUnit unit(catalog_.engine().durability());
    unit.admit(changes.size());
    const storage::WriteUnit::EngineUndo undo(unit);
    for (const EntryFields& told : changes)
        change_locked(told, manner);
    unit.keep();
}

Applied Applier::change_locked(const EntryFields& told, Manner manner) {
    DCHECK(storage::LockManager::may_write(catalog::split(told.ns).db));
    const auto [db_name, name] = catalog::split(told.ns);
    const bool is_index = told.op == "i" && name == "system.indexes";
    const bson::Doc o = told.o.as_doc();
    const bson::Element indexed = o["ns"];
    if (is_index && (!indexed.is_string() || catalog::split(indexed.as_string()).db != db_name))
        base::fail(base::kBadValue, "an index of no collection of {}: {}", db_name,
                   bson::to_text(o));
    const std::string_view ns = is_index ? indexed.as_string() : told.ns;
    catalog::Collection* collection = catalog_.collection(ns);
    if (collection == nullptr) {
        if (manner == Manner::exact)
            base::fail(base::kNamespaceNotFound, "there is no collection {}", ns);
        if (told.op == "d") return Applied::done;
        if (told.op == "u") return Applied::lacks_document;
        collection = &catalog_.collection_for_write(ns);
    }
    Applied applied = Applied::done;
    if (is_index) {
        catalog_.database(db_name)->create_index(*collection, catalog::spec_to_copy(o));
    } else if (told.op == "i") {
        insert(*collection, o, manner);
    } else if (told.op == "u") {
        applied = update(*collection, told, manner);
    } else if (const storage::RecordId id = find(*collection, o)) {
        collection->remove(id);
    } else if (manner == Manner::exact) {
        base::fail(base::kNoMatchingDocument, "{} has no document {} to be removed", ns,
                   bson::to_text(o));
    }
    if (name == catalog::kViews) catalog_.reload_views(*catalog_.database(db_name));
    return applied;
}

// A capped collection has to be in the order of the other server's, so each document that comes is
// a new one there; the index on _id, if there is one, refuses what comes twice.
void Applier::copy(std::string_view ns, bson::Doc batch) {
    const auto [db, name] = catalog::split(ns);
    const storage::DatabaseLock lock(catalog_.engine().locks(), db, true);
    catalog::Collection* const collection = catalog_.collection(ns);
    if (collection == nullptr)
        base::fail(base::kNamespaceNotFound, "there is no collection {}", ns);
    for (const bson::Element& each : batch)
        insert(*collection, each.as_doc(), collection->capped() ? Manner::exact : Manner::again);
    if (name == catalog::kViews) catalog_.reload_views(*catalog_.database(db));
}

void Applier::insert(catalog::Collection& collection, bson::Doc doc, Manner manner) {
    const storage::RecordId there =
        manner == Manner::again ? find(collection, doc) : storage::RecordId();
    if (!there)
        collection.insert(doc);
    else if (stays(collection, there, doc))
        collection.update(there, doc);
}

Applied Applier::update(catalog::Collection& collection, const EntryFields& told, Manner manner) {
    const bson::Doc o = told.o.as_doc();
    const bson::Doc which = told.o2.is_object() ? told.o2.as_doc() : bson::Doc();
    const storage::RecordId id = find(collection, which);
    if (!id) {
        if (manner == Manner::again) return Applied::lacks_document;
        base::fail(base::kNoMatchingDocument, "{} has no document {} to be updated",
                   collection.ns(), bson::to_text(which));
    }
    if (o.empty() || !o.first().name().starts_with('$')) {
        if (manner == Manner::exact || stays(collection, id, o)) collection.update(id, o);
        return Applied::done;
    }
    const bson::Object operators = operators_of(o);
    try {
        operate(collection, id, operators);
    } catch (const base::Error& error) {
        if (manner == Manner::exact || !finds_another(error, operators)) throw;
        // Its other fields may be the last that was said of them.
        storage::RecordId now = id;
        for (const bson::Element& each : operators) {
            for (const bson::Element& field : each.as_doc()) {
                bson::Builder one;
                one.sub_object(each.name()).append(field);
                try {
                    operate(collection, now, one.doc());
                } catch (const base::Error& again) {
                    if (!finds_another(again, one.doc())) throw;
                }
                now = find(collection, which);
            }
        }
    }
    return Applied::done;
}

void Applier::operate(catalog::Collection& collection, storage::RecordId id, bson::Doc operators) {
    const auto update =
        query::Update::parse(operators, {.dialect = dialect::kToday, .in_given_order = true});
    const bson::Doc before = collection.records().get(id);
    bson::Buffer out;
    const query::UpdateResult result = update->apply(before, query::MatchDetails(), out);
    if (!result.changed) return;
    collection.update(id, query::updated_document(before, result, out), operators);
}

// A `create` of what clients may not make, or with options as they are stored, is no command that
// they could send.
void Applier::command(const EntryFields& told, Manner manner) {
    const std::string_view db = catalog::split(told.ns).db;
    const bson::Doc o = told.o.as_doc();
    const bson::Element first = o.first();
    try {
        if (first.name() != "create") return run_(db, o);
        if (!first.is_string())
            base::fail(base::kBadValue, "a collection without a name: {}", bson::to_text(o));
        bson::Builder options;
        for (const bson::Element& e : o)
            if (e.name() != "create" && e.name() != "idIndex") options.append(e);
        if (told.uuid) options.append_as(catalog::kUuidOption, told.uuid);
        const std::string ns = std::string(db) + "." + std::string(first.as_string());
        const storage::DatabaseLock lock(catalog_.engine().locks(), db, true);
        catalog_.get_or_create(db).create(ns, options.doc());
    } catch (const base::Error& error) {
        if (manner == Manner::exact || !may_be_over(error)) throw;
    }
}

}  // namespace oplog
