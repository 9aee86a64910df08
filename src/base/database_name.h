// base/database_name.h - what a database may be called (wire spec 3.11, mmapv1 spec 1.1 rule 3).
//
// One rule for all names from outside: a client's command, a file in a data directory, an entry of
// a journal. A valid name is one plain part of a path.
#pragma once

#include <cstddef>
#include <string_view>

namespace base {

constexpr size_t kDatabaseNameBytesMax = 63;

constexpr bool valid_database_name(std::string_view db) {
    constexpr std::string_view kForbidden("/\\. \"\0", 6);
    return !db.empty() && db.size() <= kDatabaseNameBytesMax &&
           db.find_first_of(kForbidden) == std::string_view::npos;
}

}  // namespace base
