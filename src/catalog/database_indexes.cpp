// What Database does with the indexes of its collections.
#include <algorithm>
#include <limits>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "catalog/catalog.h"
#include "catalog/index_build.h"
#include "catalog/index_spec.h"
#include "catalog/logged_command.h"
#include "sched/interruption.h"
#include "sched/operation.h"
#include "storage/write_unit.h"

namespace catalog {

namespace {

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
        collection.reload_indexes(true);
    }
    base::log::info("found {} interrupted index build(s) on {}", specs.size(), collection.ns());
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

bson::Object Database::normalised(const Collection& collection, bson::Doc spec) const {
    return normalise_index_spec(spec, collection.ns(), collection.collator(),
                                engine_.new_name_limits());
}

bool Database::index_needed(const Collection& collection, bson::Doc spec) const {
    DCHECK(storage::LockManager::may_read(name()));
    return !index_exists(collection, normalised(collection, spec));
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

void Database::hide_index(Collection& collection, const Index& index, bool hidden) {
    DCHECK(storage::LockManager::may_write(name()));
    if (index.is_id) base::fail(base::kBadValue, "can't hide _id index");
    bson::Builder changed;
    changed.append_all(without_field(index.spec, "hidden"));
    if (hidden) changed.append("hidden", true);
    change_index(collection, index, changed.doc(), "hidden");
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
