#include "catalog/readable_name.h"

#include "base/error.h"
#include "base/utf8.h"

namespace catalog {

void check_readable(std::string_view name) {
    if (!base::is_utf8(name))
        base::fail(base::kInvalidNamespace, "the name '{}' is not UTF-8", name);
}

}  // namespace catalog
