#include "catalog/catalog.h"

#include <algorithm>
#include <mutex>

#include "base/dcheck.h"
#include "base/error.h"
#include "storage/write_unit.h"

namespace catalog {

namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(
        a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// Databases are files, and some file systems take both cases for one: not even reads may name a
// database that exists in another case.
void refuse_other_case(storage::Engine& engine, std::string_view db) {
    for (const std::string& other : engine.database_names()) {
        if (other != db && equal_ignoring_case(other, db))
            base::fail(base::kDatabaseDifferCase,
                       "db already exists with different case already have: [{}] trying to "
                       "create [{}]",
                       other, db);
    }
}

}  // namespace

Catalog::Catalog(storage::Engine& engine, const query::ExpressionParser* expressions)
    : engine_(engine), expressions_(expressions) {}
Catalog::~Catalog() = default;

void Catalog::set_change_log(ChangeLog* log) {
    DCHECK(databases_.empty());
    log_ = log;
}

Database* Catalog::database(std::string_view db) {
    {
        const std::shared_lock guard(mutex_);
        const auto found = databases_.find(db);
        if (found != databases_.end()) return found->second.get();
    }
    DCHECK(storage::LockManager::may_read(db));
    if (!valid_database_name(db)) return nullptr;
    const std::unique_lock guard(mutex_);
    const auto found = databases_.find(db);
    if (found != databases_.end()) return found->second.get();
    storage::DatabaseStore* store = engine_.database(db);
    if (store == nullptr) {
        refuse_other_case(engine_, db);
        return nullptr;
    }
    return &keep(db, std::make_unique<Database>(engine_, *store, expressions_, log_));
}

Database& Catalog::get_or_create(std::string_view db) {
    DCHECK(storage::LockManager::may_write(db));
    if (Database* found = database(db)) return *found;
    if (!valid_database_name(db))
        base::fail(base::kInvalidNamespace, "Invalid database name: '{}'", db);
    if (db.find('$') != std::string_view::npos)
        base::fail(17320, "cannot create a database with '$' in its name: {}", db);
    check_readable(db);
    const std::unique_lock guard(mutex_);
    const storage::WriteUnit unit(engine_.durability());
    return keep(
        db, std::make_unique<Database>(engine_, engine_.create_database(db), expressions_, log_));
}

Database& Catalog::keep(std::string_view db, std::unique_ptr<Database> opened) {
    if (!opened->view_names().empty()) may_have_views_ = true;
    return *databases_.insert_or_assign(std::string(db), std::move(opened)).first->second;
}

void Catalog::put_view(Database& db, std::string_view ns, const View& view) {
    may_have_views_ = true;
    db.put_view(ns, view);
}

void Catalog::reload_views(Database& db) {
    db.reload_views();
    if (!db.view_names().empty()) may_have_views_ = true;
}

Collection* Catalog::collection(std::string_view ns) {
    Database* db = database(split(ns).db);
    return db == nullptr ? nullptr : db->collection(ns);
}

Collection& Catalog::collection_for_write(std::string_view ns, bson::Doc options) {
    return get_or_create(split(ns).db).get_or_create(ns, options);
}

std::vector<std::string> Catalog::database_names() {
    std::vector<std::string> names = engine_.database_names();
    std::ranges::sort(names);
    return names;
}

void Catalog::forget(std::string_view db) {
    const auto found = databases_.find(db);
    if (found == databases_.end()) return;
    found->second->refuse_while_building();
    databases_.erase(found);
}

std::unique_ptr<storage::Remains> Catalog::drop_database(std::string_view db) {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    Database* const found = log_ != nullptr && log_->covers(db) ? database(db) : nullptr;
    if (found == nullptr) return drop_database_again(db);
    found->refuse_while_building();
    {
        bson::Builder dropped;
        {
            bson::Builder names = dropped.sub_array("collections");
            for (const std::string& ns : found->collection_names())
                if (const std::string_view name = split(ns).collection; !is_system(name))
                    names.push(name);
        }
        const bson::Doc beside = dropped.doc();
        storage::WriteUnit unit(engine_.durability());
        unit.admit(log_->prepare(beside.size()));
        unit.keep([&] { log_->command(db, bson::make("dropDatabase", 1), &beside); });
    }
    try {
        return drop_database_again(db);
    } catch (...) {
        if (engine_.database(db) != nullptr) log_->take_command_back();
        throw;
    }
}

std::unique_ptr<storage::Remains> Catalog::drop_database_again(std::string_view db) {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    const std::unique_lock guard(mutex_);
    const storage::WriteUnit unit(engine_.durability());
    forget(db);
    return engine_.drop_database(db);
}

void Catalog::close_database(std::string_view db) {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    const std::unique_lock guard(mutex_);
    const storage::WriteUnit unit(engine_.durability());
    forget(db);
    engine_.close_database(db);
}

}  // namespace catalog
