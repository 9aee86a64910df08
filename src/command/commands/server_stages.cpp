#include "command/commands/server_stages.h"

#include <set>

#include "auth/user.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "base/milliseconds.h"
#include "bson/type_names.h"
#include "command/commands/indexes.h"
#include "command/context/locks.h"
#include "command/report/stats.h"
#include "command/request/authorization.h"
#include "command/request/current_op.h"
#include "dialect/dialect.h"
#include "sched/tick.h"

namespace command {

namespace {

query::DocumentSource list_source(std::vector<bson::Object> documents) {
    return [documents = std::move(documents), next = size_t{0}](bson::Doc* doc) mutable {
        DCHECK(next <= documents.size());
        if (next == documents.size()) return false;
        *doc = documents[next++].doc();
        return true;
    };
}

void append_storage(catalog::Collection& collection, int64_t scale, bson::Builder& out) {
    DCHECK(scale >= 1);
    bson::Builder stats = out.sub_object("storageStats");
    append_collection_stats(&collection, collection.store(), scale, false, stats);
    append_more_stats(&collection, collection.store(), scale, stats);
}

query::DocumentSource coll_stats(Invocation& invocation, const std::string& ns,
                                 const bson::Element& spec) {
    if (!spec.is_object()) base::fail(base::kFailedToParse, "$collStats needs a document");
    CollectionLock lock(invocation.client, ns, false);
    if (lock.collection() == nullptr)
        base::fail(base::kNamespaceNotFound, "Collection [{}] not found.", ns);
    bson::Builder out;
    out.append("ns", ns)
        .append("host", invocation.service.context().host)
        .append_date("localTime", base::ms_since_1970());
    for (const bson::Element& e : spec.as_doc()) {
        if (e.name() == "latencyStats") {
            if (e.is_object() && e.as_doc()["histograms"].truthy())
                base::fail(base::kInvalidOptions,
                           "'latencyStats.histograms' is not supported by this server");
            bson::Builder stats = out.sub_object("latencyStats");
            invocation.service.top().append_latency(ns, stats);
        } else if (e.name() == "storageStats") {
            const bson::Element scale = e.is_object() ? e.as_doc()["scale"] : bson::Element();
            if (scale && (!scale.is_number() || scale.to_int64() < 1))
                base::fail(base::kBadValue, "scale has to be a number >= 1");
            append_storage(*lock.collection(), scale ? scale.to_int64() : 1, out);
        } else if (e.name() == "count") {
            out.append_number("count", lock.collection()->records().count());
        } else {
            base::fail(base::kFailedToParse, "unrecognized option to $collStats: {}", e.name());
        }
    }
    std::vector<bson::Object> documents;
    documents.push_back(out.object());
    return list_source(std::move(documents));
}

query::DocumentSource index_stats(Invocation& invocation, const std::string& ns) {
    CollectionLock lock(invocation.client, ns, false);
    std::vector<bson::Object> documents;
    if (lock.collection() != nullptr) {
        for (const auto& index : lock.collection()->indexes()) {
            bson::Builder out;
            out.append("name", index->name)
                .append("key", index->key_pattern)
                .append("host", invocation.service.context().host);
            {
                bson::Builder accesses = out.sub_object("accesses");
                accesses.append("ops", index->uses.load(std::memory_order_relaxed))
                    .append_date("since", base::ms_since_1970(index->since));
            }
            out.append("spec", shown_index(index->spec, invocation.dialect()));
            documents.push_back(out.object());
        }
    }
    return list_source(std::move(documents));
}

// No plan outlives its query here, so that there is none to tell of.
query::DocumentSource plan_cache(Invocation& invocation, const std::string& ns,
                                 const bson::Element& spec) {
    if (!spec.is_object())
        base::fail(base::kFailedToParse, "$planCacheStats value must be an object. Found: {}",
                   bson::name_of(spec.type()));
    for (const bson::Element& e : spec.as_doc()) {
        if (e.name() != "allHosts")
            base::fail(base::kFailedToParse,
                       "$planCacheStats parameters object may contain only 'allHosts' field. "
                       "Found: {}",
                       e.name());
        if (e.truthy()) base::fail(base::kFailedToParse, "'allHosts' requires a sharded cluster");
    }
    const CollectionLock lock(invocation.client, ns, false);
    return list_source({});
}

query::DocumentSource current_op(Invocation& invocation, const bson::Element& spec) {
    if (!spec.is_object()) base::fail(base::kFailedToParse, "$currentOp needs a document");
    if (invocation.db != "admin")
        base::fail(base::kInvalidNamespace, "$currentOp must be run against the 'admin' database");
    const bool idle = spec.as_doc()["idleConnections"].truthy();
    std::vector<bson::Object> documents;
    each_operation(invocation.service.contexts(), nullptr, idle, dialect::kToday,
                   [&](bson::Doc operation) { documents.emplace_back(operation); });
    return list_source(std::move(documents));
}

// The ticks for hashing a name (sched/tick.h).
constexpr int64_t kTicksPerUser = 16;

// The client's own, those of named users, or all: the latter two include other users only with the
// right to see their operations.
SessionSet sessions_to_list(const Invocation& invocation, bson::Doc spec) {
    const SessionOwner& own = invocation.session_owner();
    SessionSet listed{.owners = {own}};
    for (const bson::Element& e : spec) {
        if (e.name() == "users" && e.is_array()) {
            listed.owners.clear();
            for (const bson::Element& user : sched::ticked(e.as_doc(), kTicksPerUser))
                listed.owners.insert(auth::parse_name(user, invocation.db).digest());
        } else if (e.name() == "allUsers" && e.type() == bson::Type::boolean) {
            listed.all = e.as_bool();
        } else {
            base::fail(base::kFailedToParse,
                       "$listLocalSessions takes allUsers, a boolean, or users, an array; not "
                       "'{}' like that",
                       e.name());
        }
    }
    if ((listed.all || listed.owners != std::set{own}) &&
        !Rights(invocation.client).on_cluster(auth::action::inprog))
        base::fail(base::kUnauthorized, "not authorized to list the sessions of others");
    return listed;
}

query::DocumentSource local_sessions(Invocation& invocation, const bson::Element& spec) {
    if (!spec.is_object()) base::fail(base::kTypeMismatch, "$listLocalSessions needs a document");
    const SessionSet listed = sessions_to_list(invocation, spec.as_doc());
    std::vector<bson::Object> documents;
    const int64_t now_ms = base::ms_since_1970();
    invocation.service.sessions().each(
        [&](const SessionId& id, LogicalSessions::Clock::time_point used) {
            if (!listed.contains(id)) return;
            bson::Builder out;
            {
                bson::Builder key = out.sub_object("_id");
                id.append_fields(key);
            }
            out.append_date("lastUse", now_ms - base::ms_since(used));
            documents.push_back(out.object());
        });
    return list_source(std::move(documents));
}

}  // namespace

query::FirstStage find_first_stage(Invocation& invocation, const std::string& ns,
                                   std::string_view stage) {
    using Spec = bson::Element;
    if (stage == "$collStats")
        return [&invocation, &ns](const Spec& spec) { return coll_stats(invocation, ns, spec); };
    if (stage == "$indexStats")
        return [&invocation, &ns](const Spec&) { return index_stats(invocation, ns); };
    if (stage == "$planCacheStats")
        return [&invocation, &ns](const Spec& spec) { return plan_cache(invocation, ns, spec); };
    if (stage == "$currentOp")
        return [&invocation](const Spec& spec) { return current_op(invocation, spec); };
    if (stage == "$listLocalSessions")
        return [&invocation](const Spec& spec) { return local_sessions(invocation, spec); };
    return {};
}

}  // namespace command
