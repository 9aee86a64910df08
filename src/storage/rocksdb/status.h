// storage/rocksdb/status.h - what calls of the library answer, as errors of the server.
#pragma once

#include <rocksdb/status.h>

#include <string>

#include "storage/kv/host.h"

namespace rocks {

// Throws base::Error.
[[noreturn]] void fail(const kv::Host& host, int code, const std::string& text);
[[noreturn]] void fail(const kv::Host& host, const rocksdb::Status& status);
// Ends the process.
[[noreturn]] void end_process(const kv::Host& host, const std::string& text);

inline void check(const kv::Host& host, const rocksdb::Status& status) {
    if (!status.ok()) fail(host, status);
}

}  // namespace rocks
