// collation/collator.h - orders of texts other than that of their bytes: what the field `collation`
// of a command asks for, by ICU.
//
// Whatever is compared under a collation is compared by keys: a value with bytes in place of each
// text in it, whose order is that of the texts. The order of values (bson/compare.h) is therefore
// the only one, and what a filter, a sort and an index make of a value under one collation is the
// same.
#pragma once

#include <memory>
#include <string_view>

#include "bson/builder.h"
#include "bson/view.h"

namespace collation {

// Immutable, for any number of threads.
class Collator {
  public:
    // Returns the collation that {locale, strength, ...} asks for. Returns null for the simple
    // collation, the order of bytes. Throws base::Error 40414 without a locale, 40415, 14, 51024, 2
    // and 9 for other fields, 161 for a version that is not this library's.
    static std::shared_ptr<const Collator> make(bson::Doc spec);
    virtual ~Collator() = default;

    // Returns every field; the locale decides those that were not given.
    virtual bson::Doc spec() const = 0;
    // Appends the key of a value: itself but for the texts in it, in documents and arrays, too.
    virtual void append_key(std::string_view name, const bson::Element& value,
                            bson::Builder& out) const = 0;
    // Less than, equal to or greater than 0: two texts in the order of their keys.
    virtual int compare(std::string_view a, std::string_view b) const = 0;
    bson::Object key_of(const bson::Element& value) const {
        bson::Builder key;
        append_key("", value, key);
        return key.object();
    }
};

// Whether both are the same collation; null is the simple one.
bool is_same(const Collator* a, const Collator* b);
// Compare as bson::compare_values and bson::equal_values do, but texts under a collation; null: by
// their bytes.
int compare_values(const bson::Element& a, const bson::Element& b, const Collator* collator);
bool equal_values(const bson::Element& a, const bson::Element& b, const Collator* collator);
// A key that append_key() made, with "CollationKey(0x..)" in place of the bytes of each text, which
// are no UTF-8. No text has the key of no bytes; that stays.
void append_readable(std::string_view name, const bson::Element& key, bson::Builder& out);
// Whether a collation concerns a value: it is a text, or has one inside.
bool has_text(const bson::Element& value);

}  // namespace collation
