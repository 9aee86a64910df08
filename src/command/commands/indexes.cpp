// createIndexes, dropIndexes, listIndexes, reIndex (wire spec 2.5, 4.6).
#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "command/commands/families.h"
#include "command/commands/newer_fields.h"
#include "command/context/locks.h"
#include "command/cursor/batch.h"
#include "command/observe/op_report.h"
#include "command/request/invocation.h"
#include "sched/blocking.h"
#include "sched/interruption.h"

namespace command {

namespace {

constexpr int kNotAName = 13111;

int32_t index_count(const catalog::Collection* collection) {
    return collection == nullptr ? 0 : static_cast<int32_t>(collection->indexes().size());
}

// Throws with the faulty document as a field of the reply.
[[noreturn]] void fail_showing(const char* field, bson::Doc culprit, int code,
                               const std::string& text) {
    constexpr int64_t kShownBytes = 48 * 1024;
    const bson::Object shown = bson::make(field, shown_request(culprit, kShownBytes));
    throw base::Error(code, text, shown.bytes());
}

std::vector<bson::Doc> index_specs(const Invocation& invocation, const std::string& ns) {
    const bson::Element list = invocation.body["indexes"];
    if (!list.is_array())
        fail_showing("cmdObj", invocation.body, base::kTypeMismatch, "indexes has to be an array");
    std::vector<bson::Doc> specs;
    for (const bson::Element& e : list.as_doc()) {
        if (!e.is_object())
            fail_showing("cmdObj", invocation.body, base::kTypeMismatch,
                         "everything in indexes has to be an object");
        const bson::Element other = e.as_doc()["ns"];
        if (other && !(other.is_string() && other.as_string() == ns))
            fail_showing("spec", e.as_doc(), base::kCannotCreateIndex,
                         "ns of an index definition must be the collection's: " + ns);
        specs.push_back(e.as_doc());
    }
    if (specs.empty()) base::fail(base::kBadValue, "no indexes to add");
    return specs;
}

// An index that documents are to expire by but that cannot do it. The old server took these and
// expired nothing.
void check_expiry(bson::Doc spec) {
    const bson::Element seconds = spec["expireAfterSeconds"];
    if (seconds.missing()) return;
    if (!seconds.is_number() || !(seconds.to_double() >= 0))
        base::fail(base::kCannotCreateIndex, "expireAfterSeconds must be a number from 0 on");
    const bson::Element key = spec["key"];
    if (!key.is_object()) return;
    const bson::Element field = key.as_doc().first();
    if (key.as_doc().field_count() != 1 || field.name() == "_id" || field.is_string())
        base::fail(base::kCannotCreateIndex,
                   "documents can expire only by an index on one field other than _id, and not by "
                   "a hashed one: {}",
                   bson::to_text(key.as_doc()));
}

// The name, with the codes that this command has for bad ones.
std::string indexed_ns(const Invocation& invocation) {
    const bson::Element target = invocation.first();
    if (!target.is_string()) base::fail(kNotAName, "createIndexes needs the name of a collection");
    if (target.as_string().empty()) base::fail(base::kBadValue, "the collection's name is empty");
    if (target.as_string() == "system.indexes")
        base::fail(base::kCannotCreateIndex, "cannot create an index on system.indexes");
    return invocation.ns();
}

void run_create_indexes(Invocation& invocation) {
    const std::string ns = indexed_ns(invocation);
    refuse_newer_fields(invocation.body, {"commitQuorum"});
    const std::vector<bson::Doc> specs = index_specs(invocation, ns);
    const auto check_expiries = [&] {
        if (invocation.over_msg()) std::ranges::for_each(specs, check_expiry);
    };
    catalog::check_insertable(ns);
    const sched::BlockingSection away;
    CollectionLock lock(invocation.client, ns, true);
    const bool created = lock.collection() == nullptr;
    // In a collection that exists, indexes in their way are reported first.
    if (created) check_expiries();
    catalog::Collection& collection = lock.make();
    catalog::Database& db = *lock.database();
    const int32_t before = index_count(&collection);
    // Definitions are checked before the first index is built. In a collection that is new, too,
    // the indexes before the first mistake remain.
    const auto needed = [&](bson::Doc spec) {
        try {
            return db.index_needed(collection, spec);
        } catch (const base::Error& e) {
            if (!created || sched::is_interruption(e)) throw;
            return true;
        }
    };
    std::vector<bson::Doc> missing;
    std::copy_if(specs.begin(), specs.end(), std::back_inserter(missing), needed);
    if (!created) check_expiries();
    size_t built = 0;
    try {
        for (const bson::Doc spec : missing)
            built += db.create_index(collection, spec, &lock) ? 1 : 0;
    } catch (const base::Error& e) {
        // Those built before the failure stay.
        bson::Builder so_far;
        so_far.append("createdCollectionAutomatically", created).append("numIndexesBefore", before);
        if (e.details() != nullptr) so_far.append_all(bson::Doc(e.details()->data()));
        const bson::Object details = so_far.object();
        throw base::Error(e.code(), e.what(), details.bytes());
    }
    bson::Builder& reply = *invocation.reply;
    if (missing.empty()) {
        reply.append("numIndexesBefore", before).append("note", "all indexes already exist");
        return;
    }
    reply.append("createdCollectionAutomatically", created)
        .append("numIndexesBefore", before)
        .append("numIndexesAfter", index_count(&collection));
    if (built != missing.size()) reply.append("note", "index already exists");
}

void run_drop_indexes(Invocation& invocation) {
    const std::string ns = invocation.ns();
    const sched::BlockingSection away;
    CollectionLock lock(invocation.client, ns, true);
    if (lock.collection() == nullptr) base::fail(base::kNamespaceNotFound, "ns not found");
    const bson::Element which = invocation.body["index"];
    base::log::info("CMD: dropIndexes {}", ns);
    const bson::Object was = bson::make("nIndexesWas", index_count(lock.collection()));
    try {
        lock.database()->drop_indexes(*lock.collection(), which);
    } catch (const base::Error& e) {
        throw base::Error(e.code(), e.what(), was.bytes());
    }
    invocation.service.cursors().kill_collection(ns);
    invocation.reply->append_all(was);
    if (which.is_string() && which.as_string() == "*")
        invocation.reply->append("msg", "non-_id indexes dropped for collection");
}

void run_list_indexes(Invocation& invocation) {
    const std::string ns = invocation.ns();
    const int64_t batch_size = batch_size_of(invocation.body["cursor"], -1);
    auto source = std::make_unique<ListSource>();
    {
        CollectionLock lock(invocation.client, ns, false);
        if (lock.collection() == nullptr)
            base::fail(base::kNamespaceNotFound, "no collection {}", ns);
        for (const auto& index : lock.collection()->indexes())
            source->add(index->spec);
    }
    auto cursor = std::make_unique<Cursor>();
    cursor->ns =
        fmt::format("{}.$cmd.listIndexes.{}", invocation.db, catalog::split(ns).collection);
    cursor->source = std::move(source);
    reply_with_cursor(invocation.service.cursors(), invocation.client, std::move(cursor),
                      batch_size, *invocation.reply);
}

void run_re_index(Invocation& invocation) {
    const std::string ns = invocation.ns();
    const sched::BlockingSection away;
    CollectionLock lock(invocation.client, ns, true);
    if (lock.collection() == nullptr) base::fail(base::kNamespaceNotFound, "ns not found");
    base::log::info("CMD: reIndex {}", ns);
    invocation.service.cursors().kill_collection(ns);
    const catalog::IndexChange change = lock.database()->rebuild_indexes(*lock.collection());
    invocation.reply->append("nIndexesWas", static_cast<int32_t>(change.before))
        .append("nIndexes", static_cast<int32_t>(change.after));
    bson::Builder list = invocation.reply->sub_array("indexes");
    for (const auto& index : lock.collection()->indexes()) {
        bson::Builder entry = list.sub_object(list.next().view());
        for (const bson::Element& e : index->spec) {
            if (e.name() != "v") entry.append(e);
        }
    }
}

constexpr Command kCommands[] = {
    {"createIndexes", "", 0, LockKind::write,
     "{ createIndexes: collection, indexes: [ { key, name, ... } ] }", run_create_indexes,
     needs::on_collection(auth::action::createIndex)},
    {"dropIndexes", "deleteIndexes", 0, LockKind::write,
     "{ dropIndexes: collection, index: name | key | '*' }", run_drop_indexes,
     needs::on_collection(auth::action::dropIndex)},
    {"listIndexes", "", 0, LockKind::read, "the indexes of a collection", run_list_indexes,
     needs::on_collection(auth::action::listIndexes)},
    {"reIndex", "", 0, LockKind::write, "build all indexes of a collection again", run_re_index,
     needs::on_collection(auth::action::reIndex)},
};

}  // namespace

Family index_commands() {
    return kCommands;
}

}  // namespace command
