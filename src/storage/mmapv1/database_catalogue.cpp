// The documents by which MmapDatabase knows its collections and their indexes, as the formats have
// them: system.namespaces and system.indexes.
#include <algorithm>

#include "base/damage.h"
#include "base/log.h"
#include "storage/mmapv1/database.h"

namespace mmapv1 {

namespace {

// No database has as many of its indexes' definitions: 250 bytes are usual for one.
constexpr int64_t kDefinitionBytesMax = 256 << 20;

}  // namespace

bson::Object MmapDatabase::listed_options(std::string_view ns) const {
    const auto it = listing_.find(ns);
    if (it == listing_.end()) return {};
    const bson::Element options = find(namespaces_ns_)->records().get(it->second)["options"];
    return options.is_object() ? bson::Object(options.as_doc()) : bson::Object();
}

void MmapDatabase::list(std::string_view ns, bson::Doc options) {
    bson::Builder doc;
    doc.append("name", ns);
    if (!options.empty()) doc.append("options", options);
    MmapCollection* listing = find(namespaces_ns_);
    if (listing == nullptr)  // a crafted file has collections without it
        listing = &make_collection(namespaces_ns_, {}, false);
    listing_.insert_or_assign(std::string(ns), listing->records().insert(doc.doc()));
}

void MmapDatabase::unlist(std::string_view ns) {
    const auto it = listing_.find(ns);
    if (it == listing_.end()) return;
    forget_document(*find(namespaces_ns_), it->second);
    listing_.erase(it);
}

// A change that needs this has begun, and ends whole: a document that cannot be removed since it,
// or what lies beside it, is damaged stays behind, and nothing goes by it any more.
void MmapDatabase::forget_document(MmapCollection& catalogue, storage::RecordId id) {
    try {
        catalogue.records().remove(id);
    } catch (const std::exception& e) {
        base::log::warning(
            "database {} is damaged: a document of {} is left behind: {}; check it "
            "with dbpath_check{}",
            name_, catalogue.ns(), e.what(), base::damage_advice());
    }
}

void MmapDatabase::replace_options(std::string_view ns, bson::Doc options) {
    const auto it = listing_.find(ns);
    if (it == listing_.end()) return;
    bson::Builder doc;
    doc.append("name", ns);
    if (!options.empty()) doc.append("options", options);
    MmapRecordStore& records = find(namespaces_ns_)->records();
    if (records.fits(it->second, doc.doc().size())) {
        records.overwrite(it->second, doc.doc());
        return;
    }
    const storage::RecordId moved = records.insert_moved(it->second, doc.doc());
    records.remove(it->second);
    it->second = moved;
}

MmapRecordStore& MmapDatabase::index_definitions() {
    MmapCollection* found = find(indexes_ns_);
    return (found != nullptr ? *found : create_collection(indexes_ns_, {})).records();
}

void MmapDatabase::undefine(storage::RecordId id, bson::Doc definition) {
    MmapCollection* found = find(indexes_ns_);
    if (found == nullptr) return;
    try {
        const bson::Doc stored = found->storage().files().document(DiskLoc::from(id));
        if (!std::ranges::equal(stored.bytes(), definition.bytes()))
            base::fail(base::kInternalError, "it has changed");
        forget_document(*found, id);
    } catch (const std::exception& e) {
        base::log::warning("database {} is damaged: a definition of an index is left behind: {}",
                           name_, e.what());
    }
}

void MmapDatabase::count_definition(int32_t bytes) {
    if (!opening_) return;
    definition_bytes_ += bytes;
    if (definition_bytes_ > kDefinitionBytesMax)
        base::fail(base::Damaged{base::kInternalError},
                   "database {} is damaged: the definitions of its indexes have more than {} MB; "
                   "check it with dbpath_check",
                   name_, kDefinitionBytesMax >> 20);
}

// A client's definitions must not prevent the next start. A definition may yet grow by the name
// that its collection gets.
void MmapDatabase::check_definition(int32_t bytes) const {
    constexpr int64_t kAddedBytesMax = kDefinitionBytesMax / 4 * 3;
    int64_t sum = bytes + kNamespaceBytesMax;
    for (const auto& [ns, collection] : collections_)
        for (int slot = 0; slot < collection->index_count(); ++slot)
            sum += collection->definition(slot).size() + kNamespaceBytesMax;
    if (sum > kAddedBytesMax)
        base::fail(base::kOperationFailed,
                   "the definitions of the indexes of database {} would have more than {} MB; drop "
                   "some, or make them smaller",
                   name_, kAddedBytesMax >> 20);
}

}  // namespace mmapv1
