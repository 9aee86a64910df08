// storage/mmapv1/salvage/salvage_database.h - everything that can be read of one damaged database:
// collections with their documents, options and index definitions (mmapv1 spec 8.1).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "os/file_system.h"
#include "storage/mmapv1/salvage/extent_records.h"

namespace mmapv1 {

struct SalvagedCollection {
    std::string db;
    std::string name;                   // without the database's
    bson::Object options;               // as the catalogue has them; capped ones always say so
    std::vector<bson::Object> indexes;  // definitions as in system.indexes
    int64_t documents = 0;              // handed out
    // The count in its entry of the namespace file; nothing if there is none.
    std::optional<int64_t> counted;
    int64_t unread = 0;  // records that are there and cannot be read
    // The damage that was found, up to kDamageMax; unread records are among it.
    std::vector<Damage> damage;
    int64_t damage_count = 0;
    static constexpr size_t kDamageMax = 50;

    // Whether all that it ever had was read, as far as that is known.
    bool whole() const { return damage_count == 0 && (!counted || *counted == documents); }
};

// The receiver of what is found.
class SalvageSink {
  public:
    virtual ~SalvageSink() = default;
    // Collections come one after the other, each with its documents and then its end. `doc` is good
    // during the call.
    virtual void begin(const std::string& db, const std::string& collection) = 0;
    virtual void document(bson::Doc doc) = 0;
    virtual void end(const SalvagedCollection& collection) = 0;
};

// Reads one database and returns damage that belongs to none of its collections. Throws base::Error
// only when the dbpath cannot be listed, or what `sink` throws. system.namespaces, system.indexes
// and system.profile are read, not handed out.
std::vector<Damage> salvage_database(os::FileSystem& files, const std::string& dbpath,
                                     const std::string& db, bool directory_per_db,
                                     SalvageSink& sink);

}  // namespace mmapv1
