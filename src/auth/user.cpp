#include "auth/user.h"

#include <algorithm>

#include "auth/crypto.h"
#include "base/error.h"
#include "base/utf8.h"
#include "sched/tick.h"

namespace auth {

namespace {

// The server sends it to any client that begins to log in.
constexpr size_t kSaltBytesMax = 1024;

std::string base64_of(const bson::Element& e) {
    return e.is_string() ? from_base64(e.as_string()).value_or("") : "";
}

std::optional<Credential> read_credential(const bson::Element& stored, Mechanism mechanism) {
    if (!stored.is_object()) return std::nullopt;
    const bson::Doc fields = stored.as_doc();
    Credential out;
    out.iterations = fields["iterationCount"].to_int32();
    out.salt = base64_of(fields["salt"]);
    out.stored_key = base64_of(fields["storedKey"]);
    out.server_key = base64_of(fields["serverKey"]);
    const size_t key_size = size_of(mechanism == Mechanism::sha1 ? Digest::sha1 : Digest::sha256);
    const bool valid = out.iterations >= kLeastIterations && !out.salt.empty() &&
                       out.salt.size() <= kSaltBytesMax && out.stored_key.size() == key_size &&
                       out.server_key.size() == key_size;
    return valid ? std::optional(out) : std::nullopt;
}

}  // namespace

std::array<uint8_t, 32> UserName::digest() const {
    std::array<uint8_t, 32> out{};
    std::ranges::copy(hash(Digest::sha256, id()), out.begin());
    return out;
}

UserName member_name() {
    return {kMemberRole.name, "local"};
}

User member_user(const std::string& key) {
    User user;
    user.who = member_name();
    user.roles = {kMemberRole};
    user.granted = granted_by(user.roles, nullptr);
    for (const Mechanism mechanism : kMechanisms)
        user.credentials[static_cast<size_t>(mechanism)] =
            make_credential(mechanism, user.who.name, Password{key});
    return user;
}

std::optional<User> read_user(bson::Doc document) {
    const bson::Element name = document["user"];
    const bson::Element db = document["db"];
    if (!name.is_string() || !db.is_string()) return std::nullopt;
    User out;
    out.who = {std::string(name.as_string()), std::string(db.as_string())};
    const bson::Element credentials = document["credentials"];
    for (const Mechanism mechanism : kMechanisms) {
        if (credentials.is_object())
            out.credentials[static_cast<size_t>(mechanism)] =
                read_credential(credentials.as_doc()[name_of(mechanism)], mechanism);
    }
    out.roles = read_roles(document["roles"]);
    return out;
}

void append_credential(Mechanism mechanism, const Credential& credential, bson::Builder& out) {
    bson::Builder fields = out.sub_object(name_of(mechanism));
    fields.append("iterationCount", credential.iterations)
        .append("salt", to_base64(credential.salt))
        .append("storedKey", to_base64(credential.stored_key))
        .append("serverKey", to_base64(credential.server_key));
}

void append_mechanisms(bson::Doc document, bson::Builder& array) {
    const bson::Element credentials = document["credentials"];
    if (!credentials.is_object()) return;
    for (const bson::Element& e : credentials.as_doc())
        array.push(e.name());
}

std::vector<Mechanism> parse_mechanisms(const bson::Element& list, bool is_digested) {
    if (list.missing()) {
        if (is_digested) return {Mechanism::sha1};
        return {std::begin(kMechanisms), std::end(kMechanisms)};
    }
    if (!list.is_array()) base::fail(base::kTypeMismatch, "mechanisms must be an array");
    if (list.as_doc().empty())
        base::fail(base::kBadValue, "mechanisms must name one at least, or be left out");
    std::vector<Mechanism> out;
    for (const bson::Element& e : list.as_doc()) {
        const auto mechanism = e.is_string() ? find_mechanism(e.as_string()) : std::nullopt;
        if (!mechanism)
            base::fail(base::kBadValue, "the mechanisms are SCRAM-SHA-1 and SCRAM-SHA-256");
        if (std::ranges::find(out, *mechanism) == out.end()) out.push_back(*mechanism);
    }
    return out;
}

UserName parse_new_name(const bson::Element& name, std::string_view db) {
    UserName out{checked_name(name, "the name of a user"), std::string(db)};
    // Otherwise a list that contains it would be unreadable.
    if (!base::is_utf8(out.name)) base::fail(base::kBadValue, "the name of a user must be UTF-8");
    if (db == "local" || db == "$external")
        base::fail(base::kBadValue, "the database {} cannot have users", db);
    return out;
}

UserName parse_name(const bson::Element& name, std::string_view db) {
    if (!name.is_object()) return {checked_name(name, "the name of a user"), std::string(db)};
    UserName out{checked_name(name.as_doc()["user"], "the name of a user"),
                 checked_name(name.as_doc()["db"], "the database of a user")};
    // A user b.c of a has the same id as one c of a.b would.
    if (out.db.find('.') != std::string::npos)
        base::fail(base::kBadValue, "{} is no name of a database", out.db);
    return out;
}

}  // namespace auth
