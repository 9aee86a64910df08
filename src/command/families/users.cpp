// Users and roles: there are none yet, and clients may ask (wire spec 6.4).
#include "command/families/families.h"
#include "command/invocation.h"

namespace command {

namespace {

void run_users_info(Invocation& invocation) {
    invocation.reply->sub_array("users").finish();
}

void run_roles_info(Invocation& invocation) {
    invocation.reply->sub_array("roles").finish();
}

constexpr Command kCommands[] = {
    {"usersInfo", "", 0, LockKind::none, "the users of this database; there are none",
     run_users_info},
    {"rolesInfo", "", 0, LockKind::none, "the roles of this database; there are none",
     run_roles_info},
};

}  // namespace

Family user_commands() {
    return kCommands;
}

}  // namespace command
