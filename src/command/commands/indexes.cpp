// createIndexes, dropIndexes, listIndexes, reIndex (wire spec 2.5, 4.6).
#include "command/commands/indexes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "bson/type_names.h"
#include "catalog/index_keys.h"
#include "catalog/index_spec.h"
#include "command/commands/families.h"
#include "command/context/locks.h"
#include "command/cursor/batch.h"
#include "command/observe/op_report.h"
#include "command/request/invocation.h"
#include "dialect/collections.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "dialect/requests.h"
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
    if (!seconds.is_number() || !(seconds.to_double() >= 0) ||
        seconds.to_double() > std::numeric_limits<int32_t>::max())
        base::fail(base::kCannotCreateIndex,
                   "expireAfterSeconds must be a number from 0 to 2147483647");
    const bson::Element key = spec["key"];
    if (!key.is_object()) return;
    if (!may_expire_by(key.as_doc()))
        base::fail(base::kCannotCreateIndex,
                   "documents can expire only by an index on one field other than _id, and not by "
                   "a hashed one: {}",
                   bson::to_text(key.as_doc()));
}

// The fields that a definition may have by OP_MSG. The engine reads them, and refuses options that
// would change what the index holds.
constexpr Field kDefinition[] = {
    required("key", types::object),
    required("name", types::string),
    {"unique", types::flag},
    {"background", types::flag},
    {"sparse", types::flag},
    {"expireAfterSeconds", types::number},
    {"v", types::number},
    {"ns", types::string},
    {"dropDups", types::flag},
    {"hashVersion", types::number},
    {"collation", types::object},
    {"hidden", types::flag},
    {"storageEngine", types::object},
    {"partialFilterExpression", types::object},
    {"wildcardProjection", types::object},
    {"columnstoreProjection", types::object},
    {"prepareUnique", types::flag},
    {"clustered", types::flag},
    // These belong to some kinds of index.
    {"weights", types::object | types::string},
    {"default_language", types::string},
    {"language_override", types::string},
    {"textIndexVersion", types::number},
    {"2dsphereIndexVersion", types::any},
    // A value that is no number counts as left out, as it did to old servers.
    {"bits", types::any},
    {"min", types::any},
    {"max", types::any},
    {"bucketSize", types::any},
    {"finestIndexedLevel", types::any},
    {"coarsestIndexedLevel", types::any},
    // Documents in system.indexes have it.
    without_effect("_id", types::any),
};

// The index on _id ascends, and has no options of its own.
void check_id_definition(bson::Doc spec) {
    const bson::Doc key = spec["key"].as_doc();
    DCHECK(catalog::is_id_pattern(key));
    if (key.first().to_double() != 1)
        base::fail(base::kBadValue,
                   "The field 'key' for an _id index must be {{_id: 1}}, but got {}",
                   bson::to_text(key));
    for (const bson::Element& e : spec) {
        if (is_absent(e, dialect::kToday)) continue;
        constexpr std::string_view kAllowed[] = {"key", "name", "v", "ns", "_id", "collation"};
        if (std::ranges::find(kAllowed, e.name()) != std::end(kAllowed)) continue;
        base::fail(base::kInvalidIndexSpecificationOption,
                   "The field '{}' is not valid for an _id index specification", e.name());
    }
}

// Refuses the directions that the old server took, and today's refuse.
void check_directions(bson::Doc key) {
    for (const bson::Element& e : key) {
        if (e.is_string()) {
            if (e.as_string().empty())
                base::fail(base::kCannotCreateIndex, "the kind of an index cannot be empty: '{}'",
                           e.name());
            continue;
        }
        if (!e.is_number())
            base::fail(base::kCannotCreateIndex,
                       "'{}' of an index key is of type {}: only numbers and kinds of index are "
                       "allowed",
                       e.name(), bson::name_of(e.type()));
        if (e.to_double() == 0 || std::isnan(e.to_double()))
            base::fail(base::kCannotCreateIndex, "'{}' of an index key cannot be {}", e.name(),
                       e.to_double());
    }
}

