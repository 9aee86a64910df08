#include "query/update/document_check.h"

#include "base/error.h"
#include "sched/tick.h"

namespace query {

using bson::Element;

namespace {

// The element behind one of a document; missing behind the last.
Element sibling(const Element& e) {
    const uint8_t* const next = e.raw() + e.size();
    return *next == 0 ? Element() : Element(next);
}

void check_dbref_part(const Element& e, const Element& previous) {
    const std::string_view name = e.name();
    if (name == "$ref") {
        if (!e.is_string()) {
            base::fail(base::kInvalidDBRef, "The DBRef $ref field must be a String");
        }
        if (sibling(e).name() != "$id") {
            base::fail(base::kInvalidDBRef, "The DBRef $ref field must be followed by a $id field");
        }
    } else if (name == "$id") {
        if (previous.name() != "$ref") {
            base::fail(base::kInvalidDBRef,
                       "Found $id field without a $ref before it, which is "
                       "invalid.");
        }
    } else if (name == "$db") {
        if (!e.is_string()) {
            base::fail(base::kInvalidDBRef, "The DBRef $db field must be a String");
        }
        if (previous.name() != "$id") {
            base::fail(base::kInvalidDBRef,
                       "Found $db field without a $id before it, which is "
                       "invalid.");
        }
    } else {
        base::fail(base::kDollarPrefixedFieldName,
                   "The dollar ($) prefixed field '{}' is not valid for storage.", name);
    }
}

}  // namespace

bool names_are_clean(const Element& value) {
    if (!value.is_object() && !value.is_array()) return true;
    for (const Element& e : value.as_doc()) {
        if (value.is_object()) {
            const std::string_view name = e.name();
            if (!name.empty() && name[0] == '$') return false;
            if (name.find('.') != std::string_view::npos) return false;
        }
        if (!names_are_clean(e)) return false;
    }
    return true;
}

void check_stored_name(const Element& e, const Element& previous, FieldNames names) {
    if (names == FieldNames::any) return;
    const std::string_view name = e.name();
    if (names == FieldNames::plain && name.find('.') != std::string_view::npos) {
        base::fail(base::kDottedFieldName, "The dotted field '{}' is not valid for storage.", name);
    }
    if (!name.empty() && name[0] == '$') check_dbref_part(e, previous);
}

void check_stored_names(bson::Doc doc, bool is_array, int depth, FieldNames names) {
    if (depth > bson::kDepthMax) {
        base::fail(base::kOverflow, "Document exceeds the maximum nesting depth of {}",
                   bson::kDepthMax);
    }
    Element previous;
    sched::tick_bytes(doc.size(), sched::PerTick::copied, 0);
    for (const Element& e : doc) {
        if (!is_array) check_stored_name(e, previous, names);
        if (e.is_object() || e.is_array()) {
            check_stored_names(e.as_doc(), e.is_array(), depth + 1, names);
        }
        previous = e;
    }
}

}  // namespace query
