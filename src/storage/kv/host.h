// storage/kv/host.h - what a map (map.h) asks of the program that it runs in, and what it is
// opened with.
//
// The room of a library may be a shared object of its own. It then has no base/ to link: it calls
// these functions, and what they throw passes through it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "storage/kv/map.h"

namespace kv {

struct Host {
    enum class Severity { info, warning, error };

    void (*fail)(int code, std::string_view text);  // throws base::Error
    void (*fail_damaged)(std::string_view text);    // the same; a file is cut or damaged
    void (*fatal)(std::string_view text);           // ends the process
    void (*log)(Severity severity, std::string_view text);
};

// Returns the host whose functions are those of the room base.
const Host& base_host();

struct MapSettings {
    std::string directory;  // of the map alone; it is created
    // Whether changes after the last checkpoint have to survive a crash.
    bool log = true;
    int64_t cache_bytes = 0;
    int64_t memory_bytes = 0;    // that the process may have; 0: as much as it needs
    std::string config = {};     // in the library's own words
    const Host* host = nullptr;  // outlives the map
};

// Such a shared object exports this struct, with C linkage, under the name of kMapLibrarySymbol.
struct MapLibrary {
    const char* version;  // base::kProgramVersion, of the sources that it was made from
    std::unique_ptr<Map> (*open)(const MapSettings& settings);  // throws base::Error
};
constexpr const char* kMapLibrarySymbol = "mongod_dur_map_library";

}  // namespace kv
