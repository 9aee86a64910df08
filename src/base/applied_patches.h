// base/applied_patches.h - the patches of the series that this program was built with.
#pragma once

#include <span>

namespace base {

// Slugs in series order, empty in the base build; valid for the life of the process. The body is
// written by the build (site_scons/staging.py), so `--version` and `buildInfo` cannot disagree
// with what was compiled.
std::span<const char* const> applied_patches();

}  // namespace base
