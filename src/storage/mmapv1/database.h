// storage/mmapv1/database.h - one database: its files, its namespaces and its catalogue documents
// (mmapv1 spec 3.6, 7, 10).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "storage/engine.h"
#include "storage/mmapv1/collection.h"
#include "storage/mmapv1/space/namespace_index.h"
#include "storage/mmapv1/space/shared_extents.h"

namespace mmapv1 {

class MmapDatabase final : public storage::DatabaseStore, public CollectionOwner {
  public:
    // Opens an existing database, or creates its namespace file.
    enum class Mode { open, create };
    MmapDatabase(Views& views, std::string name, const FilePolicy& policy,
                 PaddingSamplers& samplers, Mode mode);
    ~MmapDatabase() override;
    // Brings files of older servers up to date: list heads of 2.4, its $freelist, ancient capped
    // layout. Database lock exclusive (start-up). Not called by tools.
    void upgrade();
    void close();  // unmaps all files; nothing but destruction may follow

    const std::string& name() const override { return name_; }
    bool writable() const override { return read_only_.empty(); }
    std::vector<std::string> collections() const override;
    storage::CollectionStore* collection(std::string_view ns) override { return find(ns); }
    bool has_catalogue_collections() const override { return true; }
    storage::CollectionStore* internal_namespace(std::string_view ns) override;
    MmapCollection& create_collection(std::string_view ns,
                                      const storage::CollectionOptions& options) override;
    void drop_collection(std::string_view ns) override;
    void rename_collection(std::string_view from, std::string_view to, bool stay_temp) override;
    void repair() override;
    storage::DatabaseStats stats() const override;

    MmapCollection* find(std::string_view ns) const;
    void check_writable() const;
    DataFiles& files() { return files_; }
    const DataFiles& files() const { return files_; }
    // Whether system.namespaces lists the collection.
    bool is_listed(std::string_view ns) const { return listing_.find(ns) != listing_.end(); }

    // CollectionOwner
    ExtentManager& extents() override { return extents_; }
    NamespaceIndex& namespaces() const override { return *namespaces_; }
    PaddingSamplers& samplers() override { return samplers_; }
    const std::string& read_only() const override { return read_only_; }
    int32_t minor_level() const override;
    void admit_newer_kinds() override;
    bson::Object listed_options(std::string_view ns) const override;
    void unlist(std::string_view ns) override;
    void list(std::string_view ns, bson::Doc options) override;
    void replace_options(std::string_view ns, bson::Doc options) override;
    MmapRecordStore& index_definitions() override;
    void undefine(storage::RecordId id, bson::Doc definition) override;
    void count_definition(int32_t bytes) override;
    void check_definition(int32_t bytes) const override;
    void forget_internal(std::string_view ns) override;

    // system.indexes and system.namespaces with the database's name.
    const std::string& namespaces_ns() const { return namespaces_ns_; }
    const std::string& indexes_ns() const { return indexes_ns_; }

  private:
    bool lacks_files() const;
    // Whether a collection of this database can be called so.
    bool is_name_here(std::string_view ns) const;
    void open(Mode mode);
    void open_collections();
    void find_shared();
    static bool shares_extents(const MmapCollection& collection, const SharedExtents& shared);
    void protect_shared_extents();
    void read_listing();
    void forget_document(MmapCollection& catalogue, storage::RecordId id);
    void migrate_free_list();
    MmapCollection& make_collection(std::string_view ns, const storage::CollectionOptions& options,
                                    bool listed);
    void check_first_extents(std::string_view ns, const storage::CollectionOptions& options) const;
    void add_first_extents(MmapCollection& collection, const storage::CollectionOptions& options);
    void repair_free_space();
    void forget_half_renamed();
    void forget_half_dropped();
    void forget_collection(const std::string& ns);
    void forget_strays();
    void forget_entry(NamespaceSlot& entry, bool is_block = false);
    void lift_protection();
    void rewrite_definitions();
    void rewrite_listing();
    void rewrite(const std::string& ns, const std::vector<bson::Object>& documents,
                 const std::function<void(const std::vector<storage::RecordId>&)>& written);
    void copy_extra_blocks(const MmapCollection& collection, const std::string& from,
                           NamespaceSlot& entry, const std::vector<NamespaceSlot*>& to);

    Views& views_;
    std::string name_;
    std::string namespaces_ns_;
    std::string indexes_ns_;
    FilePolicy policy_;
    PaddingSamplers& samplers_;
    DataFiles files_;
    std::unique_ptr<NamespaceIndex> namespaces_;
    ExtentManager extents_;
    std::string read_only_;
    bool opening_ = true;
    int64_t definition_bytes_ = 0;  // read by then
    SharedExtents shared_;          // when it was opened
    std::map<std::string, std::unique_ptr<MmapCollection>, std::less<>> collections_;
    std::mutex internal_mutex_;
    // The internal namespaces that were asked for; guarded by internal_mutex_.
    std::map<std::string, std::unique_ptr<MmapCollection>, std::less<>> internal_;
    std::map<std::string, storage::RecordId, std::less<>> listing_;  // in system.namespaces
};

}  // namespace mmapv1
