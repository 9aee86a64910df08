// base/loaded_part.h - parts of the server that are shared objects of their own, loaded when they
// are used first.
#pragma once

#include <string>
#include <string_view>

namespace base {

// Names a part, for its loading and for errors.
struct PartName {
    std::string_view what;    // for errors: "storage engine rocksdb"
    std::string file;         // "engine_rocksdb.so"
    const char* symbol;       // of a struct whose first member is its version, a const char*
    std::string_view advice;  // what to do where it is not there: a package, a page
};

// Returns the struct under that symbol in a file beside this program or in ../lib/mongod-dur. It
// stays loaded until the process ends; any thread may ask, as often as it likes. Throws Error
// `code` where the file is not there, cannot be loaded or is of another version than this program.
const void* load_part(const PartName& name, int code);

}  // namespace base
