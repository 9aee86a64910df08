#include "storage/rocksdb/status.h"

#include <cstdlib>

#include "base/error_codes.h"

namespace rocks {

void fail(const kv::Host& host, int code, const std::string& text) {
    host.fail(code, text);
    std::abort();  // it has thrown
}

void fail(const kv::Host& host, const rocksdb::Status& status) {
    const std::string text = "RocksDB: " + status.ToString();
    if (status.IsCorruption()) host.fail_damaged(text);
    fail(host, status.IsNoSpace() ? base::kOutOfDiskSpace : base::kInternalError, text);
}

void end_process(const kv::Host& host, const std::string& text) {
    host.fatal(text);
    std::abort();  // it does not return
}

}  // namespace rocks
