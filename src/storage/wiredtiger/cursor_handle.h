// storage/wiredtiger/cursor_handle.h - a cursor of the library, which closes itself. The library
// keeps closed cursors of a session, so that to open the next one costs little.
#pragma once

#include <wiredtiger.h>

#include <memory>

#include "storage/kv/map.h"
#include "storage/wiredtiger/status.h"

namespace wt {

struct CloseCursor {
    void operator()(WT_CURSOR* cursor) const { cursor->close(cursor); }
};
using CursorHandle = std::unique_ptr<WT_CURSOR, CloseCursor>;

// Throws base::Error, also where there is no such object.
inline CursorHandle open_cursor(const kv::Host& host, WT_SESSION* session, const char* uri) {
    WT_CURSOR* cursor = nullptr;
    check(host, session->open_cursor(session, uri, nullptr, nullptr, &cursor));
    return CursorHandle(cursor);
}

inline WT_ITEM as_item(kv::Bytes bytes) {
    WT_ITEM item{};
    item.data = bytes.data();
    item.size = bytes.size();
    return item;
}

}  // namespace wt
