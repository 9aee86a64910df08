#include "command/write/add_user.h"

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/access/users.h"
#include "command/context/locks.h"
#include "command/write/write_ops.h"

namespace command {

namespace {

constexpr int kRoleExists = 51002;
constexpr int kUserExists = 51003;

// Makes the index that the old server made beside the index on _id. `field`: of the name.
void make_name_index(CollectionLock& lock, std::string_view field) {
    bson::Builder spec;
    spec.append("key", bson::make(field, 1, "db", 1))
        .append("unique", true)
        .append("name", fmt::format("{}_1_db_1", field));
    catalog::Collection& collection = lock.make();
    lock.database()->create_index(collection, spec.doc());
}

void note_schema(OperationContext& context) {
    const bson::Object query = bson::make("_id", "authSchema");
    const bson::Object change =
        bson::make("$set", bson::make("currentVersion", auth::kSchemaVersion));
    UpdateRequest request;
    request.query = query;
    request.update = change;
    request.upsert = true;
    update_documents(context, auth::kVersions, request);
}

}  // namespace

void add_user(OperationContext& context, UserStore& users, const auth::UserName& who,
              bson::Doc fields, bool only_first) {
    DCHECK(!fields.has("_id") && !fields.has("user") && !fields.has("db"));
    bson::Builder document;
    document.append("_id", who.id()).append("user", who.name).append("db", who.db);
    document.append_all(fields);
    const bson::Doc doc = document.doc();
    bool is_new = false;
    {
        CollectionLock lock(context, auth::kUsers, true);
        auth::check_exist(auth::read_roles(doc["roles"]), users.role_finder());
        is_new = lock.collection() == nullptr;
        if (only_first && !is_new && lock.collection()->records().count() > 0)
            base::fail(base::kUnauthorized, "there is a first user by now: log in as that one");
        if (is_new) make_name_index(lock, "user");
        bson::Buffer scratch;
        try {
            insert_document(lock, doc, scratch);
        } catch (const base::Error& e) {
            if (e.code() != base::kDuplicateKey) throw;
            base::fail(kUserExists, "User \"{}\" already exists", who.text());
        }
        users.added();
    }
    if (is_new) note_schema(context);
}

void add_role(OperationContext& context, UserStore& users, const auth::OwnRole& role) {
    bson::Builder document;
    document.append("_id", auth::id_of(role.who))
        .append("role", role.who.name)
        .append("db", role.who.db);
    auth::append_rights(role, document);
    bool is_new = false;
    {
        CollectionLock lock(context, auth::kRoles, true);
        const auth::FindRole find = users.role_finder();
        auth::check_exist(role.roles, find);
        auth::check_no_cycle(role.who, role.roles, find);
        is_new = lock.collection() == nullptr;
        if (is_new) make_name_index(lock, "role");
        bson::Buffer scratch;
        try {
            insert_document(lock, document.doc(), scratch);
        } catch (const base::Error& e) {
            if (e.code() != base::kDuplicateKey) throw;
            base::fail(kRoleExists, "Role \"{}\" already exists", role.who.text());
        }
        users.changed();
    }
    if (is_new) note_schema(context);
}

}  // namespace command
