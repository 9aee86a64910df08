// command/commands/users.h - checked alike by all commands about users and roles, and done alike.
#pragma once

#include <vector>

#include "auth/user.h"
#include "bson/builder.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"

namespace command {

// Refuses fields that the command does not know, by the old messages too. Throws base::Error 2.
void check_user_fields(const Invocation& invocation);

// Returns what the field `roles` names. Throws base::Error 31, 81 where one is not there, or
// damaged, and what auth::parse_roles does.
std::vector<auth::Role> parse_given_roles(const Invocation& invocation);

// Appends each field of `old`, with the value of `fresh` where that has one, and then the other
// fields of `fresh`.
void append_replaced(bson::Doc old, bson::Doc fresh, bson::Builder& out);

// A change that was acknowledged and lost could make a revoked right valid again.
void make_durable(Invocation& invocation);

// Whether the client may do this on the database of each role that the field `roles` names;
// malformed ones are reported by the command itself.
bool may_on_roles(const Invocation& invocation, const Rights& rights, auth::Actions actions);
bool may_grant_roles(const Invocation& invocation, const Rights& rights);
bool may_revoke_roles(const Invocation& invocation, const Rights& rights);

}  // namespace command
