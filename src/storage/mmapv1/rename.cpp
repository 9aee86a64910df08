// Renaming a collection within its database (mmapv1 spec 10.8): entries of the namespace file and
// catalogue documents are made anew, extents stay where they are.
#include "base/damage.h"
#include "base/log.h"
#include "storage/mmapv1/database.h"
#include "storage/renamed.h"

namespace mmapv1 {

namespace {

// The entries that a rename writes besides those that move. They are all written before the first
// of those moves, since the disk may be full, and taken back unless keep() was called.
class NewNames {
  public:
    explicit NewNames(MmapDatabase& database) : database_(database) {}
    ~NewNames() {
        if (kept_) return;
        try {
            take_back();
        } catch (const std::exception& e) {
            base::log::error("database {}: a rename that failed leaves entries: {}",
                             database_.name(), e.what());
        }
    }
    NewNames(const NewNames&) = delete;
    NewNames& operator=(const NewNames&) = delete;

    NamespaceSlot& add_entry(const std::string& ns) {
        entries_.push_back(&database_.namespaces().add(ns));
        return *entries_.back();
    }
    void list(const std::string& ns, bson::Doc options) {
        database_.list(ns, options);
        listed_.push_back(ns);
    }
    storage::RecordId define(const bson::Object& spec) {
        definitions_.emplace_back(database_.index_definitions().insert(spec), spec);
        return definitions_.back().first;
    }
    void keep() { kept_ = true; }

  private:
    void take_back() {
        for (NamespaceSlot* entry : entries_)
            database_.namespaces().erase(*entry);
        for (const std::string& ns : listed_)
            database_.unlist(ns);
        for (const auto& [id, definition] : definitions_)
            database_.undefine(id, definition);
    }

    MmapDatabase& database_;
    std::vector<NamespaceSlot*> entries_;
    std::vector<std::string> listed_;
    std::vector<std::pair<storage::RecordId, bson::Object>> definitions_;
    bool kept_ = false;
};

void check_entry(const NamespaceIndex& namespaces, const std::string& ns) {
    if (namespaces.find(ns) != nullptr) return;
    base::fail(base::Damaged{base::kInternalError},
               "the namespace file has no entry {} any more; check it with dbpath_check", ns);
}

// The value moves to an entry that has been added, and so declared, by the same operation.
void move_entry(NamespaceIndex& namespaces, const std::string& from, NamespaceSlot& to) {
    NamespaceSlot& old = *namespaces.find(from);
    to.details = old.details;
    namespaces.erase(old);
}

}  // namespace

void MmapDatabase::rename_collection(std::string_view from, std::string_view to, bool stay_temp) {
    check_writable();
    const auto it = collections_.find(from);
    if (it == collections_.end()) base::fail(base::kNamespaceNotFound, "ns not found: {}", from);
    if (find(to) != nullptr) base::fail(base::kNamespaceExists, "target namespace {} exists", to);
    if (to.size() > static_cast<size_t>(kCollectionNamespaceBytesMax))
        base::fail(base::kInvalidNamespace, "namespace {} is longer than {} bytes", to,
                   kCollectionNamespaceBytesMax);
    MmapCollection& collection = *it->second;
    collection.records().check_writable();
    const std::string old_ns(from);
    const std::string new_ns(to);
    for (int slot = 0; slot < collection.index_count(); slot++) {
        const std::string index_ns = new_ns + collection.index_ns(slot).substr(from.size());
        if (index_ns.size() > static_cast<size_t>(kNamespaceBytesMax))
            base::fail(base::kInvalidNamespace,
                       "index {} would have a name longer than {} bytes after the rename",
                       collection.index_ns(slot), kNamespaceBytesMax);
        check_index_namespace(new_ns, index_ns);
    }

    check_entry(*namespaces_, old_ns);
    for (int slot = 0; slot < collection.index_count(); slot++)
        check_entry(*namespaces_, collection.index_ns(slot));
    NewNames made(*this);
    NamespaceSlot& entry = made.add_entry(new_ns);
    std::vector<NamespaceSlot*> extra_blocks;
    for (const char* extra : {"$extra", "$extrb"})
        if (namespaces_->find(old_ns + extra) != nullptr)
            extra_blocks.push_back(&made.add_entry(new_ns + extra));
    made.list(new_ns, storage::renamed_options(listed_options(old_ns), to, stay_temp));
    std::vector<RenamedIndex> indexes;
    for (int slot = 0; slot < collection.index_count(); slot++) {
        RenamedIndex& index = indexes.emplace_back();
        index.old_ns = collection.index_ns(slot);
        index.new_ns = new_ns + index.old_ns.substr(from.size());
        index.entry = &made.add_entry(index.new_ns);
        made.list(index.new_ns, bson::Doc());
        index.spec = storage::renamed_spec(collection.definition(slot), new_ns);
        index.definition = made.define(index.spec);
    }
    made.keep();

    copy_extra_blocks(collection, old_ns, entry, extra_blocks);
    collection.rebind(entry.details, new_ns);
    namespaces_->erase(old_ns);
    for (const char* extra : {"$extra", "$extrb"})
        namespaces_->erase(old_ns + extra);
    unlist(old_ns);
    for (int slot = 0; slot < collection.index_count(); slot++) {
        const RenamedIndex& index = indexes[static_cast<size_t>(slot)];
        move_entry(*namespaces_, index.old_ns, *index.entry);
        collection.rename_index(slot, index, old_ns);
        unlist(index.old_ns);
        forget_internal(index.old_ns);
    }
    collections_.emplace(new_ns, std::move(it->second));
    collections_.erase(old_ns);
}

// The value for another entry. Its blocks are found by distance from it (mmapv1 spec 3.5 rule 4),
// so they are copied first: a killed process leaves none of the two without them.
void MmapDatabase::copy_extra_blocks(const MmapCollection& collection, const std::string& from,
                                     NamespaceSlot& entry, const std::vector<NamespaceSlot*>& to) {
    const auto distance = [&entry](const NamespaceSlot& block) {
        return reinterpret_cast<const uint8_t*>(&block.extra) -
               reinterpret_cast<const uint8_t*>(&entry.details);
    };
    NamespaceDetails moved = collection.details();
    if (moved.extra_offset != 0) {
        to[0]->extra = namespaces_->find(from + "$extra")->extra;
        moved.extra_offset = distance(*to[0]);
        if (to[0]->extra.next != 0) {
            to[1]->extra = namespaces_->find(from + "$extrb")->extra;
            to[0]->extra.next = distance(*to[1]);
        }
    }
    entry.details = moved;
}

void MmapCollection::rename_index(int slot, const RenamedIndex& index, std::string_view old_ns) {
    Part& part = *indexes_[static_cast<size_t>(slot)];
    IndexDetails& on_disk = *slot_details(slot);
    const DiskLoc old_info = on_disk.info;
    const bson::Object old_definition(definition(slot));
    part.define(index.spec);
    storage().views().writing(on_disk.info) = DiskLoc::from(index.definition);
    part.store.set_slot(on_disk);
    part.store.storage().rebind(index.entry->details, index.new_ns);
    undefine(old_info, old_definition, old_ns);
}

}  // namespace mmapv1
