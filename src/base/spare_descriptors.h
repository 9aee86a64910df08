// base/spare_descriptors.h - the last file descriptors that the process may have (ulimit -n).
//
// The journal begins a new file now and then, and where it cannot, the server ends. So code that
// keeps a descriptor for as long as a client likes (connections, data files, the files of sorts)
// gives it up when it is one of the last.
#pragma once

#include <cstdint>

namespace base {

// How many the process may have.
int64_t descriptors_max();

// Of a descriptor that was just opened: whether fewer than 32 are left then, of small limits an
// eighth.
bool is_spare_descriptor(int descriptor);

}  // namespace base
