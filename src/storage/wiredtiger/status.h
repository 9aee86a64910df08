// storage/wiredtiger/status.h - what calls of the library answer, as errors of the server.
#pragma once

#include <wiredtiger.h>

#include <string>

#include "storage/kv/host.h"

namespace wt {

// Throws base::Error.
[[noreturn]] void fail(const kv::Host& host, int code, const std::string& text);
// Throws for an answer of the library; ends the process if the library can do nothing any more.
[[noreturn]] void fail_status(const kv::Host& host, int status);
// Ends the process.
[[noreturn]] void end_process(const kv::Host& host, const std::string& text);

inline void check(const kv::Host& host, int status) {
    if (status != 0) fail_status(host, status);
}

}  // namespace wt
