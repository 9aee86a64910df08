// usersInfo and rolesInfo: users and roles, shown (wire spec 6.4).
#include <algorithm>
#include <unordered_set>

#include "auth/user.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "command/commands/families.h"
#include "command/commands/request_expressions.h"
#include "command/commands/users.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "query/match/match_tree.h"
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

namespace {

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
        for (const bson::Element& e : sched::ticked(first.as_doc()))
            out.users.push_back(auth::parse_name(e, invocation.db));
    } else {
        out.users.push_back(auth::parse_name(first, invocation.db));
    }
    DCHECK(out.users.empty() || (!out.everywhere && !out.whole_database));
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
    check_user_fields(invocation);
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
    for (const bson::Object& stored : sched::ticked(found, kTicksPerUser)) {
        const bson::Object shown = shown_user(stored, invocation);
        if (matcher->matches(shown)) list.push(shown);
        if (list.size() > static_cast<size_t>(bson::kDocumentBytesMax))
            base::fail(base::kOperationFailed,
                       "the answer is larger than 16 MB; ask for fewer users");
    }
}

void append_role(const Role& role, bool with_privileges, bson::Builder& list) {
    DCHECK(auth::exists(role));
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
    check_user_fields(invocation);
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
    {"usersInfo", "", 0, LockKind::read,
     "{ usersInfo: 1 | name | { user, db } | [ ... ] | { forAllDBs: true } }", run_users_info,
     needs::decided(may_see_users), kUsersInfoFields},
    {"rolesInfo", "", 0, LockKind::none,
     "{ rolesInfo: 1 | name | { role, db } | [ ... ], showBuiltinRoles, showPrivileges }",
     run_roles_info, needs::login, kRolesInfoFields},
};

}  // namespace

Family user_info_commands() {
    return kCommands;
}

}  // namespace command
