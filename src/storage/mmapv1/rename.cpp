// Renaming a collection within its database (mmapv1 spec 10.8): entries of the namespace file and
// catalogue documents are made anew, extents stay where they are.
#include "base/error.h"
#include "storage/mmapv1/database.h"
#include "storage/renamed.h"

namespace mmapv1 {

namespace {

// A copy of a slot's value under another name; the old entry goes.
NamespaceSlot& move_entry(NamespaceIndex& namespaces, std::string_view from, std::string_view to) {
    NamespaceSlot& old = *namespaces.find(from);
    NamespaceSlot& made = namespaces.add(to);  // declared
    made.details = old.details;
    namespaces.erase(old);
    return made;
}

}  // namespace

void MmapDatabase::rename_collection(std::string_view from, std::string_view to, bool stay_temp) {
    check_writable();
    const auto it = collections_.find(from);
    if (it == collections_.end()) base::fail(base::kNamespaceNotFound, "ns not found: {}", from);
    if (find(to) != nullptr) base::fail(base::kNamespaceExists, "target namespace {} exists", to);
    if (to.size() > static_cast<size_t>(kMaxCollectionNamespaceBytes))
        base::fail(base::kInvalidNamespace, "namespace {} is longer than {} bytes", to,
                   kMaxCollectionNamespaceBytes);
    MmapCollection& collection = *it->second;
    collection.records().check_writable();
    for (int slot = 0; slot < collection.index_count(); slot++)
        if (collection.index_ns(slot).size() - from.size() + to.size() >
            static_cast<size_t>(kMaxNamespaceBytes))
            base::fail(base::kInvalidNamespace,
                       "index {} would have a name longer than {} bytes after the rename",
                       collection.index_ns(slot), kMaxNamespaceBytes);
    namespaces_->check_room(to);
    for (int slot = 0; slot < collection.index_count(); slot++)
        namespaces_->check_room(
            fmt::format("{}{}", to, collection.index_ns(slot).substr(from.size())));

    const std::string old_ns(from);
    const std::string new_ns(to);
    collection.rebind(move_entry(*namespaces_, old_ns, new_ns).details, new_ns);
    move_extra_blocks(collection, old_ns);
    list(new_ns, storage::renamed_options(listed_options(old_ns), to, stay_temp));
    unlist(old_ns);
    for (int slot = 0; slot < collection.index_count(); slot++)
        collection.rename_index(slot, old_ns);
    collections_.emplace(new_ns, std::move(it->second));
    collections_.erase(old_ns);
}

// The blocks are found by distance from the value, which has moved (mmapv1 spec 3.5 rule 4).
void MmapDatabase::move_extra_blocks(MmapCollection& collection, const std::string& from) {
    NamespaceDetails& d = collection.details();
    if (d.extra_offset == 0) return;
    auto* base = reinterpret_cast<uint8_t*>(&d);
    const std::string to = collection.ns();
    ExtraBlock& first = move_entry(*namespaces_, from + "$extra", to + "$extra").extra;
    views_.declare(&d.extra_offset, sizeof d.extra_offset);
    d.extra_offset = reinterpret_cast<uint8_t*>(&first) - base;
    if (first.next == 0) return;
    ExtraBlock& second = move_entry(*namespaces_, from + "$extrb", to + "$extrb").extra;
    first.next = reinterpret_cast<uint8_t*>(&second) - base;
}

void MmapCollection::rename_index(int slot, const std::string& from) {
    Part& part = *indexes_[static_cast<size_t>(slot)];
    const std::string old_index_ns = fmt::format("{}.${}", from, part.name);
    const std::string new_index_ns = index_ns(slot);
    IndexDetails& on_disk = *slot_details(slot);
    const storage::RecordId old_info = on_disk.info.id();
    MmapRecordStore& definitions = database_.index_definitions().records();
    const storage::RecordId info = definitions.insert(storage::renamed_spec(spec(slot), ns()));
    storage().views().writing(on_disk.info) = DiskLoc::from(info);
    part.store.set_slot(on_disk);
    part.store.storage().rebind(
        move_entry(database_.namespaces(), old_index_ns, new_index_ns).details, new_index_ns);
    database_.list(new_index_ns, bson::Doc());
    database_.unlist(old_index_ns);
    database_.forget_internal(old_index_ns);
    definitions.remove(old_info);
}

}  // namespace mmapv1
