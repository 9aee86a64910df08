#include "command/observe/secrets.h"

#include "catalog/names.h"

namespace command {

bool holds_users(std::string_view ns) {
    return catalog::split(ns).collection == "system.users";
}

bson::Object first_field(bson::Doc request) {
    bson::Builder out;
    const bson::Element first = request.first();
    if (first.is_object()) {
        bson::Builder inner = out.sub_object(first.name());
        const bson::Element innermost = first.as_doc().first();
        if (!innermost.is_object() && !innermost.is_array()) inner.append(innermost);
    } else if (!first.is_array()) {
        out.append(first);
    }
    return out.object();
}

}  // namespace command
