// journal/latency.h - how long synchronous appends take here: the command journalLatencyTest
// (journal spec 5.4).
#pragma once

#include <string>

#include "os/clock.h"
#include "os/file_system.h"

namespace journal {

// Mean milliseconds per append.
struct AppendLatency {
    double small = 0;              // 8 KB
    double small_with_pauses = 0;  // 8 KB, with 4 ms between them
    double large = 0;              // 1 MB
};
struct LatencyReport {
    AppendLatency growing, overwriting;
};

// Uses and removes the scratch file journalLatencyTest in `directory`. Throws os::IoError, and
// what ends the operation that runs it.
LatencyReport measure_latency(os::FileSystem& files, os::Clock& clock,
                              const std::string& directory);

}  // namespace journal
