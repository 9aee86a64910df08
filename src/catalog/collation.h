// catalog/collation.h - what a request's collation asks for. Texts in the order of their bytes are
// the collation that is called simple; where there is no other one, what asks for one has to be
// refused, since ignoring it gives wrong answers (wire spec 0 rule 7).
#pragma once

#include "bson/view.h"

namespace catalog {

// Whether it is a document that names another collation. The caller refuses a value that is no
// document.
inline bool asks_for_collation(const bson::Element& collation) {
    if (!collation.is_object() || collation.as_doc().empty()) return false;
    const bson::Element locale = collation.as_doc()["locale"];
    return !locale.is_string() || locale.as_string() != "simple";
}

}  // namespace catalog