// Refuses values that have the right type, but that today's servers refuse.
void check_odd_values(bson::Doc spec) {
    if (spec["name"].as_string() == "*")
        base::fail(base::kBadValue,
                   "'*' cannot be the name of an index: dropIndexes means all by it");
    const bson::Element version = spec["v"];
    if (version && !is_absent(version, dialect::kToday) &&
        (version.to_double() > 2 || version.to_double() < 1))
        base::fail(base::kCannotCreateIndex, "an index cannot be of version {}",
                   version.to_double());
    const bson::Element collation = spec["collation"];
    if (collation.is_object() && collation.as_doc().empty())
        base::fail(base::kBadValue, "The field 'collation' cannot be an empty object.");
}

// Leaves out dropDups: it has no effect for clients of today; the old server removed documents by
// it.
bson::Object without_drop_dups(bson::Doc spec) {
    bson::Builder out;
    for (const bson::Element& e : spec) {
        if (e.name() != "dropDups") out.append(e);
    }
    return out.object();
}

bson::Object without_unknown_options(bson::Doc spec) {
    bson::Builder out;
    for (const bson::Element& e : spec) {
        if (std::ranges::find(kDefinition, e.name(), &Field::name) != std::end(kDefinition))
            out.append(e);
    }
    return out.object();
}

// Refuses a definition where the old server was content with an index that is there, and today's
// are not: one of the same keys under another name, and one of the same name and keys that holds
// other documents.
void refuse_similar(const catalog::Collection& collection, bson::Doc spec,
                    const storage::NameLimits& limits) {
    const catalog::Index* same_key = collection.find_index_like(
        catalog::normalise_index_spec(spec, collection.ns(), collection.collator(), limits));
    if (same_key == nullptr || same_key->is_id) return;
    const std::string_view name = spec["name"].as_string();
    if (same_key->name == name) {
        if (same_key->unique != spec["unique"].truthy() ||
            same_key->sparse != spec["sparse"].truthy())
            base::fail(base::kIndexKeySpecsConflict,
                       "An existing index has the same name as the requested index and other "
                       "options: {}",
                       name);
    } else if (collection.find_index(name) == nullptr) {
        base::fail(base::kIndexOptionsConflict, "Index already exists with a different name: {}",
                   same_key->name);
    }
}

void check_in_place(const catalog::Collection& collection, bson::Doc spec,
                    const storage::NameLimits& limits) {
    DCHECK(storage::LockManager::may_write(catalog::split(collection.ns()).db));
    refuse_similar(collection, spec, limits);
    if (collection.capped() && spec["expireAfterSeconds"])
        base::fail(base::kCannotCreateIndex,
                   "documents of a capped collection cannot expire: nothing is removed from one");
}

// The name, with the codes that this command has for bad ones.
std::string indexed_ns(const Invocation& invocation) {
    const bson::Element target = invocation.first();
    const dialect::Dialect dialect = invocation.dialect();
    if (!target.is_string())
        base::fail(dialect.code(kNotAName, base::kInvalidNamespace),
                   "createIndexes needs the name of a collection");
    if (target.as_string().empty())
        base::fail(catalog::code_of_bad_name(dialect), "the collection's name is empty");
    if (target.as_string() == "system.indexes")
        base::fail(base::kCannotCreateIndex, "cannot create an index on system.indexes");
    return invocation.ns();
}

void refuse_version_3(bson::Doc spec) {
    if (spec["textIndexVersion"].to_int64() == 3)
        base::fail(16730, "text indexes of version 3 are for clients of today");
}

