#include "base/process_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace base {

ProcessMemory process_memory() {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/statm", "r"),
                                                     std::fclose);
    ProcessMemory pages;
    if (file == nullptr || std::fscanf(file.get(), "%zu %zu %zu", &pages.address_space,
                                       &pages.resident, &pages.shared) != 3)
        return {};
    const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    // The kernel counts the two one after the other.
    return {pages.address_space * page_bytes, pages.resident * page_bytes,
            std::min(pages.shared, pages.resident) * page_bytes};
}

}  // namespace base
