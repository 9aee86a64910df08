// base/process_memory.h - what this process has of memory, as the system tells. Only where there is
// a /proc.
#pragma once

#include <cstddef>

namespace base {

// In bytes.
struct ProcessMemory {
    size_t address_space = 0;
    size_t resident = 0;
    size_t shared = 0;  // of what is resident: pages of files, and what is mapped shared

    size_t own() const { return resident - shared; }
};

// All 0 if the system does not tell. Takes nothing from operator new.
ProcessMemory process_memory();

}  // namespace base
