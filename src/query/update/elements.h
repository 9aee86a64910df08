// query/update/elements.h - the elements of an array that a modifier changes. They are views into
// the documents that they come from.
#pragma once

#include <deque>
#include <string_view>
#include <unordered_set>

#include "base/error.h"
#include "bson/compare.h"
#include "query/update/update_modifier.h"

namespace query {

using Elements = sched::Vector<bson::Element>;

Elements elements_of(bson::Doc array);

// Throws base::Error `code` where there is a value that is no array; `op` is the modifier.
void require_array(const bson::Element& old, const char* op, int code = base::kBadValue);

// Appends the array `name`.
void write_array(bson::Buffer& out, std::string_view name, const Elements& elements);

// Values to look up among, under a collation if there is one; the elements have to stay where they
// are.
class ElementSet {
  public:
    explicit ElementSet(const ValueOrder& order)
        : collator_(order.collator), values_(0, bson::ValueHash(), Equal{order.dialect}) {}

    // Whether it is a new one.
    bool insert(const bson::Element& e) {
        if (!has_key(e)) return values_.insert(e).second;
        bson::Object key = collator_->key_of(e);
        if (values_.contains(key.doc().first())) return false;
        keys_.push_back(std::move(key));
        return values_.insert(keys_.back().doc().first()).second;
    }
    bool contains(const bson::Element& e) const {
        if (!has_key(e)) return values_.contains(e);
        return values_.contains(collator_->key_of(e).doc().first());
    }

  private:
    struct Equal {
        dialect::Dialect dialect;
        bool operator()(const bson::Element& a, const bson::Element& b) const {
            return ValueOrder{nullptr, dialect}.equal(a, b);
        }
    };

    bool has_key(const bson::Element& e) const {
        return collator_ != nullptr && collation::has_text(e);
    }

    const collation::Collator* collator_;
    std::unordered_set<bson::Element, bson::ValueHash, Equal> values_;
    std::deque<bson::Object> keys_;  // of values with texts
};

}  // namespace query
