// server/testing/sim_disk.h - a simulated disk under an engine, for tests of the service.
#pragma once

#include "os/testing/sim_file_system.h"
#include "server/testing/service.h"
#include "storage/mmapv1/testing/small_engine.h"

namespace server {

// A base of the test, in front of ServiceTest: it is there before the engine and outlives it.
struct SimDisk {
    os::SimFileSystem disk;

    // Makes /db on it.
    mmapv1::EngineOptions small_options() {
        disk.create_directory("/db");
        return mmapv1::small_engine_options("/db");
    }
};

}  // namespace server
