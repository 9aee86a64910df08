// create, drop, listCollections, collMod (wire spec 2.5).
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "catalog/collation.h"
#include "catalog/collection_options.h"
#include "catalog/index_spec.h"
#include "catalog/uuid.h"
#include "command/commands/families.h"
#include "command/commands/indexes.h"
#include "command/commands/request_expressions.h"
#include "command/commands/views.h"
#include "command/context/locks.h"
#include "command/cursor/batch.h"
#include "command/request/authorization.h"
#include "command/request/bind.h"
#include "command/request/fields_of_today.h"
#include "command/request/invocation.h"
#include "dialect/collections.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"
#include "query/match/match_tree.h"
#include "sched/tick.h"

namespace command {

namespace {

struct CreateRequest {
    bson::Builder options;         // as they are stored
    std::string_view not_of_view;  // the first option that a view cannot have
    bson::Element view_on, pipeline;
    bson::Element id_index, auto_index_id;
    bson::Element capped, size, max, extents;
    bson::Element collation;
    bool extents_allowed = false;  // $nExtents is an option of tests
};

constexpr Reader<bson::Element> kIdIndex{types::object, as_it_came};

void add_option(CreateRequest& request, const bson::Element& e, dialect::Dialect) {
    if (e.name() == catalog::kUuidOption) return;
    request.options.append(e);
    if (request.not_of_view.empty()) request.not_of_view = e.name();
}

template <bson::Element CreateRequest::*kMember>
void take_option(CreateRequest& request, const bson::Element& e, dialect::Dialect dialect) {
    request.*kMember = e;
    add_option(request, e, dialect);
}

template <bson::Element CreateRequest::*kMember>
void take_of_view(CreateRequest& request, const bson::Element& e, dialect::Dialect) {
    request.*kMember = e;
    request.options.append(e);
}

void take_collation(CreateRequest& request, const bson::Element& e, dialect::Dialect dialect) {
    const bool of_view = dialect.has(dialect::kCollations) || !catalog::asks_for_collation(e);
    if (of_view)
        take_of_view<&CreateRequest::collation>(request, e, dialect);
    else
        take_option<&CreateRequest::collation>(request, e, dialect);
}

void take_extents(CreateRequest& request, const bson::Element& e, dialect::Dialect) {
    request.extents = e;
    if (request.extents_allowed) request.options.append(e);
    if (request.not_of_view.empty()) request.not_of_view = e.name();
}

// The options that later servers have are refused where options are read.
constexpr Row<CreateRequest> kCreateRows[] = {
    {{"capped", types::flag}, take_option<&CreateRequest::capped>},
    {{"size", types::number}, take_option<&CreateRequest::size>},
    {{"max", types::number}, take_option<&CreateRequest::max>},
    {{"autoIndexId", types::flag}, take_option<&CreateRequest::auto_index_id>},
    {{"flags", types::number}, add_option},
    {{"temp", types::flag}, add_option},
    {{"$nExtents"}, take_extents},
    row<kIdIndex, &CreateRequest::id_index>("idIndex"),
    {{"collation", types::object}, take_collation},
    {{"storageEngine", types::object}, add_option},
    {{"indexOptionDefaults", types::object}, add_option},
    {{"recordPreImages", types::flag}, add_option},
    {{"viewOn", types::string}, take_of_view<&CreateRequest::view_on>},
    {{"pipeline", types::array}, take_of_view<&CreateRequest::pipeline>},
    {{"validator", types::object}, add_option},
    {{"validationLevel", types::string}, add_option},
    {{"validationAction", types::string}, add_option},
    {{"timeseries", types::object}, add_option},
    {{"clusteredIndex", types::object | types::flag}, add_option},
    {{"expireAfterSeconds", types::number | types::string}, add_option},
    {{"encryptedFields", types::object}, add_option},
    {{"changeStreamPreAndPostImages", types::object}, add_option},
};
constexpr RequestTable kCreate(kCreateRows, add_option);

void check_id_index(const bson::Element& spec) {
    if (spec.missing()) return;
    const bson::Element key = spec.is_object() ? spec.as_doc()["key"] : bson::Element();
    const bool good = key.is_object() && key.as_doc().field_count() == 1 &&
                      key.as_doc()["_id"].is_number() && key.as_doc()["_id"].to_int64() == 1;
    if (!good) base::fail(base::kBadValue, "idIndex must have the key {{ _id: 1 }}");
}

// Throws base::Error 72 for options that a view cannot have, or only a view can.
bool asks_for_view(const CreateRequest& request, dialect::Dialect dialect) {
    const bool is_view = !is_absent(request.view_on, dialect);
    if (!is_view && !is_absent(request.pipeline, dialect))
        base::fail(base::kInvalidOptions, "'pipeline' requires 'viewOn' to also be specified");
    if (is_view && !request.not_of_view.empty())
        base::fail(base::kInvalidOptions, "a view cannot have the option '{}'",
                   request.not_of_view);
    return is_view;
}

// A size of what has none was taken for the first extent's, a number of documents for nothing.
void check_capped(const CreateRequest& request) {
    const bool has_size = !request.size.missing();
    if (request.capped.truthy()) {
        if (!has_size && request.extents.missing())
            base::fail(base::kInvalidOptions, "the 'size' field is required when 'capped' is true");
    } else if (has_size || !request.max.missing()) {
        base::fail(base::kInvalidOptions,
                   "the 'capped' field needs to be true when either the 'size' or 'max' fields "
                   "are present");
    }
}

// The index on _id, which the old server left out when asked to.
void check_auto_index(const bson::Element& wanted, std::string_view db) {
    if (wanted.missing() || wanted.truthy() || db == "local") return;
    base::fail(base::kInvalidOptions,
               "autoIndexId: false is not allowed for collections outside of the local database");
}

void run_create(Invocation& invocation) {
    const bson::Element name = invocation.first();
    if (!name.is_string() || name.as_string().empty())
        base::fail(invocation.dialect().code(15888, base::kInvalidNamespace),
                   "must pass name of collection to create");
    const std::string ns = invocation.ns();
    CreateRequest request;
    request.extents_allowed = invocation.service.context().test_commands;
    kCreate.bind(invocation.given, invocation.dialect(), request);
    if (invocation.dialect().has(dialect::kCappedNeedsSize)) check_capped(request);
    if (invocation.dialect().has(dialect::kAutoIndexIdIsOfLocal))
        check_auto_index(request.auto_index_id, invocation.db);
    catalog::check_writable(ns, invocation.service.engine().name_limits(),
                            catalog::code_of_bad_name(invocation.dialect()));
    if (asks_for_view(request, invocation.dialect())) return create_view(invocation, ns);
    check_id_index(request.id_index);
    if (!invocation.dialect().has(dialect::kCollations) &&
        catalog::asks_for_collation(request.collation))
        base::fail(base::kInvalidOptions, "'collation' is not supported by the old messages");
    append_uuid_of_new(invocation.client, request.options);
    const bson::Doc options = request.options.doc();
    // Bad ones must not leave a database behind.
    catalog::check_validation(ns, options, invocation.service.catalog().expressions());
    catalog::parse_collection_options(options);
    CollectionLock lock(invocation.client, ns, true, CollectionLock::Views::taken);
    // Clients of today that make collections in several places at once look for these words.
    if (invocation.dialect().has(dialect::kTextsOfToday) && lock.collection() != nullptr)
        base::fail(base::kNamespaceExists, "Collection {} already exists.", ns);
    base::log::info("create collection {} {}", ns, bson::to_text(invocation.body));
    lock.make_database().create(ns, options);
}

void run_drop(Invocation& invocation) {
    const std::string ns = invocation.ns();
    CollectionLock lock(invocation.client, ns, true, CollectionLock::Views::taken);
    if (catalog::Database* db = lock.database(); db != nullptr && db->view(ns) != nullptr) {
        DCHECK(lock.collection() == nullptr);
        base::log::info("CMD: drop {}", ns);
        db->drop_view(ns);
        invocation.reply->append("ns", ns);
        return;
    }
    if (lock.collection() == nullptr && invocation.dialect().has(dialect::kDropOfNothingIsDone))
        return;
    if (lock.collection() == nullptr) base::fail(base::kNamespaceNotFound, "ns not found");
    if (catalog::split(ns).collection == "system.profile" &&
        invocation.service.profiler().level(invocation.db) > 0)
        base::fail(base::kIllegalOperation, "turn off profiling before dropping {}", ns);
    base::log::info("CMD: drop {}", ns);
    const auto indexes = static_cast<int32_t>(lock.collection()->indexes().size());
    const bson::Object was = bson::make("ns", ns, "nIndexesWas", indexes);
    try {
        lock.database()->drop(ns);
    } catch (const base::Error& e) {
        throw base::Error(e.code(), e.what(), was.bytes());
    }
    invocation.service.cursors().kill_collection(ns);
    invocation.service.top().forget(ns);
    invocation.reply->append_all(was);
}

// Returns one entry of the reply to listCollections.
bson::Object describe(catalog::Database& db, std::string_view ns, bool name_only,
                      dialect::Dialect dialect) {
    DCHECK(db.collection(ns) != nullptr);
    catalog::Collection& collection = *db.collection(ns);
    bson::Builder out;
    out.append("name", catalog::split(ns).collection).append("type", "collection");
    if (name_only) return out.object();
    const bson::Object options = collection.store().options();
    out.append("options", catalog::without_uuid(options));
    {
        bson::Builder info = out.sub_object("info");
        info.append("readOnly", false);
        if (dialect.has(dialect::kCollectionsHaveUuids))
            catalog::append_uuid(info, "uuid", catalog::uuid_of(ns, options));
    }
    if (const catalog::Index* index = collection.id_index())
        out.append("idIndex", shown_index(index->spec, dialect));
    return out.object();
}

bson::Object describe_view(const catalog::Database& db, std::string_view ns, bool name_only) {
    DCHECK(db.view(ns) != nullptr);
    const catalog::View& view = *db.view(ns);
    bson::Builder out;
    out.append("name", catalog::split(ns).collection).append("type", "view");
    if (name_only) return out.object();
    {
        bson::Builder options = out.sub_object("options");
        options.append("viewOn", catalog::split(view.on).collection)
            .append_array("pipeline", view.pipeline);
        if (view.collator != nullptr) options.append("collation", view.collator->spec());
    }
    return out.append("info", bson::make("readOnly", true)).object();
}

void run_list_collections(Invocation& invocation) {
    const bson::Element filter = invocation.body["filter"];
    if (filter && !filter.is_object() && filter.type() != bson::Type::null)
        base::fail(base::kTypeMismatch, "filter must be a document");
    const RequestExpressions expressions(invocation);
    const auto matcher = query::Matcher::parse(filter.is_object() ? filter.as_doc() : bson::Doc(),
                                               expressions.get());
    const bool name_only = invocation.body["nameOnly"].truthy();
    const int64_t batch_size = invocation.batch_size(-1);
    const Rights rights(invocation.client);
    const bool only_readable = invocation.body["authorizedCollections"].truthy();
    std::vector<bson::Object> entries;
    {
        const storage::DatabaseLock lock(invocation.service.locks(), invocation.db, false);
        if (catalog::Database* db = invocation.service.catalog().database(invocation.db)) {
            std::vector<std::string> names = db->all_namespaces();
            std::ranges::sort(names);
            for (const std::string& ns : names) {
                if (db->collection(ns) == nullptr || ns.ends_with(".system.namespaces")) continue;
                // Today's clients do not expect the catalogue among their collections.
                if (invocation.dialect().has(dialect::kCatalogueIsHidden) &&
                    ns.ends_with(".system.indexes"))
                    continue;
                if (only_readable && !rights.on(ns, auth::action::find)) continue;
                entries.push_back(describe(*db, ns, name_only, invocation.dialect()));
            }
            for (const std::string& ns : db->view_names())
                if (!only_readable || rights.on(ns, auth::action::find))
                    entries.push_back(describe_view(*db, ns, name_only));
        }
    }
    // A filter may compute for long, which others should not have to wait for.
    auto source = std::make_unique<ListSource>();
    for (const bson::Object& entry : entries)
        if (matcher->matches(entry)) source->add(entry);
    auto cursor = std::make_unique<Cursor>();
    cursor->ns = fmt::format("{}.$cmd.listCollections", invocation.db);
    cursor->source = std::move(source);
    reply_with_cursor(invocation.service.cursors(), invocation.client, std::move(cursor),
                      batch_size, *invocation.reply);
}

// Today's clients, and the log of a primary, make an index that documents expire by of any that can
// be one.
bool may_begin_to_expire(const Invocation& invocation, const catalog::Index& index) {
    return (invocation.of_log || invocation.dialect().has(dialect::kExpiriesAreChecked)) &&
           index.spec["expireAfterSeconds"].missing() && may_expire_by(index.key_pattern);
}

void change_expiry(const Invocation& invocation, CollectionLock& lock, const catalog::Index& index,
                   const bson::Element& seconds, bson::Builder& reply) {
    DCHECK(seconds.is_number());
    const bson::Element old = index.spec["expireAfterSeconds"];
    if (!old.is_number() && !may_begin_to_expire(invocation, index))
        base::fail(base::kInvalidOptions,
                   "no expireAfterSeconds field to update, or not a number, in an index that "
                   "documents cannot begin to expire by: {}",
                   bson::to_text(index.key_pattern));
    if (!old && seconds.to_double() > std::numeric_limits<int32_t>::max())
        base::fail(base::kInvalidOptions,
                   "expireAfterSeconds must be a number from 0 to 2147483647");
    if (old && old.to_int64() == seconds.to_int64()) return;
    if (old) reply.append_as("expireAfterSeconds_old", old);
    lock.database()->set_index_number(*lock.collection(), index, "expireAfterSeconds",
                                      seconds.to_int64());
    reply.append_as("expireAfterSeconds_new", seconds);
}

void change_hidden(CollectionLock& lock, const catalog::Index& index, bool hidden,
                   bson::Builder& reply) {
    if (index.hidden == hidden) return;
    lock.database()->hide_index(*lock.collection(), index, hidden);
    reply.append("hidden_old", !hidden).append("hidden_new", hidden);
}

// collMod { index: { keyPattern | name, expireAfterSeconds, hidden } }.
void change_index(const Invocation& invocation, CollectionLock& lock, const bson::Element& spec,
                  bson::Builder& reply) {
    DCHECK(lock.collection() != nullptr);
    if (!spec.is_object()) base::fail(10065, "invalid parameter: expected an object (index)");
    const bson::Doc change = spec.as_doc();
    const bson::Element key = change["keyPattern"];
    const bson::Element name = change["name"];
    const bson::Element seconds = change["expireAfterSeconds"];
    const bson::Element hidden = change["hidden"];
    for (const bson::Element& e : change) {
        const std::string_view field = e.name();
        if (field != "keyPattern" && field != "name" && field != "expireAfterSeconds" &&
            field != "hidden")
            base::fail(base::kInvalidOptions, "collMod cannot change '{}' of an index", field);
    }
    if (!key.is_object() && !name.is_string())
        base::fail(base::kInvalidOptions, "no keyPattern specified");
    if (hidden && !hidden.is_number() && hidden.type() != bson::Type::boolean)
        base::fail(base::kTypeMismatch, "hidden must be true or false");
    const bool expires = seconds || hidden.missing();
    if (expires && (!seconds.is_number() || std::isnan(seconds.to_double())))
        base::fail(base::kInvalidOptions, "no expireAfterSeconds field or not a number");
    if (expires && invocation.dialect().has(dialect::kExpiriesAreChecked) &&
        seconds.to_double() < 0)
        base::fail(base::kInvalidOptions, "expireAfterSeconds must be a number from 0 on");
    const catalog::Index* index = key.is_object()
                                      ? lock.collection()->find_index_by_key(key.as_doc())
                                      : lock.collection()->find_index(name.as_string());
    if (index == nullptr) base::fail(base::kIndexNotFound, "cannot find index");
    if (expires) change_expiry(invocation, lock, *index, seconds, reply);
    if (hidden) change_hidden(lock, *index, hidden.truthy(), reply);
}

void change_power_of_2(const Invocation&, CollectionLock& lock, const bson::Element& e,
                       bson::Builder& reply) {
    DCHECK(lock.collection() != nullptr);
    const bool wanted = e.truthy();
    storage::CollectionStore& store = lock.collection()->store();
    const int32_t flags = store.records().stats().user_flags;
    const bool old = (flags & 1) != 0;
    if (old == wanted) return;
    reply.append("usePowerOf2Sizes_old", old);
    lock.database()->set_user_flags(*lock.collection(), wanted ? flags | 1 : flags & ~1);
    reply.append("usePowerOf2Sizes_new", wanted);
}

[[noreturn]] void refuse_change(const Invocation&, CollectionLock&, const bson::Element& e,
                                bson::Builder&) {
    base::fail(base::kInvalidOptions, "unknown option to collMod: {}", e.name());
}

struct ModRequest {
    using Change = void (*)(const Invocation&, CollectionLock&, const bson::Element&,
                            bson::Builder& reply);

