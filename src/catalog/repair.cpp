// repairDatabase and --repair, for one collection (wire spec 2.4).
//
// Documents are copied into a temporary collection, which then takes the place of the old one
// between two commits. A crash leaves the old collection, and a temporary one that the next start
// drops; or the new one, with index builds that the next start takes up again.
#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/operation.h"
#include "catalog/catalog.h"
#include "catalog/index_build.h"

namespace catalog {

namespace {

// What it costs to store a document (base/operation.h).
constexpr int64_t kTicksPerDocument = 8;
constexpr int32_t kBytesPerTick = 256;

}  // namespace

void Database::repair(std::string_view given) {
    DCHECK(storage::LockManager::may_write(name()));
    const std::string ns(given);
    const std::string temporary = name() + ".tmp.repair";
    Collection& damaged = *collections_.at(ns);
    storage::CollectionStore& old = damaged.store();
    old.check_writable();
    refuse_while_building(damaged);
    const std::vector<bson::Object> specs = all_specs(damaged);

    storage::CollectionOptions options = old.creation_options();
    bson::Builder stored;
    for (const bson::Element& option : options.options) {
        if (option.name() != "temp") stored.append(option);
    }
    options.options = stored.append("temp", true).object();
    options.id_index = damaged.id_index() != nullptr;
    storage::CollectionStore& fresh = store_.create_collection(temporary, options);
    int64_t copied = 0;
    int64_t skipped = 0;
    try {
        old.salvage(
            [&](bson::Doc doc) {
                engine_.durability().make_room(doc.size());
                fresh.records().insert(doc);
                ++copied;
                base::Operation::tick(kTicksPerDocument + doc.size() / kBytesPerTick);
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
    damaged.wake_waiters();
    collections_.erase(ns);
    store_.drop_collection(ns);
    store_.rename_collection(temporary, ns, false);
    const auto lost = [&](std::string_view index, const base::Error& error) {
        base::log::error("repair of {}: index {} is dropped: {}", ns, index, error.what());
    };
    std::vector<std::string> begun;
    for (const bson::Object& spec : specs) {
        const std::string index(spec["name"].as_string());
        try {
            fresh.begin_index(spec);
            begun.push_back(index);
        } catch (const base::Error& error) {
            lost(index, error);
        }
    }
    Collection& target = adopt(*store_.collection(ns));

    // Whoever is interrupted now must not lose indexes for it.
    const base::Operation::Scope undisturbed(nullptr);
    for (const std::string& index : begun) {
        try {
            fill_index(target, engine_, slot_of(target, index));
        } catch (const base::Error& error) {
            lost(index, error);
        }
    }
    base::log::info("repair of {}: {} documents, {} places skipped", ns, copied, skipped);
}

}  // namespace catalog
