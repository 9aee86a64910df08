// auth/roles.h - roles: names for what people of one kind of job may do, and what those mean that
// are built in. auth/own_role.h has the others.
#pragma once

#include <compare>
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
    auto operator<=>(const Role&) const = default;
    // "name@db", for people.
    std::string text() const { return name + "@" + db; }
};

// The role of members of a set towards each other, who may do everything. No user can be given it,
// so that it is none of the names below.
inline const Role kMemberRole{"__system", "admin"};

// The names of a database's roles; admin has more than others.
std::span<const std::string_view> role_names(std::string_view db);
bool is_built_in(const Role& role);
// Returns what such a role gives; nothing for another one. It knows kMemberRole too.
Privileges privileges_of(const Role& role);

}  // namespace auth
