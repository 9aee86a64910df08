// base/available_memory.h - how much memory this process may have: that of the machine, or less
// where a control group limits it. Only where there is a /proc.
#pragma once

#include <cstdint>
#include <string>

namespace base {

struct AvailableMemory {
    int64_t machine_bytes = 0;
    // The least limit of the control groups that the process is in; 0: none is below the machine's.
    int64_t group_bytes = 0;

    int64_t bytes() const { return group_bytes != 0 ? group_bytes : machine_bytes; }
};

// Whether that is little: the server's own needs, which do not shrink with it, then leave less for
// what it shares out. 0 bytes, of which nothing is known, are not little.
constexpr bool is_little_memory(int64_t bytes) {
    return bytes > 0 && bytes < int64_t{1} << 30;
}

// Control groups of version 1 and 2, as Linux shows them below /proc and /sys. `root` stands before
// both names: only tests have another than the empty one.
AvailableMemory available_memory(const std::string& root = {});

}  // namespace base
