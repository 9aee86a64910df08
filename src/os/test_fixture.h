// os/test_fixture.h - for tests: unpacking an archive of tests/fixtures/.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace os {

// Unpacks tests/fixtures/<name> into `directory`. The folder is looked for from the working
// directory upwards.
inline void unpack_fixture(const std::string& name, const std::string& directory) {
    namespace fs = std::filesystem;
    for (fs::path folder = fs::current_path();; folder = folder.parent_path()) {
        const fs::path archive = folder / "tests" / "fixtures" / name;
        if (fs::exists(archive)) {
            const std::string command =
                "tar -xJf '" + archive.string() + "' -C '" + directory + "'";
            if (std::system(command.c_str()) != 0) throw std::runtime_error(command + " failed");
            return;
        }
        if (folder == folder.root_path())
            throw std::runtime_error("no tests/fixtures/" + name + " here or above");
    }
}

}  // namespace os
