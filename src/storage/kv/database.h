// storage/kv/database.h - a database: its collections, and a row of the catalogue that says it
// is there while it has none (name -> {}).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "storage/kv/collection.h"

namespace kv {

class Database final : public storage::DatabaseStore {
  public:
    Database(Store& store, std::string_view name) : store_(store), name_(name) {}
    // Writes the row of a new database into the catalogue.
    void write_row();
    // Adds the collection that a row of the catalogue describes.
    void add(std::string_view ns, bson::Doc row);
    // Drops the database with all its collections; the drop goes with the next commit.
    void drop();
    int64_t bytes() const;

    const std::string& name() const override { return name_; }
    std::vector<std::string> collections() const override;
    storage::CollectionStore* collection(std::string_view ns) override;
    storage::CollectionStore& create_collection(std::string_view ns,
                                                const storage::CollectionOptions& options) override;
    void drop_collection(std::string_view ns) override;
    void rename_collection(std::string_view from, std::string_view to, bool stay_temp) override;
    storage::DatabaseStats stats() const override;

  private:
    using Collections = std::map<std::string, std::unique_ptr<Collection>, std::less<>>;

    Collections::iterator find(std::string_view ns);
    void refuse_existing(std::string_view ns) const;

    Store& store_;
    const std::string name_;
    Collections collections_;
};

}  // namespace kv
