// repairDatabase and --repair, for one collection (wire spec 2.4).
//
// Documents are copied into a temporary collection, which then takes the place of the old one
// between two commits. A crash leaves the old collection, and a temporary one that the next start
// drops; or the new one, with index builds that the next start takes up again.
#include "base/error.h"
#include "base/log.h"
#include "base/operation.h"
#include "catalog/catalog.h"
#include "catalog/collection_impl.h"
#include "catalog/index_build.h"

namespace catalog {

namespace {

constexpr int64_t kCommitEvery = 128;
constexpr int32_t kHasIdIndex = 1;

int slot_named(const storage::CollectionStore& store, std::string_view name) {
    int slot = 0;
    while (store.index(slot).name != name)
        ++slot;
    return slot;
}

}  // namespace

void Database::repair(std::string_view given) {
    const std::string ns(given);
    const std::string temporary = name() + ".tmp.repair";
    storage::CollectionStore& old = collections_.at(ns)->store();
    old.check_writable();
    refuse_while_building(*collections_.at(ns));
    const bool has_id_index = collections_.at(ns)->id_index() != nullptr;
    std::vector<bson::Object> specs;
    for (const auto& index : collections_.at(ns)->indexes())
        specs.emplace_back(index->spec);

    storage::CollectionOptions options = old.creation_options();
    bson::Builder stored;
    for (const bson::Element& option : options.options) {
        if (option.name() != "temp") stored.append(option);
    }
    options.options = stored.append("temp", true).object();
    storage::CollectionStore& fresh = store_.create_collection(temporary, options);
    int64_t copied = 0;
    int64_t skipped = 0;
    try {
        old.salvage(
            [&](bson::Doc doc) {
                fresh.records().insert(doc);
                if (++copied % kCommitEvery != 0) return;
                base::Operation::check();
                engine_.durability().commit_if_needed();
            },
            [&](const std::string& what) {
                ++skipped;
                base::log::warning("repair of {}: skipping: {}", ns, what);
            });
    } catch (...) {
        store_.drop_collection(temporary);
        throw;
    }

    // No commit from here until the new collection is complete but for the content of its indexes.
    collections_.at(ns)->wake_waiters();
    collections_.erase(ns);
    store_.drop_collection(ns);
    store_.rename_collection(temporary, ns, false);
    for (const bson::Object& spec : specs)
        fresh.begin_index(spec);
    CollectionImpl& target = adopt(*store_.collection(ns));
    if (has_id_index) target.store().set_system_flags(kHasIdIndex);

    // Whoever is interrupted now must not lose indexes for it.
    const base::Operation::Scope undisturbed(nullptr);
    for (const bson::Object& spec : specs) {
        const std::string index(spec["name"].as_string());
        try {
            fill_index(target, engine_.durability(), slot_named(target.store(), index));
        } catch (const base::Error& error) {
            base::log::error("repair of {}: index {} is dropped: {}", ns, index, error.what());
        }
    }
    base::log::info("repair of {}: {} documents, {} places skipped", ns, copied, skipped);
}

}  // namespace catalog
