// storage/kv/library_dcheck.h - where a failed DCHECK (base/dcheck.h) of a shared object ends. Only
// the file of a map's library that names the symbol for the program includes it.
//
// A shared object has nothing of the room base. A test that links the map's room has base, whose
// function then takes the place of this one.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "base/dcheck.h"

namespace base {

__attribute__((weak)) void dcheck_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "check failed: %s at %s:%d\n", condition, file, line);
    std::abort();
}

}  // namespace base
