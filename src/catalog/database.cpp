#include <algorithm>
#include <limits>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "catalog/catalog.h"
#include "catalog/collection_options.h"
#include "catalog/index_build.h"
#include "catalog/index_spec.h"
#include "catalog/listing.h"
#include "catalog/logged_command.h"
#include "catalog/names.h"
#include "sched/interruption.h"
#include "sched/operation.h"
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

void take_indexes_away(Collection& collection, storage::Engine& engine) {
    storage::WriteUnit unit(engine.durability());
    for (int slot = collection.store().index_count() - 1; slot >= 0; --slot)
        collection.store().drop_index(slot);
    collection.reload_indexes(true);
    unit.keep();
}

bool all_ready(Collection& collection, size_t indexes) {
    storage::CollectionStore& store = collection.store();
    if (static_cast<size_t>(store.index_count()) != indexes) return false;
    for (int slot = 0; slot < store.index_count(); ++slot)
        if (!store.index(slot).ready) return false;
    return true;
}

// Runs `work`, which takes a collection's indexes away for a while. If it fails or is interrupted,
// the indexes are rebuilt before the operation ends; only a shutdown stops that, and the next start
// builds them.
template <typename Work>
void keep_indexes(Collection& collection, storage::Engine& engine,
                  const std::vector<bson::Object>& specs, Work&& work) {
    collection.check_writable();  // else an index that cannot be rebuilt would be lost
    try {
        work();
    } catch (...) {
        if (all_ready(collection, specs.size())) throw;  // it had not come so far
        const sched::Operation::Scope undisturbed(nullptr);
        take_indexes_away(collection, engine);
        build_indexes(collection, engine, specs,
                      [&](const bson::Object& spec, const std::exception& e) {
                          base::log::error("lost index {} of {}, create it again: {}",
                                           spec["name"].as_string(), collection.ns(), e.what());
                      });
        throw;
    }
}

void rethrow(const bson::Object&, const std::exception&) {
    throw;
}

bson::Object without_field(bson::Doc spec, std::string_view field) {
    bson::Builder out;
    for (const bson::Element& e : spec) {
        if (e.name() != field) out.append(e);
    }
    return out.object();
}

