// The symbol that the program finds in the shared object of this room.
#include "base/program_version.h"
#include "storage/kv/library_dcheck.h"
#include "storage/rocksdb/open.h"

extern "C" {
__attribute__((visibility("default"))) extern const kv::MapLibrary mongod_dur_map_library;
const kv::MapLibrary mongod_dur_map_library{
    base::kProgramVersion,
    [](const kv::MapSettings& settings) { return rocks::open_map(settings); },
};
}
