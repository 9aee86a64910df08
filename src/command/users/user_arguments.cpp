#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/users/users.h"
#include "query/plan/executor.h"
#include "sched/tick.h"

namespace command {

namespace {

// The cost of one authorization check.
constexpr int64_t kTicksPerRight = 4;

// Whether any command may carry the field.
bool is_generic(std::string_view name) {
    constexpr std::string_view kGeneric[] = {
        "lsid",       "maxTimeMS", "writeConcern",         "readConcern", "comment",
        "apiVersion", "apiStrict", "apiDeprecationErrors", "backpressure"};
    return name.starts_with('$') || std::ranges::find(kGeneric, name) != std::end(kGeneric);
}

}  // namespace

void check_user_fields(const Invocation& invocation) {
    DCHECK(invocation.service.commands().find(invocation.name) != nullptr);
    const Fields known = invocation.service.commands().find(invocation.name)->fields;
    bool first = true;
    for (const bson::Element& e : invocation.body) {
        if (std::exchange(first, false) || is_generic(e.name())) continue;
        if (!known.has(e.name()))
            base::fail(base::kBadValue, "\"{}\" is not a valid argument to {}", e.name(),
                       invocation.name);
    }
}

GivenRights::GivenRights(const Invocation& invocation)
    : privileges(invocation.body["privileges"]),
      roles(invocation.body["roles"]),
      restrictions_(invocation.body["authenticationRestrictions"]) {}

void GivenRights::refuse_restrictions() const {
    if (restrictions_ && !(restrictions_.is_array() && restrictions_.as_doc().empty()))
        base::fail(base::kBadValue, "authenticationRestrictions are not supported by this server");
}

std::vector<auth::Role> parse_given_roles(const Invocation& invocation) {
    std::vector<auth::Role> roles = auth::parse_roles(GivenRights(invocation).roles, invocation.db);
    invocation.service.access_control().users.check_roles(roles);
    return roles;
}

storage::RecordId find_document(const CollectionLock& lock, const std::string& id) {
    catalog::Collection* const all = lock.collection();
    if (all == nullptr || all->id_index() == nullptr) return {};
    const bson::Object key = bson::make("_id", id);
    return query::find_by_id(*all, key.doc().first());
}

void append_replaced(bson::Doc old, bson::Doc fresh, bson::Builder& out) {
    for (const bson::Element& e : old)
        out.append(fresh.has(e.name()) ? fresh[e.name()] : e);
    for (const bson::Element& e : fresh) {
        if (!old.has(e.name())) out.append(e);
    }
}

void make_durable(Invocation& invocation) {
    invocation.suspension.add_commit();
}

bool may_on_roles(const Invocation& invocation, const Rights& rights, auth::Actions actions) {
    const bson::Element list = GivenRights(invocation).roles;
    if (!list.is_array()) return true;
    for (const bson::Element& e : sched::ticked(list.as_doc(), kTicksPerRight)) {
        const bson::Element db = e.is_object() ? e.as_doc()["db"] : bson::Element();
        if (!rights.on(db.is_string() ? db.as_string() : invocation.db, "", actions)) return false;
    }
    return true;
}

bool may_grant_roles(const Invocation& invocation, const Rights& rights) {
    return rights.logged_in() && may_on_roles(invocation, rights, auth::action::grantRole);
}

bool may_revoke_roles(const Invocation& invocation, const Rights& rights) {
    return rights.logged_in() && may_on_roles(invocation, rights, auth::action::revokeRole);
}

}  // namespace command
