// os/testing/sim_node.h - a file or a directory of the simulated disk, for the files that implement
// it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "os/testing/sim_content.h"
#include "os/testing/sim_file_system.h"

namespace os {

struct SimFileSystem::Node {
    bool directory = false;
    // A directory's names as a running program sees them; as of its last sync; the changes between
    // them.
    Names names, durable_names;
    std::vector<NameChange> pending;
    // A file's members:
    sim::Content content;
    int mappings = 0;
    sim::Memory* private_view = nullptr;  // the one that was mapped last
    bool locked = false;

    void resize(uint64_t time, uint64_t length) {
        if (mappings > 0 && length != content.length())
            throw std::logic_error("a simulated file must not change its length while mapped");
        content.resize(time, length);
    }
};

}  // namespace os
