// Users and roles: made, changed, given roles, listed (wire spec 6.4).
#include <algorithm>
#include <unordered_set>

#include "auth/user.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/texts.h"
#include "command/commands/families.h"
#include "command/commands/request_expressions.h"
#include "command/context/locks.h"
#include "command/cursor/session_ends.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "command/write/add_user.h"
#include "query/match/match_tree.h"
#include "query/plan/executor.h"
#include "sched/blocking.h"
#include "sched/tick.h"

namespace command {

namespace {

using auth::Role;
using auth::UserName;

// The ticks for showing a user, or a role (sched/tick.h).
constexpr int64_t kTicksPerUser = 64;
// The cost of one authorization check.
constexpr int64_t kTicksPerRight = 4;

// Whether any command may carry the field.
bool is_generic(std::string_view name) {
    constexpr std::string_view kGeneric[] = {
        "lsid",       "maxTimeMS", "writeConcern",         "readConcern", "comment",
        "apiVersion", "apiStrict", "apiDeprecationErrors", "backpressure"};
    return name.starts_with('$') || std::ranges::find(kGeneric, name) != std::end(kGeneric);
}

// Refuses fields that the command does not know, by the old messages too.
void check_fields(const Invocation& invocation) {
    const Fields known = invocation.service.commands().find(invocation.name)->fields;
    bool first = true;
    for (const bson::Element& e : invocation.body) {
        if (std::exchange(first, false) || is_generic(e.name())) continue;
        if (!known.has(e.name()))
            base::fail(base::kBadValue, "\"{}\" is not a valid argument to {}", e.name(),
                       invocation.name);
    }
}

// createUser and updateUser: the fields that make or change a user.
struct UserFields {
    std::optional<auth::Password> password;
    std::vector<auth::Mechanism> mechanisms;
    std::optional<std::vector<Role>> roles;
    bson::Element custom_data;
};

void refuse_restrictions(const bson::Element& list) {
    if (list && !(list.is_array() && list.as_doc().empty()))
        base::fail(base::kBadValue, "authenticationRestrictions are not supported by this server");
}

bool is_digested(bson::Doc body) {
    const bson::Element digest = body["digestPassword"];
    if (digest && digest.type() != bson::Type::boolean)
        base::fail(base::kTypeMismatch, "digestPassword must be a boolean");
    const bson::Element by = body["passwordDigestor"];
    if (by && !(by.is_string() && (by.as_string() == "client" || by.as_string() == "server")))
        base::fail(base::kBadValue, "passwordDigestor must be \"server\" or \"client\"");
    return (digest && !digest.as_bool()) || (by && by.as_string() == "client");
}

UserFields parse_fields(const Invocation& invocation) {
    check_fields(invocation);
    const bson::Doc body = invocation.body;
    UserFields out;
    refuse_restrictions(body["authenticationRestrictions"]);
    const bson::Element pwd = body["pwd"];
    if (pwd) {
        if (!pwd.is_string()) base::fail(base::kTypeMismatch, "pwd must be a string");
        if (pwd.as_string().empty()) base::fail(base::kBadValue, "Password cannot be empty");
        out.password = {std::string(pwd.as_string()), is_digested(body)};
        out.mechanisms = auth::parse_mechanisms(body["mechanisms"], out.password->is_digested);
    } else if (body["mechanisms"] || body["digestPassword"]) {
        base::fail(base::kBadValue, "mechanisms and digestPassword need a pwd beside them");
    }
    if (body["roles"]) out.roles = auth::parse_roles(body["roles"], invocation.db);
    out.custom_data = body["customData"];
    if (out.custom_data && !out.custom_data.is_object())
        base::fail(base::kTypeMismatch, "customData must be a document");
    // Otherwise a list that contains it would be unreadable.
    if (out.custom_data && !bson::texts_are_utf8(out.custom_data.as_doc()))
        base::fail(base::kBadValue, "the texts of customData must be UTF-8");
    return out;
}

// The field credentials, from the password. Slow; false if the command has to be retried later.
bool append_credentials(Invocation& invocation, std::string_view user, const UserFields& fields,
                        bson::Builder& out) {
    const UserStore::Hashing hashing(invocation.service.access_control().users);
    if (!hashing.may_begin()) {
        invocation.wait_for_turn();
        return false;
    }
    const sched::BlockingSection away;
    bson::Builder credentials = out.sub_object("credentials");
    for (const auth::Mechanism mechanism : fields.mechanisms)
        auth::append_credential(mechanism, auth::make_credential(mechanism, user, *fields.password),
                                credentials);
    return true;
}

void append_role_list(const std::vector<Role>& roles, bson::Builder& out) {
    bson::Builder array = out.sub_array("roles");
    auth::append_roles(roles, array);
}

// A change that was acknowledged and lost could make a revoked login valid again.
void make_durable(Invocation& invocation) {
    invocation.suspension.add_commit();
}

void run_create_user(Invocation& invocation) {
    const UserName who = auth::parse_new_name(invocation.first(), invocation.db);
    const UserFields fields = parse_fields(invocation);
    if (!fields.password)
        base::fail(base::kBadValue,
                   "Must provide a 'pwd' field for all user documents, except "
                   "those with '$external' as the user's source db");
    if (!fields.roles)
        base::fail(base::kBadValue, "\"createUser\" command requires a \"roles\" array");
    bson::Builder rest;
    if (!append_credentials(invocation, who.name, fields, rest)) return;
    append_role_list(*fields.roles, rest);
    if (fields.custom_data) rest.append(fields.custom_data);
    // The localhost exception may be closed by now: a first user was created since the check.
    const bool only_first = !Rights(invocation.client).logged_in();
    add_user(invocation.client, invocation.service.access_control().users, who, rest.doc(),
             only_first);
    base::log::info("user {} created{}", who.text(),
                    only_first ? ", the first one, by a client on this machine" : "");
    make_durable(invocation);
}

// Rewrites a user's document: `change` gets the old one, and writes all fields of the new one.
// Throws base::Error 11 if there is no such user.
void change_user(Invocation& invocation, const UserName& who,
                 const std::function<void(bson::Doc, bson::Builder&)>& change) {
    {
        CollectionLock lock(invocation.client, auth::kUsers, true);
        catalog::Collection* users = lock.collection();
        const bson::Object key = bson::make("_id", who.id());
        storage::RecordId id;
        if (users != nullptr && users->id_index() != nullptr)
            id = query::find_by_id(*users, key.doc().first());
        if (!id) base::fail(base::kUserNotFound, "User {} not found", who.text());
        bson::Builder document;
        change(users->records().get(id), document);
        const bson::Doc doc = document.doc();
        if (doc.size() > bson::kDocumentBytesMax)
            base::fail(base::kBadValue,
                       "the document of user {} would have {} bytes, at most {} "
                       "are allowed",
                       who.text(), doc.size(), bson::kDocumentBytesMax);
        users->update(id, doc);
    }
    invocation.service.access_control().users.changed();
    make_durable(invocation);
}

// Appends each field of `old`, with the value of `fresh` where that has one, and then the other
// fields of `fresh`.
void append_replaced(bson::Doc old, bson::Doc fresh, bson::Builder& out) {
    for (const bson::Element& e : old)
        out.append(fresh.has(e.name()) ? fresh[e.name()] : e);
    for (const bson::Element& e : fresh) {
        if (!old.has(e.name())) out.append(e);
    }
}

void run_update_user(Invocation& invocation) {
    const UserName who = auth::parse_name(invocation.first(), invocation.db);
    const UserFields fields = parse_fields(invocation);
    if (!fields.password && !fields.roles && !fields.custom_data)
        base::fail(base::kBadValue, "Must specify at least one field to update in updateUser");
    bson::Builder fresh;
    if (fields.password && !append_credentials(invocation, who.name, fields, fresh)) return;
    if (fields.roles) append_role_list(*fields.roles, fresh);
    if (fields.custom_data) fresh.append(fields.custom_data);
    const bson::Doc changes = fresh.doc();
    change_user(invocation, who,
                [&](bson::Doc old, bson::Builder& out) { append_replaced(old, changes, out); });
    base::log::info("user {} changed", who.text());
}

void run_drop_user(Invocation& invocation) {
    check_fields(invocation);
    const UserName who = auth::parse_name(invocation.first(), invocation.db);
    {
        CollectionLock lock(invocation.client, auth::kUsers, true);
        catalog::Collection* users = lock.collection();
        const bson::Object key = bson::make("_id", who.id());
        storage::RecordId id;
        if (users != nullptr && users->id_index() != nullptr)
            id = query::find_by_id(*users, key.doc().first());
        if (!id) base::fail(base::kUserNotFound, "User {} not found", who.text());
        users->remove(id);
    }
    invocation.service.access_control().users.dropped(who);
    invocation.service.session_ends().end({.owners = {who.digest()}});
    base::log::info("user {} dropped", who.text());
    make_durable(invocation);
}

void run_drop_all_users(Invocation& invocation) {
    check_fields(invocation);
    int64_t count = 0;
    SessionSet sessions;
    {
        CollectionLock lock(invocation.client, auth::kUsers, true);
        std::vector<storage::RecordId> doomed;
        if (catalog::Collection* users = lock.collection()) {
            const auto cursor = users->records().cursor(storage::Direction::forward);
            while (const auto record = cursor->next()) {
                const bson::Element db = record->doc["db"];
                if (!db.is_string() || db.as_string() != invocation.db) continue;
                doomed.push_back(record->id);
                const bson::Element name = record->doc["user"];
                if (!name.is_string()) continue;
                sessions.owners.insert(
                    UserName{std::string(name.as_string()), std::string(invocation.db)}.digest());
            }
            for (const storage::RecordId id : doomed)
                users->remove(id);
        }
        count = static_cast<int64_t>(doomed.size());
    }
    if (count > 0) invocation.service.access_control().users.dropped_all(invocation.db);
    invocation.service.session_ends().end(sessions);
    base::log::info("{} users of database {} dropped", count, invocation.db);
    invocation.reply->append_number("n", count);
    make_durable(invocation);
}

// Runs grantRolesToUser and revokeRolesFromUser.
void change_roles(Invocation& invocation, bool grant) {
    check_fields(invocation);
    const UserName who = auth::parse_name(invocation.first(), invocation.db);
    const std::vector<Role> named = auth::parse_roles(invocation.body["roles"], invocation.db);
    // If no role is named, it is undefined who may ask, and the reply would show which users exist.
    if (named.empty()) base::fail(base::kBadValue, "{} needs one role at least", invocation.name);
    change_user(invocation, who, [&](bson::Doc old, bson::Builder& out) {
        const std::optional<auth::User> user = auth::read_user(old);
        std::vector<Role> roles = user ? user->roles : std::vector<Role>();
        std::erase_if(roles, [&named](const Role& role) {
            return std::ranges::find(named, role) != named.end();
        });
        if (grant) {
            roles.insert(roles.end(), named.begin(), named.end());
            auth::check_role_count(roles.size());
        }
        bson::Builder fresh;
        append_role_list(roles, fresh);
        append_replaced(old, fresh.doc(), out);
    });
    base::log::info("roles of user {} changed", who.text());
}

void run_grant_roles(Invocation& invocation) {
    change_roles(invocation, true);
}

void run_revoke_roles(Invocation& invocation) {
    change_roles(invocation, false);
}

void run_invalidate_cache(Invocation& invocation) {
    invocation.service.access_control().users.changed();
}

// --- usersInfo, rolesInfo ---

// The users that usersInfo asks about: { usersInfo: 1 } a database, { forAllDBs: true } all, else
// these.
struct Asked {
    bool everywhere = false;
    bool whole_database = false;
    std::vector<UserName> users;
};

Asked parse_asked(const Invocation& invocation) {
    const bson::Element first = invocation.first();
    Asked out;
    if (first.is_number()) {
        out.whole_database = true;
    } else if (first.is_object() && first.as_doc().has("forAllDBs")) {
        out.everywhere = true;
    } else if (first.is_array()) {
        for (const bson::Element& e : first.as_doc()) {
            sched::tick();
            out.users.push_back(auth::parse_name(e, invocation.db));
        }
    } else {
        out.users.push_back(auth::parse_name(first, invocation.db));
    }
    return out;
}

bson::Object shown_user(bson::Doc stored, const Invocation& invocation) {
    const bson::Doc body = invocation.body;
    const bool whole = body["showCredentials"].truthy();
    const bson::Element custom_data = invocation.field("showCustomData");
    const bool with_custom_data = custom_data.missing() || custom_data.truthy();
    bson::Builder out;
    for (const bson::Element& e : stored) {
        if (e.name() == "customData" && !with_custom_data) continue;
        if (e.name() != "credentials" || whole) out.append(e);
    }
    if (body["showPrivileges"].truthy()) {
        if (const auto user = auth::read_user(stored)) {
            bson::Builder privileges = out.sub_array("inheritedPrivileges");
            user->privileges().append_to(privileges);
        }
    }
    bson::Builder mechanisms = out.sub_array("mechanisms");
    auth::append_mechanisms(stored, mechanisms);
    mechanisms.finish();
    return out.object();
}

void run_users_info(Invocation& invocation) {
    check_fields(invocation);
    const Asked asked = parse_asked(invocation);
    const bson::Element filter = invocation.body["filter"];
    if (filter && !filter.is_object()) base::fail(base::kTypeMismatch, "filter must be a document");
    const RequestExpressions expressions(invocation);
    const auto matcher =
        query::Matcher::parse(filter ? filter.as_doc() : bson::Doc(), expressions.get());
    std::unordered_set<std::string> wanted_ids;
    for (const UserName& who : asked.users)
        wanted_ids.insert(who.id());
    std::vector<bson::Object> found;
    invocation.service.access_control().users.each([&](bson::Doc stored) {
        sched::tick(kTicksPerUser);
        const auto user = auth::read_user(stored);
        if (!user) return;
        const bool wanted = asked.everywhere ||
                            (asked.whole_database && user->who.db == invocation.db) ||
                            wanted_ids.contains(user->who.id());
        if (wanted) found.emplace_back(stored);
    });
    // Privileges and a filter may take long: the lock, which every login needs, is released.
    bson::Builder list = invocation.reply->sub_array("users");
    for (const bson::Object& stored : found) {
        sched::tick(kTicksPerUser);
        const bson::Object shown = shown_user(stored, invocation);
        if (matcher->matches(shown)) list.push(shown);
        if (list.size() > static_cast<size_t>(bson::kDocumentBytesMax))
            base::fail(base::kOperationFailed,
                       "the answer is larger than 16 MB; ask for fewer users");
    }
}

void append_role(const Role& role, bool with_privileges, bson::Builder& list) {
    bson::Builder entry = list.sub_object(list.next().view());
    entry.append("role", role.name).append("db", role.db).append("isBuiltin", true);
    entry.sub_array("roles").finish();
    entry.sub_array("inheritedRoles").finish();
    if (!with_privileges) return;
    for (const char* name : {"privileges", "inheritedPrivileges"}) {
        bson::Builder privileges = entry.sub_array(name);
        auth::privileges_of(role).append_to(privileges);
    }
}

// { rolesInfo: 1, showBuiltinRoles: true } lists all; a name, or names, those. If showBuiltinRoles
// is missing, there are none to list.
void run_roles_info(Invocation& invocation) {
    check_fields(invocation);
    const bool with_privileges = invocation.body["showPrivileges"].truthy();
    const bson::Element first = invocation.first();
    bson::Builder list = invocation.reply->sub_array("roles");
    if (first.is_number()) {
        if (!invocation.body["showBuiltinRoles"].truthy()) return;
        for (const std::string_view name : auth::role_names(invocation.db))
            append_role({std::string(name), std::string(invocation.db)}, with_privileges, list);
        return;
    }
    const auto add = [&](const bson::Element& e) {
        sched::tick(kTicksPerUser);
        Role role;
        if (e.is_string()) {
            role = {std::string(e.as_string()), std::string(invocation.db)};
        } else if (e.is_object() && e.as_doc()["role"].is_string() &&
                   e.as_doc()["db"].is_string()) {
            role = {std::string(e.as_doc()["role"].as_string()),
                    std::string(e.as_doc()["db"].as_string())};
        } else {
            base::fail(base::kBadValue, "a role must be a name, or a document {{ role, db }}");
        }
        if (auth::exists(role)) append_role(role, with_privileges, list);
    };
    if (!first.is_array()) return add(first);
    for (const bson::Element& e : first.as_doc())
        add(e);
}

// --- who may ---

// The database of each role that the field names; malformed ones are reported by the command
// itself.
bool may_on_roles(const Invocation& invocation, const Rights& rights, const bson::Element& list,
                  auth::Actions actions) {
    if (!list.is_array()) return true;
    for (const bson::Element& e : list.as_doc()) {
        sched::tick(kTicksPerRight);
        const bson::Element db = e.is_object() ? e.as_doc()["db"] : bson::Element();
        if (!rights.on(db.is_string() ? db.as_string() : invocation.db, "", actions)) return false;
    }
    return true;
}

// Commands about a user run in its database; { user, db } may name another.
std::string_view database_of(const Invocation& invocation) {
    const bson::Element first = invocation.first();
    const bson::Element db = first.is_object() ? first.as_doc()["db"] : bson::Element();
    return db.is_string() ? db.as_string() : invocation.db;
}

bool may_create_user(const Invocation& invocation, const Rights& rights) {
    if (rights.may_make_first_user()) return invocation.db == "admin";
    return rights.logged_in() && rights.on(invocation.db, "", auth::action::createUser) &&
           may_on_roles(invocation, rights, invocation.body["roles"], auth::action::grantRole);
}

// This revokes roles, too. REQUIRES: the right to grant and revoke them anywhere.
bool may_update_user(const Invocation& invocation, const Rights& rights) {
    const bson::Doc body = invocation.body;
    auth::Actions actions = 0;
    if (body["pwd"] || body["mechanisms"]) actions |= auth::action::changePassword;
    if (body["customData"]) actions |= auth::action::changeCustomData;
    if (body["roles"]) actions |= auth::action::revokeRole;
    const bool takes_roles = !body["roles"] || rights.anywhere(auth::action::revokeRole);
    return rights.logged_in() && rights.on(database_of(invocation), "", actions) && takes_roles &&
           may_on_roles(invocation, rights, body["roles"], auth::action::grantRole);
}

bool may_drop_user(const Invocation& invocation, const Rights& rights) {
    return rights.logged_in() && rights.on(database_of(invocation), "", auth::action::dropUser);
}

bool may_grant(const Invocation& invocation, const Rights& rights) {
    return rights.logged_in() &&
           may_on_roles(invocation, rights, invocation.body["roles"], auth::action::grantRole);
}

bool may_revoke(const Invocation& invocation, const Rights& rights) {
    return rights.logged_in() &&
           may_on_roles(invocation, rights, invocation.body["roles"], auth::action::revokeRole);
}

// A user may always see itself.
bool may_see_users(const Invocation& invocation, const Rights& rights) {
    using auth::action::viewUser;
    if (!rights.logged_in()) return false;
    const Asked asked = parse_asked(invocation);
    if (asked.everywhere) return rights.anywhere(viewUser);
    if (asked.whole_database) return rights.on(invocation.db, "", viewUser);
    const std::vector<auth::User>& own = invocation.client.login().users();
    const bool credentials = invocation.body["showCredentials"].truthy();
    return std::ranges::all_of(asked.users, [&](const UserName& who) {
        sched::tick(kTicksPerRight);
        const bool himself =
            std::ranges::find(own, who, &auth::User::who) != own.end() && !credentials;
        return himself || rights.on(who.db, "", viewUser);
    });
}

constexpr Field kUserFields[] = {
    {"pwd", types::string},
    {"roles", types::array},
    {"customData", types::object},
    {"digestPassword", types::boolean},
    {"passwordDigestor", types::string},
    {"mechanisms", types::array},
    {"authenticationRestrictions", types::array},
};
constexpr Field kRolesFields[] = {
    {"roles", types::array},
};
constexpr Field kUsersInfoFields[] = {
    {"showCredentials", types::flag},
    {"showPrivileges", types::flag},
    {"showCustomData", types::flag},
    {"filter", types::object},
    // No user has such restrictions here.
    without_effect("showAuthenticationRestrictions", types::flag, "3.6"),
};
constexpr Field kRolesInfoFields[] = {
    {"showPrivileges", types::flag},
    {"showBuiltinRoles", types::flag},
    without_effect("showAuthenticationRestrictions", types::flag, "3.6"),
};

constexpr Command kCommands[] = {
    {"createUser", "", kHidesBody, LockKind::write,
     "{ createUser: name, pwd, roles: [ name | { role, db } ], customData, mechanisms }",
     run_create_user, needs::decided(may_create_user), kUserFields},
    {"updateUser", "", kHidesBody, LockKind::write,
     "{ updateUser: name, pwd, roles, customData, mechanisms }: changes what is named",
     run_update_user, needs::decided(may_update_user), kUserFields},
    {"dropUser", "", kHidesBody, LockKind::write, "{ dropUser: name }", run_drop_user,
     needs::decided(may_drop_user)},
    {"dropAllUsersFromDatabase", "", 0, LockKind::write, "drop the users of this database",
     run_drop_all_users, needs::on_database(auth::action::dropUser)},
    {"grantRolesToUser", "", kHidesBody, LockKind::write,
     "{ grantRolesToUser: name, roles: [ ... ] }", run_grant_roles, needs::decided(may_grant),
     kRolesFields},
    {"revokeRolesFromUser", "", kHidesBody, LockKind::write,
     "{ revokeRolesFromUser: name, roles: [ ... ] }", run_revoke_roles, needs::decided(may_revoke),
     kRolesFields},
    {"invalidateUserCache", "", kAdminOnly, LockKind::none, "read the users anew",
     run_invalidate_cache, needs::on_cluster(auth::action::invalidateUserCache)},
    {"usersInfo", "", 0, LockKind::read,
     "{ usersInfo: 1 | name | { user, db } | [ ... ] | { forAllDBs: true } }", run_users_info,
     needs::decided(may_see_users), kUsersInfoFields},
    {"rolesInfo", "", 0, LockKind::none,
     "{ rolesInfo: 1 | name | { role, db } | [ ... ], showBuiltinRoles, showPrivileges }",
     run_roles_info, needs::login, kRolesInfoFields},
};

}  // namespace

Family user_commands() {
    return kCommands;
}

}  // namespace command
