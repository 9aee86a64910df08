// server/testing/sim_disk.h - a simulated disk under an engine, for tests of the service.
#pragma once

#include "os/testing/sim_file_system.h"
#include "server/testing/service.h"

namespace server {

// A base of the test, in front of ServiceTest: it is there before the engine and outlives it.
struct SimDisk {
    os::SimFileSystem disk;

    // Makes /db on it; small files.
    mmapv1::EngineOptions small_options() {
        disk.create_directory("/db");
        mmapv1::EngineOptions options;
        options.dbpath = "/db";
        options.files.small_files = true;
        options.files.ns_bytes = 1 << 20;
        return options;
    }
};

}  // namespace server
