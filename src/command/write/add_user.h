// command/write/add_user.h - how a user or a role comes to be: the document in admin.system.users
// or admin.system.roles, with the index and the note of the version that belong to the first one.
// Reading them is users.h.
#pragma once

#include "auth/user.h"
#include "bson/view.h"

namespace command {

class OperationContext;
class UserStore;

// Makes a user. `credentials` and what else the document has come from the caller: its fields after
// _id, user and db. `only_first`: throws base::Error 13 if there is one already. Throws base::Error
// 51003 if there is one of that name. Takes the lock on admin.
void add_user(OperationContext& context, UserStore& users, const auth::UserName& who,
              bson::Doc fields, bool only_first);

// Makes a role. Throws base::Error 51002 if there is one of that name, and for roles that it cannot
// have 31, 80, 81. Takes the lock on admin.
void add_role(OperationContext& context, UserStore& users, const auth::OwnRole& role);

}  // namespace command