void recover_builds(Collection& collection, storage::Engine& engine, bool retry) {
    std::vector<bson::Object> specs;
    for (int slot = 0; slot < collection.store().index_count(); ++slot) {
        const storage::IndexEntry entry = collection.store().index(slot);
        if (!entry.ready) specs.emplace_back(entry.spec);
    }
    if (specs.empty()) return;
    {
        const storage::WriteUnit unit(engine.durability());
        for (int slot = collection.store().index_count() - 1; slot >= 0; --slot)
            if (!collection.store().index(slot).ready) collection.store().drop_index(slot);
    }
    base::log::info("found {} interrupted index build(s) on {}", specs.size(), collection.ns());
    collection.reload_indexes(true);
    if (!retry) {
        for (const bson::Object& spec : specs)
            base::log::info("  not rebuilding interrupted index: {}", bson::to_text(spec));
        return;
    }
    const auto failed = [](const bson::Object&, const std::exception& error) {
        if (dynamic_cast<const base::Error*>(&error) == nullptr) throw;
        base::log::error("index rebuilding failed: {}", error.what());
    };
    build_indexes(collection, engine, specs, failed, collection.change_log());
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

bson::Object Database::normalised(const Collection& collection, bson::Doc spec) const {
    return normalise_index_spec(spec, collection.ns(), collection.collator(),
                                engine_.new_name_limits());
}

bool Database::index_needed(const Collection& collection, bson::Doc spec) const {
    DCHECK(storage::LockManager::may_read(name()));
    return !index_exists(collection, normalised(collection, spec));
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

bool Database::create_index(Collection& collection, bson::Doc spec,
                            sched::YieldPoint* yield_point) {
    DCHECK(storage::LockManager::may_write(name()));
    const bson::Object stored = normalised(collection, spec);
    if (index_exists(collection, stored)) {
        const Index* equal = collection.find_index_like(stored);
        if (equal != nullptr && !equal->ready) refuse_while_building(collection);
        return false;
    }
    check_key_kind(stored);
    if (log_ != nullptr && log_->keeps(collection.ns())) collection.check_writable();
    if (collection.capped() && stored["dropDups"].truthy())
        base::fail(base::kCannotCreateIndex, "dropDups cannot remove from a capped collection");
    build_index(collection, engine_, stored, yield_point, collection.change_log());
    adopt_system_collections();
    return true;
}

IndexChange Database::drop_indexes(Collection& collection, const bson::Element& which) {
    DCHECK(storage::LockManager::may_write(name()));
    refuse_while_building(collection);
    IndexChange change;
    change.before = static_cast<int>(collection.indexes().size());
    const auto drop_slot = [&](int slot) {
        const bson::Object entry =
            bson::make("index", collection.indexes()[static_cast<size_t>(slot)]->name);
        LoggedCommand logged(engine_.durability(), collection.change_log(), entry.size());
        collection.store().drop_index(slot);
        collection.reload_indexes(true);
        logged.told("dropIndexes", collection.ns(), entry.doc());
    };
    if (which.is_string() && which.as_string() == "*") {
        for (int slot = change.before - 1; slot >= 0; --slot) {
            if (!collection.indexes()[static_cast<size_t>(slot)]->is_id) drop_slot(slot);
        }
    } else {
        const Index* index = nullptr;
        if (which.is_string()) index = collection.find_index(which.as_string());
        if (which.is_object()) index = collection.find_index_by_key(which.as_doc());
        if (index == nullptr)
            base::fail(base::kIndexNotFound, "index not found with name [{}]",
                       which.is_string() ? std::string(which.as_string()) : bson::to_text(which));
        if (index->is_id) base::fail(base::kInvalidOptions, "cannot drop _id index");
        drop_slot(index->slot);
    }
    change.after = static_cast<int>(collection.indexes().size());
    return change;
}

IndexChange Database::rebuild_indexes(Collection& collection) {
    DCHECK(storage::LockManager::may_write(name()));
    refuse_while_building(collection);
    const std::vector<bson::Object> specs = all_specs(collection);
    keep_indexes(collection, engine_, specs, [&] {
        take_indexes_away(collection, engine_);
        build_indexes(collection, engine_, specs, rethrow);
    });
    const int count = static_cast<int>(specs.size());
    return {count, static_cast<int>(collection.indexes().size())};
}

void Database::compact(Collection& collection, const bson::Object& command, bson::Builder& out) {
    DCHECK(storage::LockManager::may_write(name()));
    refuse_while_building(collection);
    std::vector<bson::Object> specs;
    for (const auto& index : collection.indexes())
        specs.push_back(without_field(index->spec, "background"));
    storage::CompactHooks hooks;
    // The indexes exist, empty, before the first document is copied; they are filled at the end.
    hooks.before_copy = [&] {
        storage::WriteUnit unit(engine_.durability());
        for (int slot = collection.store().index_count() - 1; slot >= 0; --slot)
            collection.store().drop_index(slot);
        for (const bson::Object& spec : specs)
            collection.store().begin_index(spec);
        collection.reload_indexes(true);
        unit.keep();
    };
    hooks.copied = [&](const storage::Record&) {
        storage::WriteUnit::between(engine_.durability());
    };
    keep_indexes(collection, engine_, specs, [&] {
        collection.store().compact(command, hooks, out);
        for (int slot = 0; slot < static_cast<int>(specs.size()); ++slot)
            fill_index(collection, engine_, slot);
    });
}

void Database::truncate(Collection& collection) {
    DCHECK(storage::LockManager::may_write(name()));
    refuse_while_building(collection);
    const std::vector<bson::Object> specs = all_specs(collection);
    keep_indexes(collection, engine_, specs, [&] {
        take_indexes_away(collection, engine_);
        {
            LoggedCommand logged(engine_.durability(), collection.change_log(), 0);
            collection.records().truncate();
            logged.told("emptycapped", collection.ns());
        }
        build_indexes(collection, engine_, specs, rethrow);
    });
}

void Database::set_index_number(Collection& collection, const Index& index, std::string_view field,
                                int64_t value) {
    DCHECK(storage::LockManager::may_write(name()));
    const bson::Element number = index.spec[field];
    if (number.missing()) {
        bson::Builder changed;
        changed.append_all(index.spec).append_number(field, value);
        return change_index(collection, index, changed.doc(), field);
    }
    if (!number.is_number() || number.type() == bson::Type::decimal128)
        base::fail(base::kBadValue, "index {} of {} has no number {}", index.name, collection.ns(),
                   field);
    bson::Builder changed;
    for (const bson::Element& e : index.spec) {
        if (e.raw() != number.raw()) {
            changed.append(e);
            continue;
        }
        switch (number.type()) {
            case bson::Type::int32:
                changed.append(field, static_cast<int32_t>(std::clamp<int64_t>(
                                          value, std::numeric_limits<int32_t>::min(),
                                          std::numeric_limits<int32_t>::max())));
                break;
            case bson::Type::number_double:
                changed.append(field, static_cast<double>(value));
                break;
            default:
                changed.append(field, value);
                break;
        }
    }
    change_index(collection, index, changed.doc(), field);
}

// Puts another definition in the place of the stored one: `field` is what differs.
void Database::change_index(Collection& collection, const Index& index, bson::Doc spec,
                            std::string_view field) {
    const int slot = index.slot;
    bson::Builder entry;
    {
        bson::Builder named = entry.sub_object("index");
        // Old servers know no index by its name here.
        const auto same_key = [&index](const auto& other) {
            return bson::compare_docs(other->key_pattern, index.key_pattern) == 0;
        };
        if (std::ranges::count_if(collection.indexes(), same_key) == 1)
            named.append("keyPattern", index.key_pattern);
        else
            named.append("name", index.name);
        if (const bson::Element value = spec[field])
            named.append(value);
        else
            named.append(field, false);
    }
    LoggedCommand logged(engine_.durability(), collection.change_log(), entry.doc().size());
    collection.store().replace_index_spec(slot, spec);
    collection.reload_indexes(false);
    logged.told("collMod", collection.ns(), entry.doc());
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

void Database::hide_index(Collection& collection, const Index& index, bool hidden) {
    DCHECK(storage::LockManager::may_write(name()));
    if (index.is_id) base::fail(base::kBadValue, "can't hide _id index");
    bson::Builder changed;
    changed.append_all(without_field(index.spec, "hidden"));
    if (hidden) changed.append("hidden", true);
    change_index(collection, index, changed.doc(), "hidden");
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

void Database::complete_definitions() {
    DCHECK(storage::LockManager::may_write(name()));
    for (const auto& [ns, collection] : collections_) {
        if (!collection->has_collation()) continue;
        try {
            for (size_t slot = 0; slot < collection->indexes().size(); ++slot) {
                const Index& index = *collection->indexes()[slot];
                if (index.spec.has("collation")) continue;
                const bson::Object whole = spec_to_copy(index.spec);
                const storage::WriteUnit unit(engine_.durability());
                collection->store().replace_index_spec(index.slot, whole);
                collection->reload_indexes(false);
            }
        } catch (const base::Error& error) {
            if (sched::is_interruption(error)) throw;
            base::log::error("cannot complete the definitions of the indexes of {}: {}", ns,
                             error.what());
        }
    }
}

void Database::recover_interrupted_builds(bool retry) {
    DCHECK(storage::LockManager::may_write(name()));
    for (const auto& [ns, collection] : collections_) {
        try {
            recover_builds(*collection, engine_, retry);
        } catch (const base::Error& error) {
            if (sched::is_interruption(error)) throw;
            base::log::error("cannot resume interrupted index builds on {}: {}", ns, error.what());
        }
    }
}

}  // namespace catalog
