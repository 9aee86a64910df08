#include "auth/own_role.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/utf8.h"
#include "sched/tick.h"

namespace auth {

namespace {

constexpr size_t kNameBytesMax = 512;
// The ticks for examining a role (sched/tick.h).
constexpr int64_t kTicksPerRole = 4;

Role parse_role(const bson::Element& e, std::string_view db) {
    if (e.is_string()) return {checked_name(e, "the name of a role"), std::string(db)};
    if (!e.is_object())
        base::fail(base::kTypeMismatch, "a role must be a name, or a document {{ role, db }}");
    for (const bson::Element& field : e.as_doc()) {
        if (field.name() != "role" && field.name() != "db")
            base::fail(base::kBadValue, "a role has the fields role and db, not '{}'",
                       field.name());
    }
    return {checked_name(e.as_doc()["role"], "the name of a role"),
            checked_name(e.as_doc()["db"], "the database of a role")};
}

// Visits the roles and those that they inherit, each once, up to kRolesMax. `own`: what one of
// one's own is.
void visit_inherited(const std::vector<Role>& roles, const FindRole& find,
                     const std::function<void(const Role&, const OwnRole* own)>& visit) {
    std::set<Role> seen;
    const auto is_new =
        sched::ticking([&seen](const Role& role) { return seen.insert(role).second; });
    std::vector<Role> open(roles.rbegin(), roles.rend());
    while (!open.empty() && seen.size() < kRolesMax) {
        const Role role = std::move(open.back());
        open.pop_back();
        if (!is_new(role)) continue;
        std::optional<OwnRole> own;
        if (find && !is_built_in(role)) {
            try {
                own = find(role);
            } catch (const base::Error& error) {
                if (error.code() != base::kRoleDataInconsistent) throw;
                base::log::warning("{}; it gives nothing", error.what());
            }
        }
        visit(role, own ? &*own : nullptr);
        if (own) open.insert(open.end(), own->roles.rbegin(), own->roles.rend());
    }
}

}  // namespace

std::string id_of(const Role& role) {
    return role.db + "." + role.name;
}

OwnRole read_role(bson::Doc document) {
    const bson::Element id = document["_id"];
    const auto damaged = [&id](std::string_view what) {
        base::fail(base::kRoleDataInconsistent,
                   "the document of role {} in {} is damaged: {}; drop the role, or repair the "
                   "document while the server runs without --auth",
                   id.is_string() ? id.as_string() : "without a name", kRoles, what);
    };
    const bson::Element name = document["role"], db = document["db"];
    const bson::Element privileges = document["privileges"], roles = document["roles"];
    if (!name.is_string() || !db.is_string()) damaged("role and db must be texts");
    OwnRole out;
    out.who = {std::string(name.as_string()), std::string(db.as_string())};
    if (!id.is_string() || id.as_string() != id_of(out.who)) damaged("_id must be \"db.role\"");
    if (!privileges.is_array()) damaged("privileges must be an array");
    if (!roles.is_array()) damaged("roles must be an array");
    for (const bson::Element& e : privileges.as_doc()) {
        try {
            const Privilege read = parse_privilege(e, true);
            out.privileges.add(read.resource, read.actions);
        } catch (const base::Error& error) {
            if (error.code() != base::kBadValue && error.code() != base::kFailedToParse &&
                error.code() != base::kTypeMismatch)
                throw;
            damaged(error.what());
        }
    }
    out.roles = read_roles(roles);
    if (static_cast<int64_t>(out.roles.size()) != roles.as_doc().field_count())
        damaged("each of its roles must be { role, db }");
    if (out.privileges.list().size() > kPrivilegesMax) damaged("it names too many resources");
    return out;
}

void append_rights(const OwnRole& role, bson::Builder& out) {
    {
        bson::Builder privileges = out.sub_array("privileges");
        role.privileges.append_to(privileges);
    }
    bson::Builder roles = out.sub_array("roles");
    append_roles(role.roles, roles);
}

Granted granted_by(const std::vector<Role>& roles, const FindRole& find) {
    Granted out;
    visit_inherited(roles, find, [&](const Role& role, const OwnRole* own) {
        // No document gives what members of a set have.
        if (find && role == kMemberRole) return;
        out.roles.push_back(role);
        out.privileges.add(own == nullptr ? privileges_of(role) : own->privileges);
    });
    return out;
}

void append_roles(const std::vector<Role>& roles, bson::Builder& array) {
    for (const Role& role : roles)
        array.push(bson::make("role", role.name, "db", role.db));
}

std::vector<Role> read_roles(const bson::Element& stored) {
    std::vector<Role> out;
    if (!stored.is_array()) return out;
    for (const bson::Element& e : stored.as_doc()) {
        if (out.size() == kRolesMax) break;
        if (!e.is_object()) continue;
        const bson::Element name = e.as_doc()["role"];
        const bson::Element db = e.as_doc()["db"];
        if (name.is_string() && db.is_string())
            out.push_back({std::string(name.as_string()), std::string(db.as_string())});
    }
    return out;
}

std::string checked_name(const bson::Element& e, std::string_view what) {
    if (!e.is_string()) base::fail(base::kTypeMismatch, "{} must be a string", what);
    if (e.as_string().empty() || e.as_string().find('\0') != std::string_view::npos)
        base::fail(base::kBadValue, "{} must not be empty, nor contain NUL", what);
    if (e.as_string().size() > kNameBytesMax)
        base::fail(base::kBadValue, "{} must not be longer than {} bytes", what, kNameBytesMax);
    return std::string(e.as_string());
}

Role parse_role_name(const bson::Element& e, std::string_view db) {
    return {checked_name(e, "the name of a role"), std::string(db)};
}

Role parse_new_role_name(const bson::Element& e, std::string_view db) {
    Role out = parse_role_name(e, db);
    if (!base::is_utf8(out.name)) base::fail(base::kBadValue, "the name of a role must be UTF-8");
    if (db == "local" || db == "$external")
        base::fail(base::kBadValue, "Cannot create roles in the {} database", db);
    if (is_built_in(out) || out.name == kMemberRole.name)
        base::fail(base::kBadValue, "Cannot create roles with the same name as a built-in role");
    return out;
}

std::vector<Role> parse_roles(const bson::Element& list, std::string_view db) {
    if (!list.is_array()) base::fail(base::kTypeMismatch, "roles must be an array");
    std::vector<Role> out;
    for (const bson::Element& e : sched::ticked(list.as_doc(), kTicksPerRole)) {
        Role role = parse_role(e, db);
        if (std::ranges::find(out, role) == out.end()) out.push_back(std::move(role));
        check_role_count(out.size());
    }
    return out;
}

void check_role_count(size_t count) {
    if (count > kRolesMax)
        base::fail(base::kBadValue, "no user and no role can have more than {} roles", kRolesMax);
}

Privileges parse_privileges(const bson::Element& list) {
    if (!list.is_array()) base::fail(base::kTypeMismatch, "privileges must be an array");
    Privileges out;
    for (const bson::Element& e : list.as_doc()) {
        const Privilege parsed = parse_privilege(e);
        out.add(parsed.resource, parsed.actions);
        check_privilege_count(out.list().size());
    }
    return out;
}

void check_privilege_count(size_t count) {
    if (count > kPrivilegesMax)
        base::fail(base::kBadValue, "a role cannot name more than {} resources", kPrivilegesMax);
}

void check_stays_inside(const OwnRole& role) {
    if (role.who.db == "admin") return;
    for (const Privilege& privilege : role.privileges.list())
        if (privilege.resource.db != role.who.db)
            base::fail(base::kInvalidRoleModification,
                       "Roles on the '{}' database cannot be granted privileges that target other "
                       "databases or the cluster",
                       role.who.db);
    for (const Role& given : role.roles)
        if (given.db != role.who.db)
            base::fail(base::kInvalidRoleModification,
                       "Roles on the '{}' database cannot be granted roles from other databases",
                       role.who.db);
}

void check_exist(const std::vector<Role>& roles, const FindRole& find) {
    for (const Role& role : roles)
        if (!is_built_in(role) && !find(role))
            base::fail(base::kRoleNotFound, "No role named {}", role.text());
}

void check_no_cycle(const Role& who, const std::vector<Role>& roles, const FindRole& find) {
    for (const Role& given : roles) {
        if (given == who)
            base::fail(base::kInvalidRoleModification, "Cannot grant role {} to itself.",
                       who.text());
        visit_inherited({given}, find, [&](const Role& inherited, const OwnRole*) {
            if (inherited == who)
                base::fail(base::kInvalidRoleModification,
                           "Granting {} to {} would introduce a cycle in the role graph.",
                           given.text(), who.text());
        });
    }
}

}  // namespace auth