void run_create_indexes(Invocation& invocation) {
    const std::string ns = indexed_ns(invocation);
    std::vector<bson::Doc> specs = index_specs(invocation, ns);
    std::vector<bson::Object> kept;
    const auto rewrite = [&](bson::Object (*as)(bson::Doc)) {
        std::vector<bson::Object> made;
        std::ranges::transform(specs, std::back_inserter(made), as);
        specs.assign(made.begin(), made.end());
        kept.swap(made);
    };
    if (invocation.dialect().has(dialect::kFieldsAreChecked) &&
        invocation.body["ignoreUnknownIndexOptions"].truthy())
        rewrite(without_unknown_options);
    if (invocation.dialect().has(dialect::kIndexDefinitionsAreChecked))
        std::ranges::for_each(specs, check_definition);
    if (invocation.dialect().has(dialect::kDropDupsRemovesNothing)) rewrite(without_drop_dups);
    const auto check_expiries = [&] {
        if (invocation.dialect().has(dialect::kExpiriesAreChecked))
            std::ranges::for_each(specs, check_expiry);
    };
    if (invocation.dialect().has(dialect::kTextTakesLetters))
        rewrite(catalog::with_versions_of_today);
    const storage::NameLimits& limits = invocation.client.name_limits();
    catalog::check_insertable(ns, limits, catalog::code_of_bad_name(invocation.dialect()));
    CollectionLock lock(invocation.client, ns, true);
    const bool created = lock.collection() == nullptr;
    // Indexes that are in the way are reported first, if the collection exists.
    if (created) check_expiries();
    catalog::Collection& collection = lock.make();
    if (!invocation.dialect().has(dialect::kTextTakesLetters))
        std::ranges::for_each(specs, refuse_version_3);
    catalog::Database& db = *lock.database();
    const int32_t before = index_count(&collection);
    // Definitions are checked before the first index is built. The indexes before the first mistake
    // remain also in a collection that is new.
    const auto needed = [&](bson::Doc spec) {
        try {
            if (invocation.dialect().has(dialect::kSimilarIndexesConflict))
                check_in_place(collection, spec, limits);
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
        for (const bson::Doc spec : missing) {
            if (invocation.dialect().has(dialect::kSimilarIndexesConflict))
                check_in_place(collection, spec, limits);
            built += db.create_index(collection, spec, &lock) ? 1 : 0;
        }
    } catch (const base::Error& e) {
        // The indexes built before the failure stay.
        bson::Builder so_far;
        so_far.append("createdCollectionAutomatically", created).append("numIndexesBefore", before);
        if (e.details() != nullptr) so_far.append_all(bson::Doc(e.details()->data()));
        const bson::Object details = so_far.object();
        throw base::Error(e.code(), e.what(), details.bytes());
    }
    DCHECK(built <= missing.size());
    bson::Builder& reply = *invocation.reply;
    if (missing.empty()) {
        reply.append("numIndexesBefore", before);
        if (invocation.dialect().has(dialect::kRepliesTellMore))
            reply.append("numIndexesAfter", before);
        reply.append("note", "all indexes already exist");
        return;
    }
    reply.append("createdCollectionAutomatically", created)
        .append("numIndexesBefore", before)
        .append("numIndexesAfter", index_count(&collection));
    if (built != missing.size()) reply.append("note", "index already exists");
}

// The names of a list, each once, all of which are there. Throws base::Error 14 and 27.
std::vector<bson::Element> listed_indexes(const catalog::Collection& collection, bson::Doc names) {
    std::vector<bson::Element> listed;
    for (const bson::Element& name : sched::ticked(names)) {
        if (!name.is_string())
            base::fail(base::kTypeMismatch, "dropIndexes: a list has names of indexes only");
        const catalog::Index* index = collection.find_index(name.as_string());
        if (index == nullptr)
            base::fail(base::kIndexNotFound, "index not found with name [{}]", name.as_string());
        if (index->is_id) base::fail(base::kInvalidOptions, "cannot drop _id index");
        if (std::ranges::none_of(listed, [&name](const bson::Element& other) {
                return other.as_string() == name.as_string();
            }))
            listed.push_back(name);
    }
    return listed;
}

void run_drop_indexes(Invocation& invocation) {
    const std::string ns = invocation.ns();
    CollectionLock lock(invocation.client, ns, true);
    if (lock.collection() == nullptr) base::fail(base::kNamespaceNotFound, "ns not found");
    const bson::Element which = invocation.body["index"];
    if (invocation.dialect().has(dialect::kNulIsRefused) && which.is_string() &&
        which.as_string().find('\0') != std::string_view::npos)
        base::fail(base::kIndexNotFound, "no index has a name with a NUL byte in it");
    base::log::info("CMD: dropIndexes {}", ns);
    const bson::Object was = bson::make("nIndexesWas", index_count(lock.collection()));
    try {
        std::vector<bson::Element> wanted{which};
        if (invocation.dialect().has(dialect::kIndexesAreDroppedByList) && which.is_array())
            wanted = listed_indexes(*lock.collection(), which.as_doc());
        for (const bson::Element& one : wanted)
            lock.database()->drop_indexes(*lock.collection(), one);
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
    const int64_t batch_size = invocation.batch_size(-1);
    auto source = std::make_unique<ListSource>();
    {
        CollectionLock lock(invocation.client, ns, false);
        if (lock.collection() == nullptr)
            base::fail(base::kNamespaceNotFound, "no collection {}", ns);
        for (const auto& index : lock.collection()->indexes())
            source->add(shown_index(index->spec, invocation.dialect()));
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
    CollectionLock lock(invocation.client, ns, true);
    if (lock.collection() == nullptr) base::fail(base::kNamespaceNotFound, "ns not found");
    base::log::info("CMD: reIndex {}", ns);
    invocation.service.cursors().kill_collection(ns);
    const catalog::IndexChange change = lock.database()->rebuild_indexes(*lock.collection());
    DCHECK(change.after == index_count(lock.collection()));
    invocation.reply->append("nIndexesWas", static_cast<int32_t>(change.before))
        .append("nIndexes", static_cast<int32_t>(change.after));
    bson::Builder list = invocation.reply->sub_array("indexes");
    for (const auto& index : lock.collection()->indexes()) {
        const bson::Object shown = shown_index(index->spec, invocation.dialect());
        bson::Builder entry = list.sub_object(list.next().view());
        for (const bson::Element& e : shown.doc()) {
            if (e.name() != "v" || invocation.dialect().has(dialect::kIndexesAreOfVersionTwo))
                entry.append(e);
        }
    }
}

constexpr Field kCreateFields[] = {
    required("indexes", types::array),
    refused("commitQuorum", "4.4"),
    {"ignoreUnknownIndexOptions", types::flag, Field::Use::read, "5.0"},
};
constexpr Field kDropFields[] = {
    required("index", types::string | types::object | types::array),
};
constexpr Field kListFields[] = {
    {"cursor", types::object},
};

constexpr Command kCommands[] = {
    {"createIndexes", "", 0, LockKind::write,
     "{ createIndexes: collection, indexes: [ { key, name, ... } ] }", run_create_indexes,
     needs::on_collection(auth::action::createIndex), kCreateFields},
    {"dropIndexes", "deleteIndexes", 0, LockKind::write,
     "{ dropIndexes: collection, index: name | key | '*' }", run_drop_indexes,
     needs::on_collection(auth::action::dropIndex), kDropFields},
    {"listIndexes", "", 0, LockKind::read, "the indexes of a collection", run_list_indexes,
     needs::on_collection(auth::action::listIndexes), kListFields},
    {"reIndex", "", kOnAnyMember, LockKind::write, "build all indexes of a collection again",
     run_re_index, needs::on_collection(auth::action::reIndex)},
};

}  // namespace

void check_definition(bson::Doc spec) {
    try {
        read_fields(spec, "createIndexes.indexes", kDefinition, dialect::kToday);
    } catch (const base::Error& e) {
        constexpr int kMissingField = 40414;
        constexpr int kUnknownField = 40415;
        if (e.code() == kMissingField) throw base::Error(base::kFailedToParse, e.what());
        if (e.code() == kUnknownField)
            throw base::Error(base::kInvalidIndexSpecificationOption, e.what());
        throw;
    }
    DCHECK(spec["key"].is_object() && spec["name"].is_string());
    check_odd_values(spec);
    const bson::Doc key = spec["key"].as_doc();
    check_directions(key);
    if (catalog::is_id_pattern(key)) check_id_definition(spec);
}

bool may_expire_by(bson::Doc key) {
    const bson::Element field = key.first();
    return key.field_count() == 1 && field.name() != "_id" && !field.is_string();
}

bson::Object shown_index(bson::Doc stored, dialect::Dialect dialect) {
    if (!dialect.has(dialect::kIndexesAreOfVersionTwo)) return bson::Object(stored);
    bson::Builder out;
    out.append("v", 2);
    for (const bson::Element& e : stored) {
        if (e.name() != "v" && e.name() != "ns") out.append(e);
    }
    return out.object();
}

Family index_commands() {
    return kCommands;
}

}  // namespace command
