// Repairs the parts of a database that belong to it as a whole, before each collection: the list of
// free extents and the catalogue (mmapv1 spec 3.6, 7, 10). A process that had no journal and was
// killed leaves these in the midst of a change: a collection that is not listed yet, an index that
// is in no slot any more, a catalogue document that is half linked.
#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "storage/mmapv1/database.h"
#include "storage/mmapv1/space/checked.h"

namespace mmapv1 {

namespace {

// The entry of a catalogue collection that is being written anew; never listed, and no collection
// can be called so.
constexpr const char* kAside = ".$catalogue";

// A definition as it has to be in a collection that was being renamed.
bson::Object definition_for(std::string_view ns, bson::Doc definition) {
    bson::Builder out;
    for (const bson::Element& field : definition) {
        if (field.name() == "ns")
            out.append("ns", ns);
        else
            out.append(field);
    }
    return out.object();
}

}  // namespace

void MmapDatabase::repair() {
    if (!writable() || files_.count() == 0) return;
    repair_free_space();
    forget_half_renamed();
    forget_half_dropped();
    forget_strays();
    lift_protection();
    rewrite_definitions();
    rewrite_listing();
}

void MmapDatabase::repair_free_space() {
    if (extents_.free_list_is_valid()) return;
    base::log::warning("database {}: the list of free extents is broken; their space is given up",
                       name_);
    extents_.forget_free_list();
}

// Removes one of the two names that have the same extents for a moment of a rename. The entries of
// indexes follow later: the name without index extents is the new one. Else the owner is the one
// that the extent names: in a crafted file any entry may lead there.
void MmapDatabase::forget_half_renamed() {
    const auto has_indexes = [this](const MmapCollection& collection) {
        for (int slot = 0; slot < collection.index_count(); ++slot) {
            const NamespaceSlot* entry = namespaces_->find(collection.index_ns(slot));
            if (entry != nullptr && entry->details.first_extent.is_valid()) return true;
        }
        return false;
    };
    const auto is_named = [this](const MmapCollection& collection) {
        const DiskLoc first = collection.details().first_extent;
        if (!checked_extent(files_, first)) return false;
        const auto& name = files_.extent(first).ns_diagnostic;
        return std::string_view(name, strnlen(name, sizeof name)) == collection.ns();
    };
    std::map<DiskLoc, const MmapCollection*> owners;
    std::vector<std::string> twins;
    for (const auto& [ns, collection] : collections_) {
        const DiskLoc first = collection->details().first_extent;
        if (!first.is_valid()) continue;
        const auto [at, alone] = owners.emplace(first, collection.get());
        if (alone) continue;
        const bool same = has_indexes(*collection) == has_indexes(*at->second);
        const bool is_first = same ? is_named(*collection) : has_indexes(*collection);
        twins.push_back(is_first ? at->second->ns() : ns);
        if (is_first) at->second = collection.get();
    }
    for (const std::string& ns : twins)
        forget_collection(ns);
}

// The last steps of a drop take a collection off the list and give its extents away, and its
// indexes are gone by then.
void MmapDatabase::forget_half_dropped() {
    std::vector<std::string> half_dropped;
    for (const auto& [ns, collection] : collections_)
        if (ns != namespaces_ns_ && !is_listed(ns) && collection->index_count() == 0 &&
            (shared_.namespaces.contains(ns) || !collection->details().first_extent.is_valid()))
            half_dropped.push_back(ns);
    for (const std::string& ns : half_dropped)
        forget_collection(ns);
}

// One that is reached by its place only, since its entry is damaged, stays.
void MmapDatabase::forget_collection(const std::string& ns) {
    const auto at = collections_.find(ns);
    NamespaceSlot* entry = namespaces_->find(ns);
    if (entry == nullptr || &entry->details != &at->second->details()) return;
    base::log::warning("database {}: {} was being created, renamed or dropped; it is gone", name_,
                       ns);
    collections_.erase(at);
    forget_entry(*entry);
}

// Entries of indexes that no collection has, and of blocks that none uses.
void MmapDatabase::forget_strays() {
    std::set<std::string> used;
    for (const auto& [ns, collection] : collections_) {
        for (int slot = 0; slot < collection->index_count(); ++slot)
            used.insert(collection->index_ns(slot));
        if (collection->details().extra_offset == 0) continue;
        used.insert(ns + "$extra");
        const NamespaceSlot* first = namespaces_->find(ns + "$extra");
        if (first != nullptr && first->extra.next != 0) used.insert(ns + "$extrb");
    }
    for (NamespaceSlot* slot : namespaces_->all()) {
        const std::string ns(slot->name());
        // A namespace that a killed repair has left may hold definitions that are still to be read.
        if (!is_special_namespace(ns) || used.contains(ns) || ns == name_ + kAside) continue;
        base::log::warning("database {}: {} belongs to no collection; it is gone", name_, ns);
        forget_internal(ns);
        forget_entry(*slot, is_extra_block(ns));
    }
}

// Takes an entry away, and gives its extents back where they are its own.
void MmapDatabase::forget_entry(NamespaceSlot& entry, bool is_block) {
    const std::string ns(entry.name());
    if (!is_block && !shared_.namespaces.contains(ns)) {
        try {
            NamespaceStorage(extents_, entry.details, ns).release_extents();
        } catch (const base::Error& error) {
            base::log::warning("database {}: the space of {} is given up: {}", name_, ns,
                               error.what());
        }
    }
    namespaces_->erase(entry);
}

// Lets a collection be written again that shared its bytes only with something that is gone by now.
void MmapDatabase::lift_protection() {
    const SharedExtents before = std::exchange(shared_, {});
    find_shared();
    for (const auto& [ns, collection] : collections_) {
        if (!shares_extents(*collection, before) || shares_extents(*collection, shared_)) continue;
        const NamespaceSlot* entry = namespaces_->find(ns);
        if (entry == nullptr || &entry->details != &collection->details()) continue;
        collection->read_extents();
        collection->records().set_read_only({});
    }
}

// system.indexes holds the definitions that slots name, and no others.
void MmapDatabase::rewrite_definitions() {
    struct IndexSlot {
        MmapCollection* collection;
        int slot;
        DiskLoc info;
    };
    std::vector<IndexSlot> index_slots;
    for (const auto& [ns, collection] : collections_)
        for (int slot = 0; slot < collection->index_count(); ++slot)
            index_slots.push_back({collection.get(), slot, collection->slot_details(slot)->info});
    if (index_slots.empty() && find(indexes_ns_) == nullptr) return;
    std::ranges::sort(index_slots, {}, &IndexSlot::info);
    std::vector<bson::Object> definitions;
    for (const IndexSlot& place : index_slots)
        definitions.push_back(
            definition_for(place.collection->ns(), place.collection->definition(place.slot)));
    rewrite(indexes_ns_, definitions, [&](const std::vector<storage::RecordId>& ids) {
        for (size_t i = 0; i < index_slots.size(); ++i) {
            IndexDetails* slot = index_slots[i].collection->slot_details(index_slots[i].slot);
            views_.writing(slot->info) = DiskLoc::from(ids[i]);
            index_slots[i].collection->redefine(index_slots[i].slot, definitions[i]);
        }
    });
}

// system.namespaces names what has an entry, in the order in which it did.
void MmapDatabase::rewrite_listing() {
    std::set<std::string> wanted;
    for (const auto& [ns, collection] : collections_) {
        if (ns != namespaces_ns_) wanted.insert(ns);
        for (int slot = 0; slot < collection->index_count(); ++slot)
            wanted.insert(collection->index_ns(slot));
    }
    std::vector<bson::Object> rows;
    if (MmapCollection* listing = find(namespaces_ns_)) {
        listing->salvage(
            [&](bson::Doc row) {
                const bson::Element ns = row["name"];
                if (ns.is_string() && wanted.erase(std::string(ns.as_string())) > 0)
                    rows.emplace_back(row);
            },
            [](const std::string&) {});
    }
    for (const std::string& ns : wanted) {
        base::log::warning("database {}: {} was not listed; it is now", name_, ns);
        bson::Builder row;
        row.append("name", ns);
        const MmapCollection* found = find(ns);
        if (found != nullptr && found->details().is_capped != 0) {
            const storage::CollectionOptions made = found->creation_options();
            row.append("options", bson::make("capped", true, "size", made.capped_bytes));
        }
        rows.push_back(row.object());
    }
    rewrite(namespaces_ns_, rows, [](const auto&) {});
    listing_.clear();
    read_listing();
}

// A catalogue collection with these documents, in extents of its own. `written` is called with
// their location; only after that does the entry name them, and the old ones are freed last.
void MmapDatabase::rewrite(
    const std::string& ns, const std::vector<bson::Object>& documents,
    const std::function<void(const std::vector<storage::RecordId>&)>& written) {
    MmapCollection& old = find(ns) != nullptr ? *find(ns) : make_collection(ns, {}, false);
    // This was left by a repair that was killed. Slots may name definitions there, which have been
    // read by now.
    if (NamespaceSlot* left = namespaces_->find(name_ + kAside)) forget_entry(*left);
    NamespaceSlot& aside = namespaces_->add(name_ + kAside);
    NamespaceIndex::init_details(aside.details);
    std::vector<storage::RecordId> ids;
    try {
        MmapCollection fresh(*this, aside.details, ns);
        add_first_extents(fresh, {});
        for (const bson::Object& document : documents)
            ids.push_back(fresh.records().insert(document.doc()));
    } catch (...) {
        forget_entry(aside);
        throw;
    }
    old.records().cursors().invalidate_all();
    written(ids);
    views_.declare(&old.details(), sizeof(NamespaceDetails));
    views_.declare(&aside.details, sizeof(NamespaceDetails));
    std::swap(old.details(), aside.details);
    old.storage().read_extents();
    // Its old extents may be another's too, though they were not when it was opened.
    forget_entry(aside, shared_.namespaces.contains(ns));
    old.records().set_read_only({});
}

}  // namespace mmapv1
