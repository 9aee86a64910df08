// auth/roles.h - the roles there are: names for what people of one kind of job may do. Every role
// is built in; there are no others.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "auth/privileges.h"

namespace auth {

// A role of a database. Roles for the whole server are those of admin.
struct Role {
    std::string name;
    std::string db;
    bool operator==(const Role&) const = default;
};

// The role of members of a set towards each other, who may do everything. No user can be given it,
// so that it is none of the names below.
inline const Role kMemberRole{"__system", "admin"};

// The names of a database's roles; admin has more than others.
std::span<const std::string_view> role_names(std::string_view db);
bool exists(const Role& role);
// Returns what the role gives; nothing where it does not exist. It knows kMemberRole too.
Privileges privileges_of(const Role& role);

}  // namespace auth
