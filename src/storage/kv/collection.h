// storage/kv/collection.h - a collection: its row in the catalogue, its records, its indexes.
//
// Row of the catalogue: full name -> {records: table, made: {capped, bytes, documents, flags, id},
// options, indexes: [{spec, table, ready, multikey}]}. It is written anew with each change of
// these.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/engine.h"
#include "storage/kv/record_store.h"
#include "storage/kv/sorted_index.h"

namespace kv {

class Collection final : public storage::CollectionStore {
  public:
    // A new one; writes its row.
    Collection(Store& store, std::string_view ns, const storage::CollectionOptions& options);
    // One of the catalogue. Throws base::Error where the row is damaged.
    Collection(Store& store, std::string_view ns, bson::Doc row);

    // It, its indexes and its row go with the next commit.
    void drop();
    void rename(std::string_view to, bool stay_temp);
    int64_t bytes() const;

    // Returns the table of the records that a row of the catalogue names.
    static Table records_of(bson::Doc row);
    // Whether two such rows say the same, but for whether indexes have arrays.
    static bool same_but_for_arrays(bson::Doc a, bson::Doc b);

    const std::string& ns() const override { return ns_; }
    RecordStore& records() override { return *records_; }
    bson::Object options() const override { return made_.options; }
    void set_user_flags(int32_t flags) override;
    void replace_options(bson::Doc options) override;
    int index_count() const override { return static_cast<int>(parts_.size()); }
    storage::IndexEntry index(int slot) const override;
    int begin_index(bson::Doc spec) override;
    int finish_index(int slot) override;
    void drop_index(int slot) override;
    void set_multikey(int slot) override;
    void replace_index_spec(int slot, bson::Doc spec) override;
    storage::ValidateReport validate(const storage::ValidateOptions& options,
                                     bson::Builder& metrics) override;
    void compact(const bson::Object& command, const storage::CompactHooks& hooks,
                 bson::Builder& out) override;
    storage::CollectionOptions creation_options() const override;
    void salvage(const std::function<void(bson::Doc)>& use,
                 const std::function<void(const std::string&)>& skipped) override;

  private:
    struct Part {
        Part(Store& store, bson::Doc definition, Table table);
        std::string name() const { return std::string(spec["name"].as_string()); }
        bson::Object spec;
        bool multikey = false;
        bool ready = false;
        SortedIndex index;
    };

    Part& part(int slot) const { return *parts_.at(static_cast<size_t>(slot)); }
    void open_records(Table table);
    void write_row();
    int64_t check_records(bool whole, storage::ValidateReport& report, int64_t* invalid) const;
    void check_keys(const Part& part, int64_t there, const storage::ValidateOptions& options,
                    storage::ValidateReport& report) const;

    Store& store_;
    std::string ns_;
    storage::CollectionOptions made_;
    std::unique_ptr<RecordStore> records_;
    std::vector<std::unique_ptr<Part>> parts_;  // by slot
};

}  // namespace kv
