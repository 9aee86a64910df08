// auth/own_role.h - roles of one's own, as documents of admin.system.roles, in the form of the old
// server:
//
//     { _id: "db.role", role: "role", db: "db",
//       privileges: [ { resource, actions: [ name, ... ] }, ... ], roles: [ { role, db }, ... ] }
//
// A role gives its privileges and those of its roles, which are built in or its likes; each counts
// once, so that a cycle, which commands do not make, ends.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/roles.h"
#include "bson/builder.h"

namespace auth {

constexpr std::string_view kRoles = "admin.system.roles";

// The most roles that a user or a role may have, and inherit. If stored documents have more, the
// others give nothing: what they allow is worked out at each login.
constexpr size_t kRolesMax = 1000;
// The most resources that a role may name.
constexpr size_t kPrivilegesMax = 1000;

struct OwnRole {
    Role who;
    Privileges privileges;
    std::vector<Role> roles;
};

// The _id of its document.
std::string id_of(const Role& role);
// Throws base::Error 81 for a document that is none of a role. Actions that no server has are left
// out.
OwnRole read_role(bson::Doc document);
// The fields that a command can change: privileges, roles.
void append_rights(const OwnRole& role, bson::Builder& out);

// Returns a role of one's own; nothing: there is none. It may throw base::Error 81.
using FindRole = std::function<std::optional<OwnRole>(const Role&)>;

// The roles and privileges that roles give.
struct Granted {
    std::vector<Role> roles;  // they themselves, and those that they inherit, each once
    Privileges privileges;
};

// One that is not there, or damaged, gives nothing. `find` may be null.
Granted granted_by(const std::vector<Role>& roles, const FindRole& find);

// { role, db } of each, elements of an open array.
void append_roles(const std::vector<Role>& roles, bson::Builder& array);
// Returns what a stored array names; elements without name or database are left out.
std::vector<Role> read_roles(const bson::Element& stored);

// Arguments of commands; each throws base::Error 2, 9 or 14 that names what is wrong. What they
// name need not be there.
//
// The name of a user, a role or a database.
std::string checked_name(const bson::Element& e, std::string_view what);
// "name", of the database the command runs on.
Role parse_role_name(const bson::Element& e, std::string_view db);
// The same, of one to be made.
Role parse_new_role_name(const bson::Element& e, std::string_view db);
// "name", or { role, db }, of each element.
std::vector<Role> parse_roles(const bson::Element& list, std::string_view db);
// Throws base::Error 2 beyond kRolesMax.
void check_role_count(size_t count);
// Reads a list of {resource, actions}. Throws base::Error 2 beyond kPrivilegesMax too.
Privileges parse_privileges(const bson::Element& list);
void check_privilege_count(size_t count);

// Throws base::Error 80 for what a role may not give: one of another database than admin gives
// nothing outside of its own.
void check_stays_inside(const OwnRole& role);
// Throws base::Error 31 for a role that is not there, 81 for one that is damaged.
void check_exist(const std::vector<Role>& roles, const FindRole& find);
// Throws base::Error 80 where one of `roles` is `who`, or inherits it.
void check_no_cycle(const Role& who, const std::vector<Role>& roles, const FindRole& find);

}  // namespace auth
