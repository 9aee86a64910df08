// storage/mmapv1/collection.h - one collection as stored: its records, its index slots and their
// trees (mmapv1 spec 3.4, 3.5, 10.4, 10.5).
//
// Belongs to a database, which keeps the catalogue documents and the namespace file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/engine.h"
#include "storage/mmapv1/btree/index_store.h"
#include "storage/mmapv1/collection_owner.h"
#include "storage/mmapv1/space/record_store.h"

namespace mmapv1 {

// An index under the new name of its collection.
struct RenamedIndex {
    std::string old_ns;
    std::string new_ns;
    NamespaceSlot* entry = nullptr;
    bson::Object spec;
    storage::RecordId definition;  // where that is in system.indexes
};

class MmapCollection final : public storage::CollectionStore {
  public:
    // Opens the namespace with its index slots. Throws base::Error when an index lacks its
    // namespace (17329) or its definition.
    MmapCollection(CollectionOwner& owner, NamespaceDetails& details, std::string ns);
    ~MmapCollection() override;

    const std::string& ns() const override { return records_->storage().ns(); }
    MmapRecordStore& records() override { return *records_; }
    bson::Object options() const override;
    void set_user_flags(int32_t flags) override;
    void replace_options(bson::Doc options) override;

    int index_count() const override { return static_cast<int>(indexes_.size()); }
    storage::IndexEntry index(int slot) const override;
    int begin_index(bson::Doc spec) override;
    int finish_index(int slot) override;
    void drop_index(int slot) override;
    void set_multikey(int slot) override;
    void replace_index_spec(int slot, bson::Doc spec) override;

    storage::ValidateReport validate(const storage::ValidateOptions& options,
                                     bson::Builder& metrics) override;
    void append_verbose_stats(bson::Builder& out, int64_t scale) const override;
    void compact(const bson::Object& command, const storage::CompactHooks& hooks,
                 bson::Builder& out) override;
    storage::CollectionOptions creation_options() const override;
    void salvage(const std::function<void(bson::Doc)>& use,
                 const std::function<void(const std::string&)>& skipped) override;
    void check_writable() const override;

    NamespaceDetails& details() const { return records_->storage().details(); }
    NamespaceStorage& storage() { return records_->storage(); }
    const NamespaceStorage& storage() const { return records_->storage(); }
    // The slot on disk; null when it lies in an extra block that does not exist.
    IndexDetails* slot_details(int slot) const;
    // The definition a slot names, as it was read when the index was opened: in a crafted file its
    // place may be one that is written to.
    bson::Doc definition(int slot) const {
        return bson::Doc(indexes_[static_cast<size_t>(slot)]->definition.data());
    }
    // The definition has been written anew, elsewhere.
    void redefine(int slot, const bson::Object& definition) {
        indexes_[static_cast<size_t>(slot)]->define(definition);
    }
    IndexStore& buckets(int slot) { return indexes_[static_cast<size_t>(slot)]->store; }
    const storage::SortedIndex* tree(int slot) const {
        return indexes_[static_cast<size_t>(slot)]->tree.get();
    }
    std::string index_ns(int slot) const;

    // Moves to a new entry of the namespace file (rename); the storage stays, and trees keep
    // working.
    void rebind(NamespaceDetails& details, const std::string& ns);
    // The index follows its collection, which has its new name already.
    void rename_index(int slot, const RenamedIndex& index, std::string_view old_ns);
    // Its extents, or those of its indexes, are no longer shared with others.
    void read_extents();
    // Creates the extra block that holds `slot` if it is not there (mmapv1 spec 3.5).
    void ensure_extra_block(int slot);
    // The last step of a drop, indexes are gone: all extents become free.
    void release();

  private:
    struct Part {
        Part(ExtentManager& extents, NamespaceDetails& details, std::string ns, IndexDetails& slot)
            : store(extents, details, std::move(ns), slot) {}
        void define(bson::Doc stored);
        bson::Doc spec() const { return bson::Doc(shown.data()); }
        std::string name;
        std::vector<uint8_t> definition;  // as it is on disk
        std::vector<uint8_t> shown;       // as storage/engine.h has it
        IndexStore store;
        std::unique_ptr<storage::SortedIndex> tree;  // null: cannot be maintained here
    };

    void check_extra_blocks() const;
    void open_index(int slot);
    // Takes a definition off system.indexes, if it is there and that of an index of `ns`.
    void undefine(DiskLoc info, bson::Doc definition, std::string_view ns) const;
    void point_parts_at_slots();
    int slot_total() const { return details().index_count + details().index_builds; }

    CollectionOwner& owner_;
    const std::unique_ptr<MmapRecordStore> records_;
    std::vector<std::unique_ptr<Part>> indexes_;  // by slot
};

// Why the engine cannot maintain an index with that definition; empty if it can. `minor_level` is
// the low nibble of the files' minor version (mmapv1 spec 2.2 rule 2).
std::string unsupported_index(bson::Doc spec, int32_t minor_level);

// Throws base::Error where a collection, or what belongs to one, may have the name that an index's
// namespace would have: the master's operation log is called as an index "main" of local.oplog
// would be (mmapv1 spec 1.1 rule 6).
void check_index_namespace(std::string_view ns, std::string_view index_ns);

}  // namespace mmapv1
