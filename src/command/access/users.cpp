#include "command/access/users.h"

#include <fmt/format.h>

#include <algorithm>

#include "auth/crypto.h"
#include "base/dcheck.h"
#include "query/plan/executor.h"
#include "storage/lock.h"

namespace command {

namespace {

constexpr size_t kSecretBytes = 32;

}  // namespace

UserStore::UserStore(catalog::Catalog& catalog)
    : catalog_(catalog), secret_(auth::random_bytes(kSecretBytes)) {}

void UserStore::accept_members(const std::string& key) {
    DCHECK(!member_);
    member_ = auth::member_user(key);
}

std::optional<auth::User> UserStore::find(const auth::UserName& who) {
    if (member_ && who == member_->who) return member_;
    const storage::DatabaseLock lock(catalog_.engine().locks(), auth::kAdmin, false);
    catalog::Collection* users = catalog_.collection(auth::kUsers);
    if (users == nullptr || users->id_index() == nullptr) return std::nullopt;
    const bson::Object key = bson::make("_id", who.id());
    const storage::RecordId id = query::find_by_id(*users, key.doc().first());
    if (!id) return std::nullopt;
    const bson::Doc document = users->records().get(id);
    // The document itself says whose it is, whatever else the key may say.
    std::optional<auth::User> found = auth::read_user(document);
    if (!found || !(found->who == who)) return std::nullopt;
    found->granted = auth::granted_by(found->roles, role_finder());
    return found;
}

auth::FindRole UserStore::role_finder() const {
    return [this](const auth::Role& role) -> std::optional<auth::OwnRole> {
        DCHECK(storage::LockManager::may_read(auth::kAdmin));
        catalog::Collection* roles = catalog_.collection(auth::kRoles);
        if (roles == nullptr || roles->id_index() == nullptr) return std::nullopt;
        const bson::Object key = bson::make("_id", auth::id_of(role));
        const storage::RecordId id = query::find_by_id(*roles, key.doc().first());
        if (!id) return std::nullopt;
        return auth::read_role(roles->records().get(id));
    };
}

auth::Granted UserStore::granted(const std::vector<auth::Role>& roles) {
    const storage::DatabaseLock lock(catalog_.engine().locks(), auth::kAdmin, false);
    return auth::granted_by(roles, role_finder());
}

void UserStore::check_roles(const std::vector<auth::Role>& roles) {
    const storage::DatabaseLock lock(catalog_.engine().locks(), auth::kAdmin, false);
    auth::check_exist(roles, role_finder());
}

void UserStore::each_role(const std::function<void(bson::Doc)>& visit) {
    each_in(auth::kRoles, visit);
}

void UserStore::each(const std::function<void(bson::Doc)>& visit) {
    each_in(auth::kUsers, visit);
}

void UserStore::each_in(std::string_view ns, const std::function<void(bson::Doc)>& visit) {
    const storage::DatabaseLock lock(catalog_.engine().locks(), auth::kAdmin, false);
    catalog::Collection* found = catalog_.collection(ns);
    if (found == nullptr) return;
    const auto cursor = found->records().cursor(storage::Direction::forward);
    while (const auto record = cursor->next())
        visit(record->doc);
}

bool UserStore::any() {
    if (any_.load(std::memory_order_relaxed)) return true;
    const storage::DatabaseLock lock(catalog_.engine().locks(), auth::kAdmin, false);
    catalog::Collection* users = catalog_.collection(auth::kUsers);
    if (users == nullptr || users->records().count() == 0) return false;
    any_.store(true, std::memory_order_relaxed);
    return true;
}

void UserStore::changed() {
    generation_.fetch_add(1, std::memory_order_acq_rel);
}

void UserStore::added() {
    any_.store(true, std::memory_order_relaxed);
    changed();
}

void UserStore::note_drop(const std::string& what) {
    const std::lock_guard guard(mutex_);
    // Drops are noted for every user rather than for none: users who had logged in have to do so
    // again.
    const bool too_many = drops_.size() >= kDropsMax && !drops_.contains(what);
    if (too_many) drops_.clear();
    drops_[too_many ? std::string() : what] =
        generation_.fetch_add(1, std::memory_order_acq_rel) + 1;
    DCHECK(drops_.size() <= kDropsMax);
}

void UserStore::dropped(const auth::UserName& who) {
    note_drop(who.id());
}

void UserStore::dropped_all(std::string_view db) {
    note_drop(fmt::format("{}.", db));
}

void UserStore::dropped_all() {
    note_drop("");
}

void UserStore::applied(bson::Doc entry) {
    if (entry.empty()) return changed();
    const std::string_view op = entry["op"].as_string(), ns = entry["ns"].as_string();
    if (op == "c" && catalog::split(ns).db == auth::kAdmin) {
        const bson::Element command = entry["o"].as_doc().first();
        const bool is_of_others = command.name() == "create" || command.name() == "createIndexes" ||
                                  command.name() == "dropIndexes" || command.name() == "collMod";
        if (!is_of_others) dropped_all();
    } else if (ns == auth::kUsers && op == "i") {
        added();
    } else if (ns == auth::kUsers && op == "d" && entry["o"].as_doc()["_id"].is_string()) {
        note_drop(std::string(entry["o"].as_doc()["_id"].as_string()));
    } else if (ns == auth::kUsers || ns == auth::kRoles) {
        changed();
    }
}

std::optional<uint64_t> UserStore::incarnation(const auth::UserName& who, uint64_t since) const {
    DCHECK(since <= generation());
    if (member_ && who == member_->who) return 0;
    const std::lock_guard guard(mutex_);
    uint64_t last = 0;
    for (const std::string& what : {who.id(), who.db + ".", std::string()}) {
        const auto found = drops_.find(what);
        if (found != drops_.end()) last = std::max(last, found->second);
    }
    if (last > since) return std::nullopt;
    return last;
}

UserStore::Hashing::Hashing(UserStore& users)
    : users_(users), may_begin_(users.hashing_.fetch_add(1) < kHashingMax) {}

UserStore::Hashing::~Hashing() {
    DCHECK(users_.hashing_.load() > 0);
    users_.hashing_.fetch_sub(1);
}

}  // namespace command
