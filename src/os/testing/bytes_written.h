// os/testing/bytes_written.h - how much the calling thread has written to files, as the system
// counts it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace os {

inline int64_t bytes_written_by_this_thread() {
    std::ifstream counters("/proc/thread-self/io");
    std::string name;
    int64_t value = 0;
    while (counters >> name >> value)
        if (name == "wchar:") return value;
    ADD_FAILURE() << "the system does not count what a thread writes";
    return 0;
}

}  // namespace os
