#include "bson/texts.h"

#include <string_view>

#include "base/utf8.h"

namespace bson {

namespace {

// Calls visit(std::string_view) for each text until it returns false. Returns whether it never did.
template <typename Visit>
bool each_text(Doc doc, const Visit& visit) {
    for (const Element& e : doc) {
        if (!visit(e.name())) return false;
        bool on = true;
        switch (e.type()) {
            case Type::string:
            case Type::symbol:
            case Type::code:
            case Type::db_pointer:
                on = visit(e.as_string());
                break;
            case Type::regex:
                on = visit(e.regex_pattern()) && visit(e.regex_flags());
                break;
            case Type::code_with_scope:
                on = visit(e.code_text()) && each_text(e.code_scope(), visit);
                break;
            case Type::object:
            case Type::array:
                on = each_text(e.as_doc(), visit);
                break;
            default:
                break;
        }
        if (!on) return false;
    }
    return true;
}

}  // namespace

bool texts_are_utf8(Doc doc) {
    return each_text(doc, base::is_utf8);
}

bool make_texts_utf8(uint8_t* doc) {
    bool any = false;
    each_text(Doc(doc), [&any](std::string_view text) {
        // A part of `doc`, which is the caller's to change.
        any = base::make_utf8({const_cast<char*>(text.data()), text.size()}) || any;
        return true;
    });
    return any;
}

}  // namespace bson
