#include "command/write/add_user.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "command/access/users.h"
#include "command/context/locks.h"
#include "command/write/write_ops.h"

namespace command {

namespace {

constexpr int kUserExists = 51003;

// Makes the index that the old server made beside the index on _id.
void make_name_index(CollectionLock& lock) {
    bson::Builder spec;
    spec.append("key", bson::make("user", 1, "db", 1))
        .append("unique", true)
        .append("name", "user_1_db_1");
    catalog::Collection& users = lock.make();
    lock.database()->create_index(users, spec.doc());
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
        is_new = lock.collection() == nullptr;
        if (only_first && !is_new && lock.collection()->records().count() > 0)
            base::fail(base::kUnauthorized, "there is a first user by now: log in as that one");
        if (is_new) make_name_index(lock);
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

}  // namespace command
