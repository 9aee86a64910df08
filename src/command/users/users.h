// command/users/users.h - the commands that make and change users and roles, and what they check
// and do alike.
#pragma once

#include <string>
#include <vector>

#include "auth/user.h"
#include "bson/builder.h"
#include "command/context/locks.h"
#include "command/request/authorization.h"
#include "command/request/command.h"
#include "command/request/invocation.h"

namespace command {

// Each is defined by the file of that name.
Family user_commands();
Family role_commands();

// The fields that give rights, as they came: the commands, and who decides whether they may run,
// look at the same ones.
class GivenRights {
  public:
    explicit GivenRights(const Invocation& invocation);

    const bson::Element privileges, roles;
    // Throws base::Error 2 where the client may come from some addresses only.
    void refuse_restrictions() const;

  private:
    const bson::Element restrictions_;
};

// Refuses fields that the command does not know, by the old messages too. Throws base::Error 2.
void check_user_fields(const Invocation& invocation);

// Returns what the field `roles` names. Throws base::Error 31, 81 where one is not there, or
// damaged, and what auth::parse_roles does.
std::vector<auth::Role> parse_given_roles(const Invocation& invocation);

// Returns the document of the user or role with that _id; none: there is no such document.
storage::RecordId find_document(const CollectionLock& lock, const std::string& id);

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
