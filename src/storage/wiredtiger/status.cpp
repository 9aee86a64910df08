#include "storage/wiredtiger/status.h"

#include <cerrno>
#include <cstdlib>

#include "base/error_codes.h"

namespace wt {

void fail(const kv::Host& host, int code, const std::string& text) {
    host.fail(code, text);
    std::abort();  // it has thrown
}

void fail_status(const kv::Host& host, int status) {
    const std::string text = std::string("WiredTiger: ") + wiredtiger_strerror(status);
    if (status == WT_PANIC) end_process(host, text);
    if (status == WT_TRY_SALVAGE || status == WT_ERROR) host.fail_damaged(text);
    fail(host, status == ENOSPC ? base::kOutOfDiskSpace : base::kInternalError, text);
}

void end_process(const kv::Host& host, const std::string& text) {
    host.fatal(text);
    std::abort();  // it does not return
}

}  // namespace wt
