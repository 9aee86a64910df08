// crash/testing/sim_disk.h - a simulated disk under an engine, for tests of the service.
#pragma once

#include "command/commands/testing/service.h"
#include "os/testing/sim_file_system.h"
#include "storage/mmapv1/testing/small_engine.h"

namespace crash {

// A base of the test, in front of command::ServiceTest: it is there before the engine and outlives
// it.
struct SimDisk {
    os::SimFileSystem disk;

    // Makes /db on it.
    mmapv1::EngineOptions small_options() {
        disk.create_directory("/db");
        return mmapv1::small_engine_options("/db");
    }
};

}  // namespace crash
