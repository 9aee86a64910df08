// auth/user.h - users as documents of admin.system.users, in the form of the old server's schema
// version 3:
//
//     { _id: "db.name", user: "name", db: "db",
//       credentials: { "SCRAM-SHA-1": { iterationCount, salt, storedKey, serverKey }, ... },
//       roles: [ { role, db }, ... ], customData: { ... } }
//
// salt and keys are base64. Credentials of other kinds (MONGODB-CR) are kept, but cannot be used to
// log in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/own_role.h"
#include "auth/roles.h"
#include "auth/scram.h"
#include "bson/builder.h"

namespace auth {

constexpr std::string_view kAdmin = "admin";  // the database of all of them
constexpr std::string_view kUsers = "admin.system.users";
constexpr std::string_view kVersions = "admin.system.version";
constexpr int kSchemaVersion = 3;

// A user's name, and the database that defines it.
struct UserName {
    std::string name;
    std::string db;
    // The _id of the document, so that no two users share it.
    std::string id() const { return db + "." + name; }
    // Its SHA-256, which names the owner of a session.
    std::array<uint8_t, 32> digest() const;
    // "name@db", for people: a user a@b of c reads like a user a of b@c.
    std::string text() const { return name + "@" + db; }
    bool operator==(const UserName&) const = default;
};

struct User {
    UserName who;
    std::array<std::optional<Credential>, std::size(kMechanisms)> credentials;
    std::vector<Role> roles;
    Granted granted;  // by these; who has found the document fills it in

    const std::optional<Credential>& credential(Mechanism mechanism) const {
        return credentials[static_cast<size_t>(mechanism)];
    }
};

// The name by which members of a set log in to each other. The key that they share stands for its
// password (--keyFile), and it has no document.
UserName member_name();
User member_user(const std::string& key);

// Returns the user that a stored document describes. Returns nothing if it is no user's; a
// credential that is damaged, or weaker than kLeastIterations, is left out, and so are roles
// without name or database.
std::optional<User> read_user(bson::Doc document);

// { "SCRAM-SHA-1": { ... }, ... }
void append_credential(Mechanism mechanism, const Credential& credential, bson::Builder& out);
// The names of mechanisms of a user's document, elements of an open array.
void append_mechanisms(bson::Doc document, bson::Builder& array);

// Arguments of commands; each throws base::Error 2, 9 or 14 that names what is wrong.
//
// mechanisms: [ ... ]; missing: all, or SCRAM-SHA-1 alone for a digested password.
std::vector<Mechanism> parse_mechanisms(const bson::Element& list, bool is_digested);
// A new user's name.
UserName parse_new_name(const bson::Element& name, std::string_view db);
// An existing one's: "name", or { user, db }.
UserName parse_name(const bson::Element& name, std::string_view db);

}  // namespace auth
