// storage/kv/testing/rows_text.h - rows as a text, for comparisons.
#pragma once

#include <string>

#include "storage/kv/bytes.h"
#include "storage/kv/map.h"

namespace kv {

// Returns "key=value " of each row that the cursor walks.
inline std::string rows_text(Cursor& cursor) {
    std::string text;
    for (cursor.seek({}); !cursor.at_end(); cursor.next())
        text.append(as_text(cursor.key())).append("=").append(as_text(cursor.value())).append(" ");
    return text;
}

}  // namespace kv
