// repairDatabase and --repair, for one collection (wire spec 2.4).
//
// Documents are copied into a temporary collection, its indexes are built, and it takes the place
// of the old one between two commits. Whatever ends that before leaves the old collection; a crash
// also leaves the temporary one, which the next start drops.
#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "catalog/catalog.h"
#include "catalog/index_build.h"
#include "catalog/index_spec.h"
#include "sched/interruption.h"
#include "sched/tick.h"
#include "storage/write_unit.h"

namespace catalog {

namespace {

// The ticks for storing a document (sched/tick.h).

// Whether an index cannot be built because of what the documents or its definition are, rather than
// for want of space, or because the operation was interrupted.
bool is_of_the_index(const base::Error& error) {
    return error.code() != base::kOperationFailed && error.code() != base::kOutOfDiskSpace &&
           !sched::is_interruption(error);
}

}  // namespace

void Database::repair() {
    DCHECK(storage::LockManager::may_write(name()));
    const storage::WriteUnit unit(engine_.durability());
    // Called also after a part of the repair: definitions are elsewhere then.
    const auto follow = [this] {
        std::erase_if(collections_, [&](const auto& each) {
            const bool is_listing =
                !store_.has_catalogue_collections() && is_catalogue(split(each.first).collection);
            return !is_listing && store_.collection(each.first) == nullptr;
        });
        for (const std::string& ns : store_.collections())
            if (!collections_.contains(ns)) adopt(*store_.collection(ns));
        for (const auto& [ns, collection] : collections_)
            collection->reload_indexes(true);
    };
    try {
        store_.repair();
    } catch (...) {
        follow();
        throw;
    }
    follow();
}

void Database::repair(std::string_view given) {
    DCHECK(storage::LockManager::may_write(name()));
    const std::string ns(given);
    std::string temporary = name() + ".tmp.repair";
    if (collections_.contains(temporary)) temporary = unused_name(temporary);
    Collection& damaged = *collections_.at(ns);
    storage::CollectionStore& old = damaged.store();
    damaged.check_writable();
    refuse_while_building(damaged);
    std::vector<bson::Object> specs = all_specs(damaged);

    storage::CollectionOptions options = old.creation_options();
    bson::Builder stored;
    for (const bson::Element& option : options.options) {
        if (option.name() != "temp") stored.append(option);
    }
    options.options = stored.append("temp", true).object();
    // One whose creation was cut short is to have it and has it not.
    if (options.id_index && damaged.id_index() == nullptr)
        specs.insert(specs.begin(), id_index_spec(ns, damaged.collator().get()));
    options.id_index = options.id_index || damaged.id_index() != nullptr;
    const auto create = [&]() -> storage::CollectionStore& {
        const storage::WriteUnit unit(engine_.durability());
        return store_.create_collection(temporary, options);
    };
    storage::CollectionStore& fresh = create();
    int64_t copied = 0;
    int64_t skipped = 0;
    try {
        old.salvage(
            [&](bson::Doc doc) {
                storage::WriteUnit unit(engine_.durability());
                unit.admit(doc.size());
                fresh.records().insert(doc);
                unit.keep();
                ++copied;
                sched::tick_bytes(doc.size(), sched::PerTick::walked, sched::kTicksPerDocument);
            },
            [&](const std::string& what) {
                ++skipped;
                base::log::warning("repair of {}: skipping: {}", ns, what);
            });
        Collection& target = adopt(fresh);
        const std::string aside = unused_name(ns);
        for (const bson::Object& spec : specs) {
            try {
                build_index(target, engine_, spec);
            } catch (const base::Error& error) {
                if (!is_of_the_index(error)) throw;
                base::log::error("repair of {}: index {} is dropped: {}", ns,
                                 spec["name"].as_string(), error.what());
            }
        }
        const storage::WriteUnit unit(engine_.durability());
        collections_.erase(temporary);
        damaged.waiters().wake();
        collections_.erase(ns);
        put_in_place(temporary, ns, aside);
    } catch (...) {
        const storage::WriteUnit unit(engine_.durability());
        if (const auto at = collections_.find(temporary); at != collections_.end())
            collections_.erase(at);
        try {
            store_.drop_collection(temporary);
        } catch (const base::Error& error) {
            base::log::warning("repair of {}: cannot drop {}: {}", ns, temporary, error.what());
        }
        storage::CollectionStore* const kept = store_.collection(ns);
        if (kept != nullptr && !collections_.contains(ns)) adopt(*kept);
        throw;
    }
    adopt(*store_.collection(ns));
    base::log::info("repair of {}: {} documents, {} places skipped", ns, copied, skipped);
}

// Does what replace() does, where neither of them is open here, and the old one may be damaged
// beyond a rename.
void Database::put_in_place(const std::string& temporary, const std::string& ns,
                            const std::string& aside) {
    bool kept = true;
    try {
        store_.rename_collection(ns, aside, true);
    } catch (const base::Error& error) {
        base::log::warning("repair of {}: the old collection goes first: {}", ns, error.what());
        store_.drop_collection(ns);
        kept = false;
    }
    try {
        store_.rename_collection(temporary, ns, false);
    } catch (...) {
        if (kept) store_.rename_collection(aside, ns, true);
        throw;
    }
    if (kept) store_.drop_collection(aside);
}

}  // namespace catalog
