#include "command/request/authorization.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/json.h"
#include "catalog/catalog.h"
#include "catalog/names.h"
#include "command/access/local_rule.h"
#include "command/context/client.h"
#include "command/cursor/cursors.h"
#include "command/observe/op_report.h"
#include "command/observe/secrets.h"
#include "command/request/secret_commands.h"
#include "options/security.h"
#include "storage/lock.h"

namespace command {

namespace {

constexpr int64_t kShownBytes = 512;

std::string_view collection_of(const Invocation& invocation) {
    const bson::Element target = invocation.first();
    if (!target.is_string()) return {};
    return catalog::until_nul(target.as_string());
}

// Returns the part of a request that an error text names as refused.
std::string shown(const Invocation& invocation, const Command& command) {
    if (holds_secrets(invocation, command))
        return bson::to_text(first_field(invocation.body).doc());
    return bson::to_text(shown_request(invocation.body, kShownBytes).doc());
}

// Users and roles are changed by their commands, which announce it, whatever a role of one's own
// says.
bool is_changed_by_commands(std::string_view db, std::string_view collection,
                            auth::Actions actions) {
    return db == auth::kAdmin && (collection == "system.users" || collection == "system.roles") &&
           (actions & ~auth::kReadCatalogue) != 0;
}

// A stream over all databases is one of admin, where there is none else.
bool may_follow_on(const CursorManager::Owned& cursor, const Rights& rights) {
    constexpr auth::Actions kFollows = auth::action::find | auth::action::changeStream;
    return catalog::split(cursor.ns).db == auth::kAdmin ? rights.anywhere(kFollows)
                                                        : rights.on(cursor.ns, kFollows);
}

bool overlap(const std::vector<std::string>& some, const std::vector<std::string>& others) {
    return std::ranges::any_of(some, [&others](const std::string& name) {
        return std::ranges::find(others, name) != others.end();
    });
}

}  // namespace

Rights::Rights(Client& client) : client_(client), unlimited_(!client.access_control().enabled) {
    if (unlimited_) return;
    DCHECK(storage::LockManager::database().empty());
    UserStore& users = client.access_control().users;
    client.login().refresh();
    first_user_ = !client.login().logged_in() && client.info().local_client &&
                  options::localhost_exception.get() && !users.any();
}

bool Rights::logged_in() const {
    return unlimited_ || client_.login().logged_in();
}

bool Rights::on_cluster(auth::Actions actions) const {
    return unlimited_ || client_.login().privileges().allow_on_cluster(actions);
}

bool Rights::on(std::string_view db, std::string_view collection, auth::Actions actions) const {
    if (unlimited_) return true;
    const auth::Privileges& privileges = client_.login().privileges();
    return privileges.allow(db, collection, actions) &&
           (!is_changed_by_commands(db, collection, actions) ||
            privileges.allow_on_cluster(auth::action::internal));
}

bool Rights::on(std::string_view ns, auth::Actions actions) const {
    const catalog::Namespace parts = catalog::split(ns);
    return on(parts.db, parts.collection, actions);
}

bool Rights::anywhere(auth::Actions actions) const {
    return unlimited_ || client_.login().privileges().allow_anywhere(actions);
}

bool Rights::know_database(std::string_view db) const {
    return unlimited_ || client_.login().privileges().know_database(db);
}

bool satisfied(const Need& need, const Invocation& invocation, const Rights& rights) {
    switch (need.on) {
        case Need::On::undeclared:
            return false;
        case Need::On::nothing:
            return true;
        case Need::On::login:
            return rights.logged_in();
        case Need::On::cluster:
            return rights.logged_in() && rights.on_cluster(need.actions);
        case Need::On::database:
            return rights.logged_in() && rights.on(invocation.db, "", need.actions);
        case Need::On::collection:
            return rights.logged_in() &&
                   rights.on(invocation.db, collection_of(invocation), need.actions);
        case Need::On::decided:
            break;
    }
    DCHECK(need.decide != nullptr);
    return need.decide(invocation, rights);
}

void check_admission(const Invocation& invocation, const Command& command) {
    if ((command.flags & kAdminOnly) != 0 && invocation.db != "admin")
        base::fail(base::kUnauthorized, "{} may only be run against the admin database.",
                   invocation.name);
    if ((command.flags & kLocalOnly) != 0) require_local(invocation.client.info(), invocation.name);
    if (!invocation.client.access_control().enabled) return;
    if (command.need.on == Need::On::nothing) return;
    if (!satisfied(command.need, invocation, Rights(invocation.client)))
        base::fail(base::kUnauthorized, "not authorized on {} to execute command {}", invocation.db,
                   shown(invocation, command));
}

void admit(Client& client, std::string_view what, std::string_view ns, auth::Actions actions) {
    if (!client.access_control().enabled) return;
    if (!Rights(client).on(ns, actions))
        base::fail(base::kUnauthorized, "not authorized for {} on {}", what, ns);
}

void admit_on_cluster(Client& client, std::string_view what, auth::Actions actions) {
    if (!client.access_control().enabled) return;
    if (!Rights(client).on_cluster(actions))
        base::fail(base::kUnauthorized, "not authorized for {}", what);
}

// A message that looks like a query on a collection that cannot exist asks about the server.
void admit_query(Client& client, std::string_view ns) {
    const std::string_view collection = catalog::split(ns).collection;
    if (collection.starts_with("$cmd.sys.inprog")) {
        admit_on_cluster(client, "inprog", auth::action::inprog);
    } else if (collection.starts_with("$cmd.sys.killop")) {
        admit_on_cluster(client, "killop", auth::action::killop);
    } else if (collection.starts_with("$cmd.sys.unlock")) {
        admit_on_cluster(client, "unlock", auth::action::unlock);
    } else {
        admit(client, "query", ns, auth::action::find);
    }
}

void admit_insert(Client& client, const wire::InsertMessage& message) {
    if (!client.access_control().enabled) return;
    if (catalog::split(message.ns).collection != "system.indexes")
        return admit(client, "insert", message.ns, auth::action::insert);
    const Rights rights(client);
    for (const bson::Doc spec : message.documents) {
        if (!may_make_index(rights, spec))
            base::fail(base::kUnauthorized, "not authorized to create index on {}",
                       spec["ns"].is_string() ? spec["ns"].as_string() : message.ns);
    }
}

void admit_update(Client& client, const wire::UpdateMessage& message) {
    const bool upsert = (message.flags & wire::UpdateMessage::kUpsert) != 0;
    admit(client, upsert ? "upsert" : "update", message.ns,
          auth::action::update | (upsert ? auth::action::insert : 0));
}

bool may_make_index(const Rights& rights, bson::Doc spec) {
    const bson::Element ns = spec["ns"];
    return rights.logged_in() && ns.is_string() &&
           rights.on(ns.as_string(), auth::action::createIndex);
}

bool may_kill_cursor(Client& client, const CursorManager& cursors, int64_t id) {
    if (!client.access_control().enabled) return true;
    const Rights rights(client);
    const std::optional<CursorManager::Owned> cursor = cursors.owned(id);
    if (!cursor) return rights.logged_in();
    return rights.on(cursor->ns, auth::action::killAnyCursor) ||
           overlap(cursor->owners, client.login().ids());
}

void admit_get_more(Client& client, const CursorManager& cursors, int64_t id, std::string_view ns,
                    bool tells_of_ns) {
    if (!client.access_control().enabled) return;
    const Rights rights(client);
    const std::optional<CursorManager::Owned> cursor = cursors.owned(id);
    bool may = rights.logged_in();
    // A role may have been taken away since it was opened.
    if (cursor)
        may = overlap(cursor->owners, client.login().ids()) &&
              (!cursor->reads_collection || rights.on(cursor->ns, auth::action::find)) &&
              (!cursor->follows_changes || may_follow_on(*cursor, rights)) &&
              std::ranges::all_of(cursor->foreign_ns, [&rights](const std::string& other) {
                  return rights.on(other, auth::action::find);
              });
    if (may && tells_of_ns && !(cursor && cursor->ns == ns))
        may = rights.on(ns, auth::action::find);
    if (!may)
        base::fail(base::kUnauthorized,
                   "cursor id {} belongs to another user, or what it reads is closed to this one",
                   id);
}

}  // namespace command
