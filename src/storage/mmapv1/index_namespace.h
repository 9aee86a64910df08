// storage/mmapv1/index_namespace.h - what the namespace of an index may be called (mmapv1 spec 1.1
// rule 6).
#pragma once

#include <string_view>

namespace mmapv1 {

// Throws base::Error where a collection may have that name: the master's operation log is called as
// an index "main" of local.oplog would be.
void check_index_namespace(std::string_view index_ns);

}  // namespace mmapv1
