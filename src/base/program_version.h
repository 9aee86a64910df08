// base/program_version.h - the version of the sources. Programs, pages, packages and images read it
// here (site_scons/program_version.py), and CHANGELOG.md has what is new in it.
#pragma once

namespace base {

constexpr const char* kProgramVersion = "0.1.0";

}  // namespace base
