// What the program finds in the shared object of this room.
#include "base/program_version.h"
#include "storage/wiredtiger/open.h"

extern "C" {
__attribute__((visibility("default"))) extern const ordered::MapLibrary mongod_dur_map_library;
const ordered::MapLibrary mongod_dur_map_library{
    base::kProgramVersion,
    [](const ordered::MapSettings& settings) { return wt::open_map(settings); },
};
}
