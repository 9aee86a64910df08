// tests/fuzz/damaged_database.h - a database over the simulated disk, damaged as an input says.
//
// The whole one is made once, by the engine itself: free records, a tree of two levels, a ring that
// has come round, more indexes than fit the first block, free extents; collections d.c, d.ring,
// d.many, and d.neighbour, which no operation of a target names.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "os/testing/sim_file_system.h"
#include "storage/mmapv1/engine.h"
#include "target.h"

namespace fuzz {

constexpr std::string_view kNeighbour = "d.neighbour";  // its indexes begin so, too
constexpr int kNeighbours = 60;                         // documents, with an _id from 0 on

// Any document of the database, and more like it.
bson::Object stored_document(int n);
// One of the field, of that name.
void add_index(catalog::Catalog& catalog, const std::string& ns, const std::string& field);

// An engine over the simulated disk in /db, with the catalog over it.
class SimulatedServer {
  public:
    explicit SimulatedServer(os::SimFileSystem& disk);
    ~SimulatedServer();
    catalog::Catalog& catalog() { return *catalog_; }
    // Work of one operation, under W.
    template <typename Work>
    void run(Work&& work) {
        as_operation([&] {
            const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
            work();
        });
    }

  private:
    std::unique_ptr<mmapv1::MmapEngine> engine_;
    std::unique_ptr<catalog::Catalog> catalog_;
};

class DamagedDatabase {
  public:
    // Whole.
    DamagedDatabase();
    // Takes from the input how many words get which values.
    explicit DamagedDatabase(Input& input);

    // Makes /db on the disk.
    void write_to(os::SimFileSystem& disk) const;
    // No damage lies in the neighbour's entries and extents, or in those of its indexes.
    bool neighbour_is_whole() const { return neighbour_is_whole_; }
    // Ends the process unless the neighbour, which was whole, has all its bytes.
    static void expect_neighbour(os::SimFileSystem& disk);

  private:
    void damage(Input& input);

    std::vector<uint8_t> files_[2];  // .ns, .0 as far as it is in use
    bool neighbour_is_whole_ = true;
};

}  // namespace fuzz
