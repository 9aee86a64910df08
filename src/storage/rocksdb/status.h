// storage/rocksdb/status.h - what calls of the library answer, as errors of the server.
#pragma once

#include <rocksdb/status.h>

#include <string>

#include "storage/ordered/host.h"

namespace rocks {

// Throws base::Error.
[[noreturn]] void fail(const ordered::Host& host, int code, const std::string& text);
[[noreturn]] void fail(const ordered::Host& host, const rocksdb::Status& status);
// Ends the process.
[[noreturn]] void end_process(const ordered::Host& host, const std::string& text);

inline void check(const ordered::Host& host, const rocksdb::Status& status) {
    if (!status.ok()) fail(host, status);
}

}  // namespace rocks
