#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "catalog/catalog.h"
#include "catalog/collection_options.h"
#include "catalog/index_build.h"
#include "catalog/index_spec.h"
#include "catalog/listing.h"
#include "catalog/logged_command.h"
#include "catalog/names.h"
#include "sched/interruption.h"
#include "storage/write_unit.h"

namespace catalog {

namespace {

constexpr int kBuildInProgress = 12586;

// Collections that never get the automatic index on _id (mmapv1 spec 7.3).
bool without_id_index(std::string_view ns) {
    const std::string_view collection = split(ns).collection;
    return is_catalogue(collection) || collection == "system.profile" ||
           collection.find('$') != std::string_view::npos || is_oplog(ns);
}

// Throws base::Error 73 for a name that no new collection or view may have.
void check_new_name(const storage::Engine& engine, std::string_view ns) {
    const storage::NameLimits& limits = engine.new_name_limits();
    if (ns.size() > limits.ns)
        base::fail(
            base::kInvalidNamespace, "fully qualified namespace {} is too long (max is {} bytes{})",
            ns, limits.ns,
            engine.refuses_long() ? ", as not every member of this set keeps longer ones" : "");
    const Namespace parts = split(ns);
    if (!valid_collection_name(parts.db, parts.collection, limits))
        base::fail(base::kInvalidNamespace, "Invalid namespace specified '{}'", ns);
    check_readable(ns);
}

}  // namespace

Database::Database(storage::Engine& engine, storage::DatabaseStore& store,
                   const query::ExpressionParser* expressions, ChangeLog* log)
    : engine_(engine), store_(store), expressions_(expressions), log_(log) {
    for (const std::string& ns : store_.collections()) {
        if (storage::CollectionStore* found = store_.collection(ns)) adopt(*found);
    }
    adopt_system_collections();
    reload_views();
}

Database::~Database() = default;

// Null: none hears of changes of that collection.
ChangeLog* Database::log_of(std::string_view ns) const {
    return log_ != nullptr && log_->covers(ns) ? log_ : nullptr;
}

Collection& Database::adopt(storage::CollectionStore& store) {
    auto made = std::make_unique<Collection>(store, engine_.durability(), expressions_, log_);
    return *collections_.insert_or_assign(store.ns(), std::move(made)).first->second;
}

// They come together with the first user collection or index.
void Database::adopt_system_collections() {
    for (const char* name : {".system.namespaces", ".system.indexes"}) {
        const std::string ns = this->name() + name;
        if (collections_.contains(ns)) continue;
        if (storage::CollectionStore* found = store_.collection(ns)) {
            adopt(*found);
        } else if (!store_.has_catalogue_collections() && !store_.collections().empty()) {
            listings_.push_back(std::make_unique<ListingStore>(store_, ns));
            adopt(*listings_.back());
        }
    }
}

std::vector<std::string> Database::all_namespaces() const {
    std::vector<std::string> names;
    for (const auto& [ns, collection] : collections_)
        names.push_back(ns);
    return names;
}

Collection& Database::create(std::string_view ns, bson::Doc options) {
    DCHECK(storage::LockManager::may_write(name()));
    if (split(ns).collection.empty()) base::fail(15888, "must pass name of collection to create");
    check_new_name(engine_, ns);
    if (collections_.contains(ns)) base::fail(base::kNamespaceExists, "collection already exists");
    if (views_.find(ns) != nullptr)
        base::fail(base::kNamespaceExists, "a view already exists, {}", ns);
    check_validation(ns, options, expressions_);
    storage::CollectionOptions wanted = parse_collection_options(options);
    wanted.id_index = wanted.id_index && !without_id_index(ns);
    LoggedCommand logged(engine_.durability(), log_of(ns), wanted.options.size());
    Collection& made = adopt(store_.create_collection(ns, wanted));
    adopt_system_collections();
    if (wanted.id_index) {
        try {
            build_index(made, engine_, id_index_spec(ns, made.collator().get()));
        } catch (...) {
            collections_.erase(collections_.find(ns));
            store_.drop_collection(std::string(ns));
            throw;
        }
        adopt_system_collections();
    }
    logged.told("create", ns, wanted.options);
    return made;
}

Collection& Database::get_or_create(std::string_view ns, bson::Doc options) {
    DCHECK(storage::LockManager::may_write(name()));
    if (Collection* found = collection(ns)) return *found;
    return create(ns, options);
}

std::vector<std::string> Database::view_names() const {
    std::vector<std::string> names = views_.names();
    std::erase_if(names, [this](const std::string& ns) { return collections_.contains(ns); });
    return names;
}

void Database::put_view(std::string_view ns, const View& view) {
    DCHECK(storage::LockManager::may_write(name()));
    check_new_name(engine_, ns);
    if (collections_.contains(ns)) base::fail(base::kNamespaceExists, "collection already exists");
    const storage::WriteUnit unit(engine_.durability());
    views_.put(get_or_create(fmt::format("{}.{}", name(), kViews)), ns, view);
}

void Database::reload_views() {
    const auto stored = collections_.find(fmt::format("{}.{}", name(), kViews));
    if (stored != collections_.end())
        views_.load(*stored->second);
    else
        views_ = Views();
}

void Database::drop_view(std::string_view ns) {
    DCHECK(storage::LockManager::may_write(name()));
    const storage::WriteUnit unit(engine_.durability());
    views_.erase(get_or_create(fmt::format("{}.{}", name(), kViews)), ns);
}

void Database::drop(std::string_view ns) {
    DCHECK(storage::LockManager::may_write(name()));
    const auto at = find_to_drop(ns);
    const std::string dropped(ns);  // which may be that of the collection
    LoggedCommand logged(engine_.durability(), log_of(dropped), 0);
    take_off(at);
    logged.told("drop", dropped);
}

// Throws base::Error where there is none, or it must stay.
Database::Collections::iterator Database::find_to_drop(std::string_view ns) {
    const auto found = collections_.find(ns);
    if (found == collections_.end()) base::fail(base::kNamespaceNotFound, "ns not found");
    const std::string_view short_name = split(ns).collection;
    if (is_system(short_name) && short_name != "system.profile")
        base::fail(base::kIllegalOperation, "can't drop system collection {}", ns);
    refuse_while_building(*found->second);
    return found;
}

void Database::take_off(Collections::iterator at) {
    const std::string ns = at->first;
    take_away(at, [&] { store_.drop_collection(ns); });
}

void Database::rename(std::string_view from, std::string_view to, bool stay_temp) {
    const bson::Object command = LoggedCommand::renaming(from, to, stay_temp, false);
    LoggedCommand logged(engine_.durability(), log_of(to), command.size());
    move(from, to, stay_temp);
    logged.told(command);
}

void Database::move(std::string_view from, std::string_view to, bool stay_temp) {
    DCHECK(storage::LockManager::may_write(name()));
    const auto found = collections_.find(from);
    if (found == collections_.end())
        base::fail(base::kNamespaceNotFound, "source namespace does not exist");
    for (const std::string_view ns : {from, to})
        if (is_catalogue(split(ns).collection))
            base::fail(base::kIllegalOperation, "renaming system collections is not allowed: {}",
                       ns);
    refuse_while_building(*found->second);
    if (collections_.contains(to)) base::fail(base::kNamespaceExists, "target namespace exists");
    if (views_.find(to) != nullptr)
        base::fail(base::kNamespaceExists, "a view already exists with that name: {}", to);
    check_new_name(engine_, to);
    for (const auto& index : found->second->indexes()) {
        if (to.size() + 2 + index->name.size() > engine_.new_name_limits().index_ns)
            base::fail(base::kInvalidNamespace,
                       "the name of index {} would be too long after renaming to {}", index->name,
                       to);
    }
    const std::string target_ns(to);
    take_away(found, [&] { store_.rename_collection(std::string(from), target_ns, stay_temp); });
    adopt(*store_.collection(target_ns));
}

// A drop gives space back but does not promise it to the rename. The old collection therefore stays
// until the new one has its name.
void Database::replace(std::string_view from, std::string_view to, bool stay_temp) {
    if (!collections_.contains(to)) return rename(from, to, stay_temp);
    const std::string aside = unused_name(to);
    const bson::Object command = LoggedCommand::renaming(from, to, stay_temp, true);
    LoggedCommand logged(engine_.durability(), log_of(to), command.size());
    move(to, aside, true);
    try {
        move(from, to, stay_temp);
    } catch (...) {
        move(aside, to, true);
        throw;
    }
    logged.told(command);
    take_off(find_to_drop(aside));
}

std::string Database::unused_name(std::string_view ns) const {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string name(ns);
    const size_t begin = this->name().size() + 1;
    for (size_t at = name.size(); at-- > begin;) {
        for (const char letter : kLetters) {
            name[at] = letter;
            const std::string_view collection = std::string_view(name).substr(begin);
            if (name != ns && !collections_.contains(name) && views_.find(name) == nullptr &&
                !is_system(collection) &&
                valid_collection_name(this->name(), collection, engine_.name_limits()))
                return name;
        }
    }
    base::fail(base::kNamespaceExists, "no name is left beside {}", ns);
}

// Runs `work`, which takes the collection away from under that name; if it fails, the collection
// stays.
void Database::take_away(Collections::iterator at, const std::function<void()>& work) {
    DCHECK(sched::is_uninterruptible());
    const std::string ns = at->first;
    const std::unique_ptr<Collection> gone = std::move(at->second);
    collections_.erase(at);
    gone->waiters().wake();
    try {
        work();
    } catch (...) {
        if (storage::CollectionStore* kept = store_.collection(ns)) adopt(*kept);
        throw;
    }
}

void Database::refuse_while_building(const Collection& collection) const {
    if (log_ != nullptr && log_->keeps(collection.ns())) collection.check_writable();
    if (collection.builds() > 0)
        base::fail(kBuildInProgress,
                   "cannot perform the operation: an index is being built in the background on {}",
                   collection.ns());
}

void Database::refuse_while_building() const {
    for (const auto& [ns, collection] : collections_)
        refuse_while_building(*collection);
}

void Database::set_user_flags(Collection& collection, int32_t flags) {
    DCHECK(storage::LockManager::may_write(name()));
    LoggedCommand logged(engine_.durability(), collection.change_log(), 0);
    collection.store().set_user_flags(flags);
    logged.told("collMod", collection.ns(), bson::make("usePowerOf2Sizes", (flags & 1) != 0).doc());
}

void Database::change_validation(Collection& collection, bson::Doc change) {
    DCHECK(storage::LockManager::may_write(name()));
    check_validation(collection.ns(), change, expressions_);
    bson::Builder changed;
    for (const bson::Element& e : collection.store().options())
        if (!is_validation_option(e.name()) || change[e.name()].missing()) changed.append(e);
    bson::Builder entry;
    for (const bson::Element& e : change) {
        if (!is_validation_option(e.name())) continue;
        changed.append(e);
        entry.append(e);
    }
    LoggedCommand logged(engine_.durability(), collection.change_log(), entry.doc().size());
    collection.store().replace_options(changed.doc());
    collection.reload_validator();
    logged.told("collMod", collection.ns(), entry.doc());
}

void Database::drop_temporary() {
    DCHECK(storage::LockManager::may_write(name()));
    for (const std::string& ns : collection_names()) {
        // A damaged one must not keep the others as they are.
        try {
            if (!store_.collection(ns)->options()["temp"].truthy()) continue;
            base::log::info("dropping temporary collection {}", ns);
            drop(ns);
        } catch (const base::Error& error) {
            if (sched::is_interruption(error)) throw;
            base::log::error("cannot drop temporary collection {}: {}", ns, error.what());
        }
    }
}

}  // namespace catalog
