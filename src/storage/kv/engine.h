// storage/kv/engine.h - a storage engine over an ordered map (map.h): all databases in one
// store (store.h), whose catalogue is read at the start.
//
// Threads change documents concurrently. Every other change under a lock becomes visible, and goes
// to the log, as a whole when the lock goes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

#include "storage/engine.h"
#include "storage/kv/database.h"
#include "storage/kv/log_sync.h"

namespace kv {

struct EngineOptions {
    std::string name;
    std::string scratch_directory = {};
    LogSync::Options durable = {};
    Expected found = Expected::nothing;
    // Called at the end of a clean shutdown, when everything is on disk.
    std::function<void()> stopped = {};
    InjectedConflict injected_conflict = {};
};

class Engine final : public storage::Engine {
  public:
    // Reads the catalogue. Throws base::Error where a row of it is damaged, or a table is missing.
    Engine(std::unique_ptr<Map> map, EngineOptions options);
    ~Engine() override;

    std::string_view name() const override { return options_.name; }
    storage::LockManager& locks() override { return locks_; }
    LogSync& durability() override { return durability_; }
    const storage::NameLimits& name_limits() const override { return storage::kNameLimitsOfToday; }
    void refuse_long(bool refuses) override { store_.refuse_long(refuses); }
    bool refuses_long() const override { return store_.refuses_long(); }
    std::vector<std::string> database_names() const override;
    int64_t database_bytes(std::string_view db) const override;
    storage::DatabaseStore* database(std::string_view db) override;
    storage::DatabaseStore& create_database(std::string_view db) override;
    std::unique_ptr<storage::Remains> drop_database(std::string_view db) override;
    void close_database(std::string_view db) override;
    std::unique_ptr<storage::Transaction> begin_transaction() override {
        return store_.begin_long();
    }
    bool is_short_of_cache() const override { return store_.map().is_short_of_cache(); }
    std::string scratch_directory() const override { return options_.scratch_directory; }
    bool copy_data(const std::string& directory) override;
    void append_metrics(bson::Builder& out) const override;
    void shutdown() override;

  private:
    using Databases = std::map<std::string, std::unique_ptr<Database>, std::less<>>;

    // Reads the catalogue's rows of all databases, or of `only` that one. None of them has been
    // read yet.
    void read_catalogue(std::string_view only);
    Databases::iterator find(std::string_view db);

    const EngineOptions options_;
    storage::LockManager locks_;
    Store store_;
    mutable std::shared_mutex mutex_;
    Databases databases_;  // guarded by mutex_
    LogSync durability_;
};

}  // namespace kv
