// catalog/readable_name.h - what a database, a collection or an index may be called anew: others
// are going to be shown the name.
#pragma once

#include <string_view>

namespace catalog {

// Throws base::Error 73 for what is no UTF-8, as clients expect of a text: a list with that name in
// it could be read by none. What is called so already is served.
void check_readable(std::string_view name);

}  // namespace catalog
