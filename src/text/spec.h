// text/spec.h - the definition of a text index: which fields, with which weights, in which
// language.
//
// A client names fields ({a: "text", b: "text"}); what is stored has one pair of fields for them,
// {_fts: "text", _ftsx: 1} for term and score, and their names in `weights`. Plain fields may stand
// before and behind that pair.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "bson/view.h"
#include "text/language.h"

namespace text {

// Whether a key pattern is that of a text index, stored or not.
bool is_text_key(bson::Doc key);

// Returns the definition as it is stored: the given one with the stored form of its key, and with
// weights, default_language, language_override and textIndexVersion, each where it was given or at
// the end. Throws base::Error 67 and the codes of 2.6:
// 16674, 17283, 17284, 17291, 17292, 17294 (weights), 16730, 17293 (version), 16739, 17271, 17288,
// 17289, 17389 (fields), 17136 (language_override), 17263, 17264 (default_language).
bson::Object stored_form(bson::Doc definition);

// A stored definition, read.
struct Spec {
    // Throws base::Error 67 where it is damaged.
    explicit Spec(bson::Doc stored);

    // The weight of a wildcard index for the field of this path (in_array: of an element there).
    double wildcard_weight(std::string_view path, bool in_array) const;
    // Whether a weight names a path below this one.
    bool goes_below(std::string_view path) const;

    Version version = Version::v2;
    std::string default_language;
    std::string language_override;
    std::map<std::string, double, std::less<>> weights;  // by path
    bool wildcard = false;                               // the path "$**" has one
    std::vector<std::string> prefix, suffix;             // the plain fields
};

}  // namespace text
