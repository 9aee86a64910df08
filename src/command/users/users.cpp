// Users: made, changed, given roles (wire spec 6.4).
#include <algorithm>
#include <unordered_set>

#include "auth/user.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/texts.h"
#include "command/context/locks.h"
#include "command/cursor/session_ends.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "command/users/users.h"
#include "command/write/add_user.h"
#include "query/match/match_tree.h"
#include "sched/tick.h"

namespace command {

namespace {

using auth::Role;
using auth::UserName;

// createUser and updateUser: the fields that make or change a user.
struct UserFields {
    std::optional<auth::Password> password;
    std::vector<auth::Mechanism> mechanisms;
    std::optional<std::vector<Role>> roles;
    bson::Element custom_data;
};

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
    check_user_fields(invocation);
    const bson::Doc body = invocation.body;
    UserFields out;
    const GivenRights given(invocation);
    given.refuse_restrictions();
    const bson::Element pwd = body["pwd"];
    if (pwd) {
        if (!pwd.is_string()) base::fail(base::kTypeMismatch, "pwd must be a string");
        if (pwd.as_string().empty()) base::fail(base::kBadValue, "Password cannot be empty");
        out.password = {std::string(pwd.as_string()), is_digested(body)};
        out.mechanisms = auth::parse_mechanisms(body["mechanisms"], out.password->is_digested);
    } else if (body["mechanisms"] || body["digestPassword"]) {
        base::fail(base::kBadValue, "mechanisms and digestPassword need a pwd beside them");
    }
    if (given.roles) out.roles = parse_given_roles(invocation);
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
    DCHECK(fields.password.has_value() && !fields.mechanisms.empty());
    const UserStore::Hashing hashing(invocation.service.access_control().users);
    if (!hashing.may_begin()) {
        invocation.wait_for_turn();
        return false;
    }
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
        const storage::RecordId id = find_document(lock, who.id());
        if (!id) base::fail(base::kUserNotFound, "User {} not found", who.text());
        bson::Builder document;
        change(users->records().get(id), document);
        const bson::Doc doc = document.doc();
        DCHECK(doc.has("_id"));
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
    check_user_fields(invocation);
    const UserName who = auth::parse_name(invocation.first(), invocation.db);
    {
        CollectionLock lock(invocation.client, auth::kUsers, true);
        catalog::Collection* users = lock.collection();
        const storage::RecordId id = find_document(lock, who.id());
        if (!id) base::fail(base::kUserNotFound, "User {} not found", who.text());
        users->remove(id);
    }
    invocation.service.access_control().users.dropped(who);
    invocation.service.session_ends().end({.owners = {who.digest()}});
    base::log::info("user {} dropped", who.text());
    make_durable(invocation);
}

void run_drop_all_users(Invocation& invocation) {
    check_user_fields(invocation);
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
        DCHECK(!sessions.all && sessions.owners.size() <= doomed.size());
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
    check_user_fields(invocation);
    const UserName who = auth::parse_name(invocation.first(), invocation.db);
    const std::vector<Role> named = parse_given_roles(invocation);
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

// --- who may ---

// Commands about a user run in its database; { user, db } may name another.
std::string_view database_of(const Invocation& invocation) {
    const bson::Element first = invocation.first();
    const bson::Element db = first.is_object() ? first.as_doc()["db"] : bson::Element();
    return db.is_string() ? db.as_string() : invocation.db;
}

bool may_create_user(const Invocation& invocation, const Rights& rights) {
    if (rights.may_make_first_user()) return invocation.db == "admin";
    return rights.logged_in() && rights.on(invocation.db, "", auth::action::createUser) &&
           may_on_roles(invocation, rights, auth::action::grantRole);
}

// Whether the command is about a user who has logged in here.
bool is_himself(const Invocation& invocation) {
    const bson::Element first = invocation.first();
    const bson::Element name = first.is_object() ? first.as_doc()["user"] : first;
    if (!name.is_string()) return false;
    const UserName who{std::string(name.as_string()), std::string(database_of(invocation))};
    return std::ranges::any_of(invocation.client.login().users(),
                               [&who](const auth::User& user) { return user.who == who; });
}

// This revokes roles, too. REQUIRES: the right to grant and revoke them anywhere.
bool may_update_user(const Invocation& invocation, const Rights& rights) {
    const bson::Doc body = invocation.body;
    if (!rights.logged_in()) return false;
    const std::string_view db = database_of(invocation);
    const auto may = [&](auth::Actions of_any, auth::Actions of_own) {
        return rights.on(db, "", of_any) || (is_himself(invocation) && rights.on(db, "", of_own));
    };
    if ((body["pwd"] || body["mechanisms"]) &&
        !may(auth::action::changePassword, auth::action::changeOwnPassword))
        return false;
    if (body["customData"] &&
        !may(auth::action::changeCustomData, auth::action::changeOwnCustomData))
        return false;
    return !GivenRights(invocation).roles ||
           (rights.anywhere(auth::action::revokeRole) &&
            may_on_roles(invocation, rights, auth::action::grantRole));
}

bool may_drop_user(const Invocation& invocation, const Rights& rights) {
    return rights.logged_in() && rights.on(database_of(invocation), "", auth::action::dropUser);
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
     "{ grantRolesToUser: name, roles: [ ... ] }", run_grant_roles, needs::decided(may_grant_roles),
     kRolesFields},
    {"revokeRolesFromUser", "", kHidesBody, LockKind::write,
     "{ revokeRolesFromUser: name, roles: [ ... ] }", run_revoke_roles,
     needs::decided(may_revoke_roles), kRolesFields},
    {"invalidateUserCache", "", kAdminOnly, LockKind::none, "read the users anew",
     run_invalidate_cache, needs::on_cluster(auth::action::invalidateUserCache)},
};

}  // namespace

Family user_commands() {
    return kCommands;
}

}  // namespace command