    std::vector<std::pair<Change, bson::Element>> changes;  // one is made after the other
    bson::Builder validation;                               // changed in one go
    std::string_view not_of_view;                           // the first that a view does not have
    bson::Element view_on, pipeline;
};

template <ModRequest::Change kChange>
void take_change(ModRequest& request, const bson::Element& e, dialect::Dialect) {
    request.changes.emplace_back(kChange, e);
    if (request.not_of_view.empty()) request.not_of_view = e.name();
}

void take_validation(ModRequest& request, const bson::Element& e, dialect::Dialect) {
    request.validation.append(e);
    if (request.not_of_view.empty()) request.not_of_view = e.name();
}

constexpr Reader<bson::Element> kViewOn{types::string, as_it_came};

constexpr Row<ModRequest> kModRows[] = {
    {{"index", types::object}, take_change<change_index>},
    {{"usePowerOf2Sizes", types::flag}, take_change<change_power_of_2>},
    {{"validator", types::object}, take_validation},
    {{"validationLevel", types::string}, take_validation},
    {{"validationAction", types::string}, take_validation},
    row<kViewOn, &ModRequest::view_on>("viewOn"),
    row<lenient::array_element, &ModRequest::pipeline>("pipeline"),
    {refused("noPadding", "3.0"), take_change<refuse_change>},
    {refused("recordPreImages", "4.4"), take_change<refuse_change>},
    {refused("expireAfterSeconds", "5.0"), take_change<refuse_change>},
    {refused("timeseries", "5.0"), take_change<refuse_change>},
    {refused("changeStreamPreAndPostImages", "6.0"), take_change<refuse_change>},
    {refused("cappedSize", "6.0"), take_change<refuse_change>},
    {refused("cappedMax", "6.0"), take_change<refuse_change>},
    {refused("dryRun", "7.0"), take_change<refuse_change>},
};
constexpr RequestTable kMod(kModRows, take_change<refuse_change>);

// Throws base::Error 72 for other changes beside that of a view.
bool changes_view(const ModRequest& request, dialect::Dialect dialect) {
    if (is_absent(request.view_on, dialect) && is_absent(request.pipeline, dialect)) return false;
    if (!request.not_of_view.empty())
        base::fail(base::kInvalidOptions, "a view has no '{}' to change", request.not_of_view);
    return true;
}

void run_coll_mod(Invocation& invocation) {
    const std::string ns = invocation.ns();
    ModRequest request;
    kMod.bind(invocation.given, invocation.dialect(), request);
    if (changes_view(request, invocation.dialect())) return change_view(invocation, ns);
    CollectionLock lock(invocation.client, ns, true, CollectionLock::Views::taken);
    if (const catalog::Database* db = lock.database(); db != nullptr && db->view(ns) != nullptr)
        base::fail(base::kInvalidOptions, "a view can only be given another viewOn and pipeline");
    if (lock.collection() == nullptr) base::fail(base::kNamespaceNotFound, "ns does not exist");
    bson::Builder changes;
    try {
        for (const auto& [change, option] : request.changes)
            change(invocation, lock, option, changes);
        if (const bson::Doc validation = request.validation.doc(); !validation.empty())
            lock.database()->change_validation(*lock.collection(), validation);
    } catch (const base::Error& e) {
        // Earlier changes stay, and are reported.
        const bson::Object done = changes.object();
        throw base::Error(e.code(), e.what(), done.bytes());
    }
    invocation.reply->append_all(changes.doc());
}

bool may_list_collections(const Invocation& invocation, const Rights& rights) {
    const bool only_readable =
        invocation.body["nameOnly"].truthy() && invocation.body["authorizedCollections"].truthy();
    return rights.logged_in() &&
           (only_readable || rights.on(invocation.db, "", auth::action::listCollections));
}

constexpr Field kListFields[] = {
    {"filter", types::object},
    {"nameOnly", types::flag},
    {"cursor", types::object},
    {"authorizedCollections", types::flag},
};

constexpr Command kCommands[] = {
    {"create", "", 0, LockKind::write,
     "{ create: name, capped, size, max, autoIndexId, flags, validator | viewOn, pipeline }",
     run_create, needs::on_collection(auth::action::createCollection), kCreate.fields()},
    {"drop", "", 0, LockKind::write, "drop a collection", run_drop,
     needs::on_collection(auth::action::dropCollection)},
    {"listCollections", "", 0, LockKind::read, "the collections of this database",
     run_list_collections, needs::decided(may_list_collections), kListFields},
    {"collMod", "", 0, LockKind::write,
     "{ collMod: name, usePowerOf2Sizes: bool, validator: {}, validationLevel, validationAction, "
     "index: { keyPattern, expireAfterSeconds, hidden } }",
     run_coll_mod, needs::on_collection(auth::action::collMod), kMod.fields()},
};

}  // namespace

Family collection_commands() {
    return kCommands;
}

}  // namespace command
