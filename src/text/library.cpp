#include "text/library.h"

#include "base/error.h"
#include "base/loaded_part.h"

namespace text {

const Library& library() {
    static const auto& loaded = *static_cast<const Library*>(base::load_part(
        {"text indexes", "text.so", kLibrarySymbol, "it is in the package mongod-dur-text"},
        base::kIllegalOperation));
    return loaded;
}

}  // namespace text
