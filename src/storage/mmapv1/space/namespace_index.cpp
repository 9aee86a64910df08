#include "storage/mmapv1/space/namespace_index.h"

#include "base/damage.h"
#include "base/dcheck.h"

namespace mmapv1 {

NamespaceIndex::NamespaceIndex(Views& views, MappedFile& file)
    : views_(views),
      file_(file),
      table_(reinterpret_cast<NamespaceSlot*>(file.view())),
      slots_(static_cast<int32_t>(file.length() / static_cast<int64_t>(sizeof(NamespaceSlot)))) {
    if (slots_ % 2 == 0) slots_--;
    max_chain_ = static_cast<int32_t>(0.05 * slots_);
}

int32_t NamespaceIndex::hash(std::string_view ns) {
    uint32_t x = 0;
    for (const char c : ns)
        x = x * 131 + static_cast<uint32_t>(static_cast<signed char>(c));
    return static_cast<int32_t>((x & 0x7fffffff) | 0x08000000);
}

NamespaceSlot* NamespaceIndex::find(std::string_view ns) const {
    const int32_t hash = NamespaceIndex::hash(ns);
    int32_t at = home(hash);
    for (int32_t i = 0; i < max_chain_; i++) {
        NamespaceSlot& slot = table_[at];
        if (slot.hash == hash && slot.name() == ns) return &slot;
        if (++at == slots_) at = 0;
    }
    return nullptr;
}

NamespaceSlot& NamespaceIndex::free_slot(std::string_view ns, int32_t hash) const {
    if (ns.size() > static_cast<size_t>(kNamespaceBytesMax))
        base::fail(base::kInvalidNamespace, "namespace {} is longer than {} bytes", ns,
                   kNamespaceBytesMax);
    int32_t at = home(hash);
    for (int32_t i = 0; i < max_chain_; i++) {
        if (table_[at].hash == 0) return table_[at];
        if (++at == slots_) at = 0;
    }
    base::fail(10081, "no room for {} in namespace file {}: too many collections and indexes", ns,
               file_.path());
}

NamespaceSlot& NamespaceIndex::add(std::string_view ns) {
    // An entry without a collection, of a process that was killed or a crafted file, would be taken
    // for the new one, with its extents.
    if (find(ns) != nullptr)
        base::fail(base::Damaged{base::kInternalError},
                   "namespace file {} has an entry {} already, though nothing that is open is "
                   "called so; check it with dbpath_check and repair the database",
                   file_.path(), ns);
    const int32_t hash = NamespaceIndex::hash(ns);
    NamespaceSlot& slot = free_slot(ns, hash);
    views_.declare(&slot, sizeof slot);
    std::memset(static_cast<void*>(&slot), 0, sizeof slot);
    std::memcpy(slot.key, ns.data(), ns.size());
    slot.hash = hash;
    DCHECK(find(ns) == &slot);
    return slot;
}

void NamespaceIndex::erase(NamespaceSlot& slot) {
    DCHECK(&slot >= table_ && &slot < table_ + slots_);
    DCHECK(slot.hash != 0);
    views_.declare(&slot, offsetof(NamespaceSlot, key) + 1);
    slot.hash = 0;
    slot.key[0] = 0x7f;
}

void NamespaceIndex::erase(std::string_view ns) {
    if (NamespaceSlot* slot = find(ns)) erase(*slot);
}

std::vector<NamespaceSlot*> NamespaceIndex::all() const {
    std::vector<NamespaceSlot*> used;
    for (int32_t i = 0; i < slots_; i++)
        if (table_[i].hash != 0) used.push_back(&table_[i]);
    return used;
}

void NamespaceIndex::init_details(NamespaceDetails& details) {
    std::memset(static_cast<void*>(&details), 0, sizeof details);
    details.first_extent = details.last_extent = DiskLoc::null();
    for (DiskLoc& head : details.deleted_list)
        head = DiskLoc::null();
    for (IndexDetails& index : details.indexes)
        index = {DiskLoc::null(), DiskLoc::null()};
    details.max_documents = kNoDocumentLimit;
    details.padding_factor = 1.0;
    details.cap_extent = DiskLoc::null();
    details.cap_first_new = DiskLoc::invalid();
}

}  // namespace mmapv1
