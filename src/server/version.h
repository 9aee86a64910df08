// server/version.h - what this program calls itself.
#pragma once

#include <string>

namespace server {

// The applied patches as one line; "none" in the base build.
std::string patches_text();
// The output of --version.
std::string version_text();

}  // namespace server
