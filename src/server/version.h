// server/version.h - what this program calls itself.
#pragma once

#include <string>

namespace server {

constexpr const char* kProgramVersion = "0.1.0";

// The applied patches as one line; "none" in the base build.
std::string patches_text();
// The output of --version.
std::string version_text();

}  // namespace server
