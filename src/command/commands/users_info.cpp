// usersInfo: users, shown (wire spec 6.4).
#include <algorithm>
#include <unordered_set>

#include "auth/user.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "command/commands/families.h"
#include "command/commands/request_expressions.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "command/users/users.h"
#include "query/match/match_tree.h"
#include "sched/tick.h"

namespace command {

namespace {

using auth::UserName;

// The ticks for showing a user (sched/tick.h).
constexpr int64_t kTicksPerUser = 64;
// The cost of one authorization check.
constexpr int64_t kTicksPerRight = 4;

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
            const auth::Granted granted =
                invocation.service.access_control().users.granted(user->roles);
            {
                bson::Builder roles = out.sub_array("inheritedRoles");
                auth::append_roles(granted.roles, roles);
            }
            bson::Builder privileges = out.sub_array("inheritedPrivileges");
            granted.privileges.append_to(privileges);
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
constexpr Command kCommands[] = {
    {"usersInfo", "", 0, LockKind::read,
     "{ usersInfo: 1 | name | { user, db } | [ ... ] | { forAllDBs: true } }", run_users_info,
     needs::decided(may_see_users), kUsersInfoFields},
};

}  // namespace

Family user_info_commands() {
    return kCommands;
}

}  // namespace command
