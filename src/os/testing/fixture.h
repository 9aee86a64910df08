// os/testing/fixture.h - for tests: unpacking an archive of tests/fixtures/.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace os {

// The path of tests/fixtures/<name>; the folder is looked for from the working directory upwards.
inline std::string fixture_path(const std::string& name) {
    namespace fs = std::filesystem;
    for (fs::path folder = fs::current_path();; folder = folder.parent_path()) {
        const fs::path path = folder / "tests" / "fixtures" / name;
        if (fs::exists(path)) return path.string();
        if (folder == folder.root_path())
            throw std::runtime_error("no tests/fixtures/" + name + " here or above");
    }
}

inline void run_for_fixture(const std::string& command) {
    if (std::system(command.c_str()) != 0) throw std::runtime_error(command + " failed");
}

// Unpacks an archive into `directory`.
inline void unpack_fixture(const std::string& name, const std::string& directory) {
    run_for_fixture("tar -xJf '" + fixture_path(name) + "' -C '" + directory + "'");
}

// Unpacks a single compressed file to `path`, which is returned.
inline std::string unpack_text(const std::string& name, const std::string& path) {
    run_for_fixture("xz -dc '" + fixture_path(name) + "' > '" + path + "'");
    return path;
}

}  // namespace os
