// Roles of one's own: made, changed, given privileges and roles (wire spec 6.4).
#include <algorithm>
#include <functional>

#include "auth/own_role.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "command/context/locks.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "command/users/users.h"
#include "command/write/add_user.h"
#include "sched/tick.h"

namespace command {

namespace {

using auth::OwnRole;
using auth::Role;

// The cost of one authorization check (sched/tick.h).
constexpr int64_t kTicksPerRight = 4;

UserStore& users_of(const Invocation& invocation) {
    return invocation.service.access_control().users;
}

// The name of a role that is there, and can be changed.
Role parse_changed(const Invocation& invocation) {
    Role role = auth::parse_role_name(invocation.first(), invocation.db);
    if (auth::is_built_in(role))
        base::fail(base::kInvalidRoleModification, "{} is a built-in role and cannot be modified",
                   role.text());
    return role;
}

[[noreturn]] void fail_missing(const Role& role) {
    base::fail(base::kRoleNotFound, "No role named {}", role.text());
}

void check_size(const Role& role, bson::Doc document) {
    if (document.size() > bson::kDocumentBytesMax)
        base::fail(base::kBadValue,
                   "the document of role {} would have {} bytes, at most {} are "
                   "allowed",
                   role.text(), document.size(), bson::kDocumentBytesMax);
}

// A change has been made.
void announce(Invocation& invocation, const Role& role, std::string_view what) {
    users_of(invocation).changed();
    base::log::info("role {} {}", role.text(), what);
    make_durable(invocation);
}

// Rewrites a role's document. `change` gets what the role was. Throws base::Error 31 where there is
// none, 81 where it is damaged, 80 where it would give what it cannot.
void change_role(Invocation& invocation, const Role& who,
                 const std::function<void(OwnRole&)>& change) {
    {
        CollectionLock lock(invocation.client, auth::kRoles, true);
        const storage::RecordId id = find_document(lock, auth::id_of(who));
        if (!id) fail_missing(who);
        catalog::Collection& roles = *lock.collection();
        const bson::Object old(roles.records().get(id));
        OwnRole role = auth::read_role(old);
        const std::vector<Role> had = role.roles;
        change(role);
        auth::check_stays_inside(role);
        auth::check_role_count(role.roles.size());
        auth::check_privilege_count(role.privileges.list().size());
        if (role.roles != had) {
            const auth::FindRole find = users_of(invocation).role_finder();
            auth::check_no_cycle(who, role.roles, find);
        }
        bson::Builder fresh, document;
        auth::append_rights(role, fresh);
        append_replaced(old, fresh.doc(), document);
        check_size(who, document.doc());
        roles.update(id, document.doc());
    }
    announce(invocation, who, "changed");
}

void run_create_role(Invocation& invocation) {
    check_user_fields(invocation);
    const GivenRights given(invocation);
    OwnRole role;
    role.who = auth::parse_new_role_name(invocation.first(), invocation.db);
    given.refuse_restrictions();
    if (!given.privileges || !given.roles)
        base::fail(base::kBadValue, "\"createRole\" command requires a \"{}\" array",
                   given.privileges ? "roles" : "privileges");
    role.privileges = auth::parse_privileges(given.privileges);
    role.roles = auth::parse_roles(given.roles, invocation.db);
    auth::check_stays_inside(role);
    add_role(invocation.client, users_of(invocation), role);
    announce(invocation, role.who, "created");
}

void run_update_role(Invocation& invocation) {
    check_user_fields(invocation);
    const GivenRights given(invocation);
    const Role who = parse_changed(invocation);
    given.refuse_restrictions();
    if (!given.privileges && !given.roles)
        base::fail(base::kBadValue, "Must specify at least one field to update in updateRole");
    auth::Privileges privileges;
    std::vector<Role> roles;
    if (given.privileges) privileges = auth::parse_privileges(given.privileges);
    if (given.roles) roles = parse_given_roles(invocation);
    change_role(invocation, who, [&](OwnRole& role) {
        if (given.privileges) role.privileges = privileges;
        if (given.roles) role.roles = roles;
    });
}

// Returns the privileges of a command that gives or takes some.
auth::Privileges parse_given_privileges(const Invocation& invocation) {
    const bson::Element list = GivenRights(invocation).privileges;
    if (!list.is_array() || list.as_doc().empty())
        base::fail(list.is_array() || !list ? base::kBadValue : base::kTypeMismatch,
                   "{} command requires a non-empty \"privileges\" array", invocation.name);
    return auth::parse_privileges(list);
}

void run_grant_privileges(Invocation& invocation) {
    check_user_fields(invocation);
    const Role who = parse_changed(invocation);
    const auth::Privileges given = parse_given_privileges(invocation);
    change_role(invocation, who, [&given](OwnRole& role) { role.privileges.add(given); });
}

void run_revoke_privileges(Invocation& invocation) {
    check_user_fields(invocation);
    const Role who = parse_changed(invocation);
    const auth::Privileges taken = parse_given_privileges(invocation);
    change_role(invocation, who, [&taken](OwnRole& role) {
        for (const auth::Privilege& privilege : taken.list())
            role.privileges.remove(privilege.resource, privilege.actions);
    });
}

void change_roles(Invocation& invocation, bool grant) {
    check_user_fields(invocation);
    const Role who = parse_changed(invocation);
    const std::vector<Role> named = parse_given_roles(invocation);
    if (named.empty()) base::fail(base::kBadValue, "{} needs one role at least", invocation.name);
    change_role(invocation, who, [&](OwnRole& role) {
        std::erase_if(role.roles, [&named](const Role& one) {
            return std::ranges::find(named, one) != named.end();
        });
        if (grant) role.roles.insert(role.roles.end(), named.begin(), named.end());
    });
}

void run_grant_roles(Invocation& invocation) {
    change_roles(invocation, true);
}

void run_revoke_roles(Invocation& invocation) {
    change_roles(invocation, false);
}

std::vector<storage::RecordId> find_documents(catalog::Collection& collection,
                                              const std::function<bool(bson::Doc)>& is_wanted) {
    std::vector<storage::RecordId> found;
    const auto is_found = sched::ticking([&is_wanted](bson::Doc doc) { return is_wanted(doc); });
    const auto cursor = collection.records().cursor(storage::Direction::forward);
    while (const auto record = cursor->next())
        if (is_found(record->doc)) found.push_back(record->id);
    return found;
}

// Takes the roles away from every user, or every role, that has them.
void take_from_all(Invocation& invocation, std::string_view ns,
                   const std::function<bool(const bson::Element&)>& is_taken) {
    CollectionLock lock(invocation.client, ns, true);
    if (lock.collection() == nullptr) return;
    catalog::Collection& collection = *lock.collection();
    const auto has_one = [&is_taken](bson::Doc document) {
        const bson::Element roles = document["roles"];
        if (!roles.is_array()) return false;
        for (const bson::Element& e : roles.as_doc())
            if (is_taken(e)) return true;
        return false;
    };
    for (const storage::RecordId id : find_documents(collection, has_one)) {
        const bson::Object old(collection.records().get(id));
        bson::Builder fresh, document;
        {
            bson::Builder left = fresh.sub_array("roles");
            for (const bson::Element& e : old["roles"].as_doc())
                if (!is_taken(e)) left.push_element(e);
        }
        append_replaced(old, fresh.doc(), document);
        collection.update(id, document.doc());
    }
}

// They go from those who have them before they go themselves: who is interrupted runs it again.
void take_from_all(Invocation& invocation,
                   const std::function<bool(const bson::Element&)>& is_taken) {
    take_from_all(invocation, auth::kUsers, is_taken);
    take_from_all(invocation, auth::kRoles, is_taken);
    users_of(invocation).changed();
}

void run_drop_role(Invocation& invocation) {
    check_user_fields(invocation);
    const Role who = parse_changed(invocation);
    {
        const CollectionLock lock(invocation.client, auth::kRoles, false);
        if (!find_document(lock, auth::id_of(who))) fail_missing(who);
    }
    take_from_all(invocation, [&who](const bson::Element& e) {
        return e.is_object() && e.as_doc()["role"].is_string() && e.as_doc()["db"].is_string() &&
               e.as_doc()["role"].as_string() == who.name && e.as_doc()["db"].as_string() == who.db;
    });
    {
        CollectionLock lock(invocation.client, auth::kRoles, true);
        const storage::RecordId id = find_document(lock, auth::id_of(who));
        if (id) lock.collection()->remove(id);
    }
    announce(invocation, who, "dropped");
}

void run_drop_all_roles(Invocation& invocation) {
    check_user_fields(invocation);
    const auto is_of_database = [&invocation](const bson::Element& db) {
        return db.is_string() && db.as_string() == invocation.db;
    };
    take_from_all(invocation, [&](const bson::Element& e) {
        return e.is_object() && is_of_database(e.as_doc()["db"]) &&
               e.as_doc()["role"].is_string() &&
               !auth::is_built_in(
                   {std::string(e.as_doc()["role"].as_string()), std::string(invocation.db)});
    });
    int64_t count = 0;
    {
        CollectionLock lock(invocation.client, auth::kRoles, true);
        std::vector<storage::RecordId> doomed;
        if (catalog::Collection* roles = lock.collection()) {
            doomed = find_documents(*roles, [&is_of_database](bson::Doc document) {
                return is_of_database(document["db"]);
            });
            for (const storage::RecordId id : doomed)
                roles->remove(id);
        }
        count = static_cast<int64_t>(doomed.size());
    }
    users_of(invocation).changed();
    base::log::info("{} roles of database {} dropped", count, invocation.db);
    invocation.reply->append_number("n", count);
    make_durable(invocation);
}

// --- rolesInfo ---

void append_role(const Invocation& invocation, const OwnRole& role, bool is_built_in,
                 bson::Builder& list) {
    bson::Builder entry = list.sub_object(list.next().view());
    entry.append("role", role.who.name).append("db", role.who.db).append("isBuiltin", is_built_in);
    const auth::Granted inherited = users_of(invocation).granted(role.roles);
    {
        bson::Builder roles = entry.sub_array("roles");
        auth::append_roles(role.roles, roles);
    }
    {
        bson::Builder roles = entry.sub_array("inheritedRoles");
        auth::append_roles(inherited.roles, roles);
    }
    if (!invocation.body["showPrivileges"].truthy()) return;
    {
        bson::Builder privileges = entry.sub_array("privileges");
        role.privileges.append_to(privileges);
    }
    auth::Privileges all = role.privileges;
    all.add(inherited.privileges);
    bson::Builder privileges = entry.sub_array("inheritedPrivileges");
    all.append_to(privileges);
}

void append_built_in(const Invocation& invocation, const Role& role, bson::Builder& list) {
    DCHECK(auth::is_built_in(role));
    append_role(invocation, {role, auth::privileges_of(role), {}}, true, list);
}

// The roles that rolesInfo asks about; nothing: those of the database.
std::optional<std::vector<Role>> parse_asked(const Invocation& invocation) {
    const bson::Element first = invocation.first();
    if (first.is_number()) return std::nullopt;
    std::vector<Role> out;
    const auto add = [&](const bson::Element& e) {
        if (e.is_string()) {
            out.push_back({std::string(e.as_string()), std::string(invocation.db)});
        } else if (e.is_object() && e.as_doc()["role"].is_string() &&
                   e.as_doc()["db"].is_string()) {
            out.push_back({std::string(e.as_doc()["role"].as_string()),
                           std::string(e.as_doc()["db"].as_string())});
        } else {
            base::fail(base::kBadValue, "a role must be a name, or a document {{ role, db }}");
        }
    };
    if (!first.is_array()) {
        add(first);
    } else {
        for (const bson::Element& e : sched::ticked(first.as_doc()))
            add(e);
    }
    return out;
}

// { rolesInfo: 1 } lists the roles of one's own, with showBuiltinRoles the others too; a name, or
// names, those.
void run_roles_info(Invocation& invocation) {
    check_user_fields(invocation);
    const auto asked = parse_asked(invocation);
    std::vector<bson::Object> found;
    users_of(invocation).each_role(sched::ticking([&](bson::Doc document) {
        const bson::Element id = document["_id"];
        const bool wanted =
            asked ? std::ranges::any_of(*asked,
                                        [&id](const Role& role) {
                                            return id.is_string() &&
                                                   id.as_string() == auth::id_of(role);
                                        })
                  : document["db"].is_string() && document["db"].as_string() == invocation.db;
        if (wanted) found.emplace_back(document);
    }));
    bson::Builder list = invocation.reply->sub_array("roles");
    const auto check_reply = [&list] {
        if (list.size() > static_cast<size_t>(bson::kDocumentBytesMax))
            base::fail(base::kOperationFailed,
                       "the answer is larger than 16 MB; ask for fewer roles");
    };
    for (const bson::Object& document : found) {
        append_role(invocation, auth::read_role(document), false, list);
        check_reply();
    }
    if (asked) {
        for (const Role& role : *asked) {
            if (auth::is_built_in(role)) append_built_in(invocation, role, list);
            check_reply();
        }
    } else if (invocation.body["showBuiltinRoles"].truthy()) {
        for (const std::string_view name : auth::role_names(invocation.db))
            append_built_in(invocation, {std::string(name), std::string(invocation.db)}, list);
    }
}

// --- who may ---

// Whether the client may do this where each of the privileges given is one: the server as a whole,
// and all databases, count for admin.
bool may_on_privileges(const Invocation& invocation, const Rights& rights, auth::Actions actions) {
    const bson::Element list = GivenRights(invocation).privileges;
    if (!list.is_array()) return true;
    for (const bson::Element& e : sched::ticked(list.as_doc(), kTicksPerRight)) {
        const bson::Element resource = e.is_object() ? e.as_doc()["resource"] : bson::Element();
        const bson::Element db = resource.is_object() ? resource.as_doc()["db"] : bson::Element();
        const bool of_one = db.is_string() && !db.as_string().empty();
        if (!rights.on(of_one ? db.as_string() : "admin", "", actions)) return false;
    }
    return true;
}

bool may_create_role(const Invocation& invocation, const Rights& rights) {
    return may_grant_roles(invocation, rights) &&
           rights.on(invocation.db, "", auth::action::createRole) &&
           may_on_privileges(invocation, rights, auth::action::grantRole);
}

// What the role had goes.
bool may_update_role(const Invocation& invocation, const Rights& rights) {
    return may_grant_roles(invocation, rights) && rights.anywhere(auth::action::revokeRole) &&
           may_on_privileges(invocation, rights, auth::action::grantRole);
}

bool may_grant_privileges(const Invocation& invocation, const Rights& rights) {
    return rights.logged_in() && may_on_privileges(invocation, rights, auth::action::grantRole);
}

bool may_revoke_privileges(const Invocation& invocation, const Rights& rights) {
    return rights.logged_in() && may_on_privileges(invocation, rights, auth::action::revokeRole);
}

// A user may always see the roles that it has.
bool may_see_roles(const Invocation& invocation, const Rights& rights) {
    using auth::action::viewRole;
    if (!rights.logged_in()) return false;
    const auto asked = parse_asked(invocation);
    if (!asked) return rights.on(invocation.db, "", viewRole);
    return std::ranges::all_of(*asked, sched::ticking([&](const Role& role) {
        const auto has = [&role](const auth::User& user) {
            return std::ranges::find(user.granted.roles, role) != user.granted.roles.end();
        };
        return std::ranges::any_of(invocation.client.login().users(), has) ||
               rights.on(role.db, "", viewRole);
    }));
}

constexpr Field kRoleFields[] = {
    {"privileges", types::array},
    {"roles", types::array},
    {"authenticationRestrictions", types::array},
};
constexpr Field kPrivilegesFields[] = {
    {"privileges", types::array},
};
constexpr Field kRolesFields[] = {
    {"roles", types::array},
};
constexpr Field kInfoFields[] = {
    {"showPrivileges", types::flag},
    {"showBuiltinRoles", types::flag},
    // No role has such restrictions here.
    without_effect("showAuthenticationRestrictions", types::flag, "3.6"),
};

constexpr Command kCommands[] = {
    {"createRole", "", 0, LockKind::write,
     "{ createRole: name, privileges: [ { resource, actions } ], roles: [ name | { role, db } ] }",
     run_create_role, needs::decided(may_create_role), kRoleFields},
    {"updateRole", "", 0, LockKind::write,
     "{ updateRole: name, privileges, roles }: changes what is named", run_update_role,
     needs::decided(may_update_role), kRoleFields},
    {"dropRole", "", 0, LockKind::write, "{ dropRole: name }", run_drop_role,
     needs::on_database(auth::action::dropRole)},
    {"dropAllRolesFromDatabase", "", 0, LockKind::write, "drop the roles of this database",
     run_drop_all_roles, needs::on_database(auth::action::dropRole)},
    {"grantPrivilegesToRole", "", 0, LockKind::write,
     "{ grantPrivilegesToRole: name, privileges: [ ... ] }", run_grant_privileges,
     needs::decided(may_grant_privileges), kPrivilegesFields},
    {"revokePrivilegesFromRole", "", 0, LockKind::write,
     "{ revokePrivilegesFromRole: name, privileges: [ ... ] }", run_revoke_privileges,
     needs::decided(may_revoke_privileges), kPrivilegesFields},
    {"grantRolesToRole", "", 0, LockKind::write, "{ grantRolesToRole: name, roles: [ ... ] }",
     run_grant_roles, needs::decided(may_grant_roles), kRolesFields},
    {"revokeRolesFromRole", "", 0, LockKind::write, "{ revokeRolesFromRole: name, roles: [ ... ] }",
     run_revoke_roles, needs::decided(may_revoke_roles), kRolesFields},
    {"rolesInfo", "", 0, LockKind::none,
     "{ rolesInfo: 1 | name | { role, db } | [ ... ], showBuiltinRoles, showPrivileges }",
     run_roles_info, needs::decided(may_see_roles), kInfoFields},
};

}  // namespace

Family role_commands() {
    return kCommands;
}

}  // namespace command
