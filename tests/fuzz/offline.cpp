// Fuzz target: what reads the files of a stopped server, mongod --salvage and dbpath_check, over a
// database whose .ns and .0 are damaged.
//
// Nothing in the dbpath is changed. What is salvaged are documents; those of a collection that is
// not damaged are all there.
#include <set>
#include <sstream>
#include <string>

#include "bson/validate.h"
#include "damaged_database.h"
#include "storage/mmapv1/salvage/salvage.h"
#include "tools/dbpath_check.h"

namespace {

using Call = os::SimFileSystem::Call;

void expect_no_change(const os::SimFileSystem::Event& event) {
    switch (event.call) {
        case Call::write:
        case Call::write_at:
        case Call::truncate:
        case Call::allocate:
        case Call::create_directory:
        case Call::remove:
        case Call::rename:
        case Call::store:
            fuzz::expect(!event.path.starts_with("/db"), "nothing in the dbpath is changed");
            return;
        default:
            return;
    }
}

// The numbers that are an _id in a file of documents.
std::set<int64_t> ids_in(os::SimFileSystem& disk, const std::string& path) {
    std::vector<uint8_t> bytes(disk.file_length(path));
    disk.open(path, {})->read_at(0, bytes);
    std::set<int64_t> found;
    for (size_t at = 0; at < bytes.size();) {
        fuzz::expect(bson::validate(&bytes[at], bytes.size() - at).empty(),
                     "what is salvaged are documents");
        const bson::Doc doc(&bytes[at]);
        if (doc["_id"].is_number()) found.insert(doc["_id"].to_int64());
        at += doc.bytes().size();
    }
    return found;
}

void expect_dump(os::SimFileSystem& disk, bool with_neighbour) {
    std::set<int64_t> neighbours;
    for (const std::string& name : disk.list("/out/d"))
        if (name.ends_with(".bson")) {
            const std::set<int64_t> ids = ids_in(disk, "/out/d/" + name);
            if (name == "neighbour.bson") neighbours = ids;
        }
    if (!with_neighbour) return;
    for (int n = 0; n < fuzz::kNeighbours; ++n)
        fuzz::expect(neighbours.contains(n), "a collection that is not damaged is salvaged whole");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Input input(data, size);
    const fuzz::DamagedDatabase damaged(input);
    os::SimFileSystem disk;
    disk.keep_no_events();
    damaged.write_to(disk);
    disk.set_observer(expect_no_change);
    std::ostringstream report;
    try {
        tools::check_dbpath(disk, {.dbpath = "/db", .databases = {}}, report);
    } catch (const base::Error&) {
        // Nothing in it can be looked at.
    }
    mmapv1::salvage({.dbpath = "/db", .out = "/out"}, disk, disk, report);
    expect_dump(disk, damaged.neighbour_is_whole());
    return fuzz::kTaken;
}
